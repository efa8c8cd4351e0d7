"""What the optional parts of the viewer are made of, loaded when they are used."""

from __future__ import annotations

import importlib
from typing import Any

__all__ = ["needs"]


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
