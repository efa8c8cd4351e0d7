"""Colliders of pairs of geom types: each file here is imported, and registers its own with `collider`."""

import importlib
import pkgutil

__all__: list[str] = []

for _module in pkgutil.iter_modules(__path__):
    importlib.import_module(f"{__name__}.{_module.name}")
