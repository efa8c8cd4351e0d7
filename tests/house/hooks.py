"""The scripts of docs/hooks, which make pages."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

__all__ = ["ROOT", "generator"]

ROOT = Path(__file__).parents[2]


def generator(name: str = "features") -> Any:
    """The script as a module."""
    spec = importlib.util.spec_from_file_location(name, ROOT / "docs" / "hooks" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
