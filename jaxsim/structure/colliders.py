"""The dispatch table of colliders: empty here, filled by the files of `collision/pairs`, read by the contact slots."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypeVar

import numpy as np

from jaxsim.enums import GeomType
from jaxsim.pytree import Static

__all__ = ["COLLIDERS", "Collider", "collider", "colliders_of"]

_F = TypeVar("_F", bound=Callable[..., Any])


class Collider(NamedTuple):
    """How a pair of geom types is collided.

    Attributes:
      function: `(shape1, shape2, margin) -> Points`, for all pairs of these types at once; components (npair, W).
        `margin` (npair, 1 or W) is the distance at which contacts are detected, m.
      points: most points a pair can have.
      usual: points a touching pair usually has; sizes the contact buffer.
      exhaustive: pairs up to which all are computed; above, a broad phase picks the nearest.
      assets: makes a table of meshes or height fields from the model, for `Shape.assets`; None: none is needed.
      iterative: the function takes a `collision.points.Search` as fourth argument, and as fifth the
        `math.choices.Choices` that tell its derivative what was found.
      general: made for many kinds of pairs, which are collided together: the function takes a list of
        `collision.points.Portion`, then as iterative ones the geoms of all of them; it gives the points of each. A
        collider made for one kind takes its place.
      fitted: `(collider, static, pairs) -> Collider`, makes one for the sizes of a model, of its static part and its
        pairs of these types; None: it is the same for all models.
      refuses: `(static, pairs) -> (npair,)`, which pairs of these types it cannot collide; None: none.
    """

    function: Callable[..., Any]
    points: int
    usual: int
    exhaustive: int
    assets: Callable[[Any], Any] | None = None
    iterative: bool = False
    general: bool = False
    fitted: Callable[[Collider, Any, Any], Collider] | None = None
    refuses: Callable[[Any, Any], np.ndarray] | None = None

    def fit(self, static: Any, pairs: Any) -> Collider:
        """The collider for the pairs of these types that a model has."""
        return self if self.fitted is None else self.fitted(self, static, pairs)


COLLIDERS: dict[tuple[int, int], Collider] = {}
"""The collider of each pair of geom types, the lower type first."""


@functools.lru_cache(maxsize=64)
def colliders_of(static: Static) -> Mapping[tuple[int, int], Collider]:
    """The collider of each pair of geom types in a model: the table, and functions of the user's before it."""
    return {**COLLIDERS, **dict(static.hooks.colliders)}


def collider(
    first: GeomType,
    second: GeomType,
    *,
    points: int,
    usual: int | None = None,
    exhaustive: int = 256,
    assets: Callable[[Any], Any] | None = None,
    iterative: bool = False,
    general: bool = False,
    fitted: Callable[[Collider, Any, Any], Collider] | None = None,
    refuses: Callable[[Any, Any], np.ndarray] | None = None,
) -> Callable[[_F], _F]:
    """Decorates the function that collides geoms of two types, and enters it in the table; see `Collider`.

    Args:
      first: type of geom 1.
      second: type of geom 2, not below the first.
      points: most points a pair can have.
      usual: points a touching pair usually has; None: as many as it can.
      exhaustive: pairs up to which all are computed.
      assets: makes a table of meshes or height fields from the model.
      iterative: whether the function is told how to search.
      general: whether the function collides many kinds of pairs together.
      fitted: fits it to the sizes of a model.
      refuses: which pairs it cannot collide.

    Raises:
      ValueError: the types are in the wrong order.
    """
    if first > second:
        raise ValueError(
            f"a collider of {first.name} and {second.name}: the lower type comes first; swap them"
        )

    def enter(function: _F) -> _F:
        known = COLLIDERS.get((first, second))
        if known is None or known.general or not general:
            COLLIDERS[first, second] = Collider(
                function, points, usual or points, exhaustive, assets, iterative, general, fitted, refuses
            )
        return function

    return enter
