"""What the optional parts of the viewer are made of, loaded when they are used."""

from __future__ import annotations

import importlib
import socket
from typing import Any

__all__ = ["check_listen", "needs"]


def needs(module: str, what: str) -> Any:
    """Loads a module of an optional package.

    Args:
        module: Its full name.
        what: The beginning of the message if it is missing, as "MP4 needs".

    Raises:
        ModuleNotFoundError: says what to install.
    """
    package = module.partition(".")[0]
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] != package:
            raise
        raise ModuleNotFoundError(
            f"{what} {package}: pip install 'jaxsim-engine[view]'", name=package
        ) from error


def check_listen(host: str, port: int) -> None:
    """Refuses an interface or a port at which nobody can listen; whether the port is taken is another matter.

    Raises:
        ValueError: There is no such port.
        OSError: This machine has no such interface.
    """
    if not 0 <= port < 1 << 16:
        raise ValueError(f"port {port}: between 0 and 65535")
    try:
        family, kind, _, _, address = socket.getaddrinfo(host, 0, type=socket.SOCK_STREAM)[0]
        with socket.socket(family, kind) as probe:
            probe.bind(address)
    except OSError as error:
        raise OSError(f"cannot listen at {host}: {error.strerror or error}") from error
