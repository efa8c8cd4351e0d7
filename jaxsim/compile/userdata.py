"""User data: rows of equal length, as long as the longest or as `size` says."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from jaxsim.enums import PREFIXES, ObjType
from jaxsim.mjcf import Document, Element

__all__ = ["user_field"]


def user_field(
    document: Document, kind: ObjType, elements: Sequence[Element], rows: Sequence[Any]
) -> dict[str, np.ndarray]:
    """Returns the user data of all objects of a kind, padded with zeros, by the name of its field.

    Args:
        document: the model.
        kind: of the objects.
        elements: where the rows come from.
        rows: the data of each object, None if it has none.

    Raises:
        MjcfError: an object has more numbers than `size` allows.
    """
    sizes: Any = document.settings("size")
    size = f"nuser_{PREFIXES[kind]}"
    width = sizes[size]
    counts = [0 if row is None else len(row) for row in rows]
    if width < 0:
        width = max(counts, default=0)
    table = np.zeros((len(rows), width))
    for element, row, count, target in zip(elements, rows, counts, table, strict=True):
        if count > width:
            raise element.error(f"more numbers than {size}={width} allows", attribute="user")
        if count:
            target[:count] = row
    return {f"{PREFIXES[kind]}_user": table}
