"""Lists of rows to the host arrays of a Model: their types and widths are those that its fields declare."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np

from jaxsim.mjcf.schema import landing
from jaxsim.model import Model

__all__ = ["addresses", "column", "columns", "empty_fields", "gated", "landed"]


@cache
def _layout() -> dict[str, tuple[np.dtype[Any], tuple[int, ...]]]:
    """Returns dtype and shape of a row of every array field; a width that the model decides is 0."""
    table = {}
    for field in dataclasses.fields(Model):
        dims = field.metadata["shape"].split()
        if dims:
            row = tuple(int(dim) if dim.isdigit() else 0 for dim in dims[1:])
            table[field.name] = (_dtype(field), row)
    return table


def _dtype(field: dataclasses.Field[Any]) -> np.dtype[Any]:
    if field.metadata.get("single"):
        return np.dtype(np.float32)
    dtype = field.metadata["dtype"]
    return np.dtype(np.int32 if dtype is int else dtype)


def column(name: str, rows: Sequence[Any] | np.ndarray) -> np.ndarray:
    """Returns the rows of a field as one array.

    Args:
        name: the field.
        rows: one entry for each object.
    """
    dtype, row = _layout()[name]
    return np.asarray(rows, dtype).reshape(len(rows), *row)


def columns(rows: Mapping[str, Sequence[Any]]) -> dict[str, Any]:
    """Returns the arrays of several fields, from the rows of each."""
    return {name: column(name, values) for name, values in rows.items()}


def addresses(sizes: Sequence[int]) -> list[int]:
    """Returns where each of some lists begins that follow each other in one array."""
    return [0, *np.cumsum(sizes).tolist()][: len(sizes)]


def gated(sizes: Sequence[int], first: int = 0) -> list[int]:
    """Returns the same of lists that begin at `first`, -1 of an empty list."""
    return [first + start if size else -1 for start, size in zip(addresses(sizes), sizes, strict=True)]


def landed(key: str, start: str, objects: Sequence[Mapping[str, Any]]) -> dict[str, list[Any]]:
    """Returns the rows of fields that are attributes as they are; the MJCF table says which.

    Args:
        key: the element type.
        start: what the fields begin with.
        objects: the attributes of each object; one that is not there has the table's default.
    """
    same = landing(key, start)
    return {field: [values.get(a.name, a.default) for values in objects] for field, a in same.items()}


def empty_fields() -> dict[str, np.ndarray]:
    """Returns every array field with no rows."""
    return {name: np.zeros((0, *row), dtype) for name, (dtype, row) in _layout().items()}
