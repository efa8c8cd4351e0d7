"""The dispatch table of colliders: empty here, filled by `collision/`, read by the layout of contact slots."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

__all__ = ["COLLIDERS", "Collider"]


class Collider(NamedTuple):
    """How a pair of geom types is collided.

    Attributes:
      function: `(shape1, shape2, margin) -> Points`, for all pairs of these types at once; components (npair, W).
        `margin` (npair, 1 or W) is the distance at which contacts are detected, m.
      points: most points a pair can have.
      usual: points a touching pair usually has; sizes the contact buffer.
      exhaustive: pairs up to which all are computed; above, a broad phase picks the nearest.
    """

    function: Callable[..., Any]
    points: int
    usual: int
    exhaustive: int


COLLIDERS: dict[tuple[int, int], Collider] = {}
"""The collider of each pair of geom types, the lower type first."""
