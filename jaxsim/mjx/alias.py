"""Lets libraries that were written for MJX (brax, MuJoCo Playground) run on jaxsim unchanged."""

from __future__ import annotations

import importlib
import sys
from types import ModuleType

__all__ = ["stand_in"]

_PLACES = {
    "math": ("math",),
    "types": ("enums", "records"),
    "io": ("convert",),
    "support": ("support",),
    "forward": ("stages",),
    "smooth": ("stages", "support"),
    "sensor": ("stages",),
    "constraint": ("stages",),
    "solver": ("stages",),
    "inverse": ("stages",),
    "passive": ("stages",),
    "collision_driver": ("stages",),
    "ray": ("support",),
    "dataclasses": ("records",),
}
"""For each module of `mujoco.mjx._src` the modules of this package with its names."""


def stand_in() -> None:
    """Makes `from mujoco import mjx`, and `mujoco.mjx._src`, mean this package, from here on in this process.

    Call it before anything imports `mujoco.mjx`:

        from jaxsim import mjx
        mjx.stand_in()
        from mujoco_playground import registry

    Raises:
      ImportError: `mujoco` is not installed.
      RuntimeError: `mujoco.mjx` was imported already, so some modules hold MJX itself.
    """
    mujoco = importlib.import_module("mujoco")
    package = sys.modules[__package__ or "jaxsim.mjx"]
    present = sys.modules.get("mujoco.mjx")
    if present is package:
        return
    if present is not None:
        raise RuntimeError("mujoco.mjx was imported already; call stand_in() before that")
    inner = ModuleType("mujoco.mjx._src", "Names of MJX's inner modules.")
    for name, sources in _PLACES.items():
        module = ModuleType(f"mujoco.mjx._src.{name}", inner.__doc__)
        for source in sources:
            found = importlib.import_module(f"{package.__name__}.{source}")
            module.__dict__.update({key: getattr(found, key) for key in found.__all__})
        sys.modules[module.__name__] = module
        setattr(inner, name, module)
    sys.modules["mujoco.mjx"] = package
    sys.modules["mujoco.mjx._src"] = inner
    mujoco.mjx = package  # pyright: ignore
    package._src = inner  # pyright: ignore
