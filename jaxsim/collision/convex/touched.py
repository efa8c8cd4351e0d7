"""What is computed only of the pairs of geoms that need it, in the worlds where they do: `math/asked.py` for geoms."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
from jax import Array, lax

from jaxsim.collision.convex.hull import Tables
from jaxsim.collision.points import Shape
from jaxsim.math.asked import computes_apart, derived_where_asked, where_asked

__all__ = ["gathers", "of_geoms", "with_derivatives"]

_T = TypeVar("_T")


def gathers(asked: Array, shapes: tuple[Shape, Shape], rare: bool = False) -> bool:
    """Whether `of_geoms` gathers: not shapes that come with their pairs, as prisms do, nor tables of each world."""
    shared = all(
        isinstance(shape.assets, Tables) and shape.assets.vert.shape[-1] == 1
        for shape in shapes
        if shape.assets is not None
    )
    return shared and computes_apart(asked, rare)


def of_geoms(
    function: Callable[[Array, tuple[Shape, Shape], Any], _T],
    asked: Array,
    shapes: tuple[Shape, Shape],
    others: Any,
    rare: bool = False,
) -> _T:
    """`where_asked` for what is found of pairs of geoms.

    Args:
      function: of `asked`, `shapes` and `others`, as they are or of fewer pairs and worlds.
      asked: of which pairs and worlds, (npair, W).
      shapes: geoms 1 and geoms 2.
      others: a tree of arrays (..., 1 or npair, 1 or W).
      rare: whether hardly any are asked.

    Returns:
      the function's result, a tree of arrays (..., npair, W); 0 where nothing is asked.
    """
    # the tables of hulls too, which are not among what is gathered
    asked, shapes, others = lax.stop_gradient((asked, shapes, others))
    if not gathers(asked, shapes, rare):
        return function(asked, shapes, others)

    few, tables, assets = _apart(function, shapes, others)
    found = where_asked(lambda asked, *own: few(asked, own, assets), asked, *tables, rare=rare)
    return _pairs_moved(found, 0, -2)


def with_derivatives(
    function: Callable[[Array, tuple[Shape, Shape], Any], _T],
    asked: Array,
    shapes: tuple[Shape, Shape],
    others: Any,
) -> _T:
    """As `of_geoms`, with derivatives by `shapes`, of what is asked alone; the function takes nothing from outside."""
    asked, others = lax.stop_gradient((asked, others))
    if not gathers(asked, shapes):
        return function(asked, shapes, others)

    few, tables, assets = _apart(function, shapes, others)
    return _pairs_moved(derived_where_asked(few, asked, tables, assets), 0, -2)


def _apart(
    function: Callable[[Array, tuple[Shape, Shape], Any], _T], shapes: tuple[Shape, Shape], others: Any
) -> tuple[Callable[..., _T], tuple[Any, ...], tuple[Any, Any]]:
    """The function as one of `asked`, tables with the pairs first, and the geoms' assets; then these of all."""

    def few(asked: Array, tables: Any, assets: tuple[Any, Any]) -> _T:
        *geoms, moved = tables
        first, second = (own._replace(assets=of) for own, of in zip(geoms, assets, strict=True))
        return _pairs_moved(function(asked, (first, second), _pairs_moved(moved, 0, -2)), -2, 0)

    one, other = (s._replace(assets=None) for s in shapes)
    return few, (one, other, _pairs_moved(others, -2, 0)), (shapes[0].assets, shapes[1].assets)


def _pairs_moved(tree: _T, source: int, to: int) -> _T:
    """With the pairs on another axis of all arrays."""
    return jax.tree.map(lambda x: jnp.moveaxis(x, source, to), tree)
