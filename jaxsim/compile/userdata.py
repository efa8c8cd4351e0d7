"""User data: rows of equal length, as long as the longest or as `size` says."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from jaxsim.compile.names import KINDS
from jaxsim.enums import PREFIXES
from jaxsim.mjcf import Document, Element

__all__ = ["user_column"]


def user_column(
    document: Document, kind: str, elements: Sequence[Element], rows: Sequence[Any]
) -> np.ndarray:
    """Returns the user data of all objects of a kind, padded with zeros.

    Args:
        document: the model.
        kind: `body`, `joint`, `geom`, ...
        elements: where the rows come from.
        rows: the data of each object, None if it has none.

    Raises:
        MjcfError: an object has more numbers than `size` allows.
    """
    sizes: Any = document.settings("size")
    width = sizes[f"nuser_{PREFIXES[KINDS[kind]]}"]
    counts = [0 if row is None else len(row) for row in rows]
    if width < 0:
        width = max(counts, default=0)
    table = np.zeros((len(rows), width))
    for element, row, count, target in zip(elements, rows, counts, table, strict=True):
        if count > width:
            raise element.error(f"more numbers than nuser_{kind}={width} allows", attribute="user")
        if count:
            target[:count] = row
    return table
