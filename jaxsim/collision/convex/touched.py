"""What is computed only of the pairs that need it, in the worlds where they do.

Of many pairs few touch, and others in each world. Those that do are gathered, as if each were a world with one pair: a
few hundred at a time on a CPU, a share of all on an accelerator, where each round of a search costs launches.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
from jax import Array, lax

from jaxsim.collision.convex.hull import Tables
from jaxsim.collision.points import Shape
from jaxsim.math.gather import first_marked
from jaxsim.math.stage import platform

__all__ = ["gathers", "of_geoms", "where_asked"]

_LANES = 256
"""How many are computed at a time on a CPU, and least elsewhere."""
_RARE = 32
"""The same of what is rare."""
_FEW = 1
"""The same of one world on a CPU, where nothing is gained by vectors: each pair ends by itself."""
_SHARE = 16
"""On accelerators, how many times fewer are computed at a time than there are."""

_T = TypeVar("_T")


def _lanes(asked: Array, rare: bool) -> int:
    least = _RARE if rare else _LANES
    if platform() != "cpu":
        return max(least, asked.size // _SHARE)
    return _FEW if asked.shape[-1] == 1 else least


def gathers(asked: Array, shapes: tuple[Shape, Shape], rare: bool = False) -> bool:
    """Whether `of_geoms` gathers: not shapes that come with their pairs, as prisms do, nor tables of each world."""
    shared = all(
        isinstance(shape.assets, Tables) and shape.assets.vert.shape[-1] == 1
        for shape in shapes
        if shape.assets is not None
    )
    return shared and asked.size > _lanes(asked, rare)


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
    if not gathers(asked, shapes, rare):
        return function(*lax.stop_gradient((asked, shapes, others)))

    def few(asked: Array, one: Shape, other: Shape, moved: Any) -> _T:
        first, second = (own._replace(assets=s.assets) for own, s in zip((one, other), shapes, strict=True))
        return _pairs_moved(function(asked, (first, second), _pairs_moved(moved, 0, -2)), -2, 0)

    one, other = (s._replace(assets=None) for s in shapes)
    found = where_asked(few, asked, one, other, _pairs_moved(others, -2, 0), rare=rare)
    return _pairs_moved(found, 0, -2)


def _pairs_moved(tree: _T, source: int, to: int) -> _T:
    """With the pairs on another axis of all arrays."""
    return jax.tree.map(lambda x: jnp.moveaxis(x, source, to), tree)


def where_asked(function: Callable[..., _T], asked: Array, *tables: Any, rare: bool = False) -> _T:
    """Calls a function of what is asked, anything finite elsewhere; without derivatives.

    Args:
      function: of `asked` and `tables`, as they are or with one pair and a few of their worlds.
      asked: of which pairs and worlds, (npair, W).
      tables: trees of arrays (1 or npair, ..., 1 or W).
      rare: whether hardly any are asked.

    Returns:
      its result, a tree of arrays (npair, ..., W); 0 where nothing is asked.
    """
    asked, tables = lax.stop_gradient((asked, tables))
    pairs, width = asked.shape
    lanes = _lanes(asked, rare)
    if asked.size <= lanes:
        return function(asked, *tables)

    marked = asked.reshape(-1)
    places = first_marked(marked, -(-marked.size // lanes) * lanes, marked.size)
    count = jnp.sum(marked, dtype=jnp.int32)

    def some(start: Array) -> tuple[Array, Array, _T]:
        """The pairs and worlds of some that are asked, beyond the last out of bounds, and what is found of them."""
        chosen = lax.dynamic_slice_in_dim(places, start, lanes)
        pair, world = chosen // width, chosen % width

        def own(x: Array) -> Array:
            at = world if x.shape[-1] == width else 0 * world
            return jnp.moveaxis(x.at[pair, ..., at].get(mode="clip"), 0, -1)[None]

        return pair, world, function((pair < pairs)[None], *jax.tree.map(own, tables))

    def more(state: tuple[Array, _T]) -> tuple[Array, _T]:
        start, found = state
        pair, world, new = some(start)

        def put(into: Array, x: Array) -> Array:
            return into.at[pair, ..., world].set(jnp.moveaxis(x[0], -1, 0), mode="drop")

        return start + lanes, jax.tree.map(put, found, new)

    shapes = jax.eval_shape(lambda: some(jnp.zeros((), jnp.int32))[2])
    empty = jax.tree.map(lambda x: jnp.zeros((pairs, *x.shape[1:-1], width), x.dtype), shapes)
    return lax.while_loop(lambda state: state[0] < count, more, (jnp.zeros((), jnp.int32), empty))[1]
