"""What pictures look like: the sections of `visual`."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from jaxsim.mjcf import Document
from jaxsim.pytree import held_record
from jaxsim.visual import Visual

__all__ = ["compile_visual"]


def compile_visual(document: Document) -> dict[str, Any]:
    """Returns the fields of Visual: attributes as they are, in single precision as mjVisual has them."""
    groups: dict[str, Any] = {}
    for group in dataclasses.fields(Visual):
        values: Any = document.settings(f"visual/{group.name.rstrip('_')}")
        names = [field.name for field in dataclasses.fields(held_record(group))]  # pyright: ignore
        groups[group.name] = {name: _single(values[name]) for name in names}
    return groups


def _single(value: Any) -> Any:
    return float(np.float32(value)) if isinstance(value, float) else value
