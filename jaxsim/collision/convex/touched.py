"""What is computed only of the pairs that need it, in the worlds where they do.

Of many pairs few touch, and others in each world. Those that do are gathered, as if each were a world with one pair:
thousands at a time on an accelerator, where each round of a search costs launches. On a CPU it is as many as fill a
few vectors, and all of them are searched by one function of machine code (`math/few_kernels.py`): a loop ends with the
last of its few.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
from jax import Array, lax
from jax.extend.core import jaxpr_as_fun

from jaxsim.collision.convex.hull import Tables
from jaxsim.collision.points import Shape
from jaxsim.math.few_kernels import call_in_few_kernels
from jaxsim.math.gather import first_marked
from jaxsim.math.stage import platform

__all__ = ["gathers", "of_geoms", "where_asked", "with_derivatives"]

_LANES = 32
"""How many are computed at a time on a CPU: the least of which LLVM makes vectors; loops of 16 it unrolls."""
_FILL = 16384
"""The same on a GPU: of fewer its kernels take hardly less time."""
_SHARE = 16
"""On other accelerators, and of what is rare, how many times fewer are computed at a time than there are."""
_LEAST = 256
"""How many they are there at least."""

_T = TypeVar("_T")


def _lanes(asked: Array, rare: bool) -> int:
    if platform() == "cpu":
        # in one world nothing is gained by vectors: each pair ends by itself
        return 1 if asked.shape[-1] == 1 else _LANES
    share = _FILL if platform() == "cuda" and not rare else asked.size // _SHARE
    # of those that were gathered no fewer are gathered again, but of what is rare
    return asked.size if len(asked) == 1 and not rare else max(_LEAST, share)


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
      rare: whether hardly any are asked; on a CPU those are computed with the others.

    Returns:
      the function's result, a tree of arrays (..., npair, W); 0 where nothing is asked.
    """
    # the tables of hulls too, which are not among what is gathered
    asked, shapes, others = lax.stop_gradient((asked, shapes, others))
    if not gathers(asked, shapes, rare):
        return function(asked, shapes, others)

    def few(asked: Array, one: Shape, other: Shape, moved: Any) -> _T:
        first, second = (own._replace(assets=s.assets) for own, s in zip((one, other), shapes, strict=True))
        return _pairs_moved(function(asked, (first, second), _pairs_moved(moved, 0, -2)), -2, 0)

    one, other = (s._replace(assets=None) for s in shapes)
    found = where_asked(few, asked, one, other, _pairs_moved(others, -2, 0), rare=rare)
    return _pairs_moved(found, 0, -2)


def with_derivatives(
    function: Callable[[Array, tuple[Shape, Shape], Any], _T],
    asked: Array,
    shapes: tuple[Shape, Shape],
    others: Any,
) -> _T:
    """As `of_geoms`, with derivatives by `shapes`: those of the function of all pairs and worlds.

    The function uses nothing that varies but what it is given.
    """

    @jax.custom_jvp
    def found(asked: Array, shapes: tuple[Shape, Shape], others: Any) -> _T:
        return of_geoms(function, asked, shapes, others)

    @found.defjvp
    def derivative(primals: Any, tangents: Any) -> tuple[_T, _T]:  # pyright: ignore[reportUnusedFunction]
        asked, shapes, others = primals
        return jax.jvp(lambda shapes: function(asked, shapes, others), (shapes,), (tangents[1],))

    return found(asked, shapes, others)


def _pairs_moved(tree: _T, source: int, to: int) -> _T:
    """With the pairs on another axis of all arrays."""
    return jax.tree.map(lambda x: jnp.moveaxis(x, source, to), tree)


def where_asked(function: Callable[..., _T], asked: Array, *tables: Any, rare: bool = False) -> _T:
    """Calls a function of what is asked, anything finite elsewhere; without derivatives.

    Args:
      function: of `asked` and `tables`, as they are or with one pair and a few of their worlds; what it takes from
        outside has no derivatives either: its caller sees to that.
      asked: of which pairs and worlds, (npair, W).
      tables: trees of arrays (1 or npair, ..., 1 or W).
      rare: whether hardly any are asked.

    Returns:
      its result, a tree of arrays (npair, ..., W); 0 where nothing is asked.
    """
    asked, tables = lax.stop_gradient((asked, tables))
    lanes = _lanes(asked, rare)
    if asked.size <= lanes:
        return function(asked, *tables)
    if platform() == "cpu" and asked.shape[-1] > 1:
        return call_in_few_kernels(functools.partial(_by_lanes, function, lanes), asked, *tables)
    return _by_lanes(function, lanes, asked, *tables)


def _by_lanes(function: Callable[..., _T], lanes: int, asked: Array, *tables: Any) -> _T:
    """`where_asked`, so many at a time."""
    pairs, width = asked.shape
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

    first = jnp.zeros((), jnp.int32)
    traced, (*_, shapes) = jax.make_jaxpr(some, return_shape=True)(first)

    def more(state: tuple[Array, _T]) -> tuple[Array, _T]:
        start, found = state
        pair, world, *leaves = jaxpr_as_fun(traced)(start)
        new = jax.tree.unflatten(jax.tree.structure(shapes), leaves)

        def put(into: Array, x: Array) -> Array:
            return into.at[pair, ..., world].set(jnp.moveaxis(x[0], -1, 0), mode="drop")

        return start + lanes, jax.tree.map(put, found, new)

    empty = jax.tree.map(lambda x: jnp.zeros((pairs, *x.shape[1:-1], width), x.dtype), shapes)
    return lax.while_loop(lambda state: state[0] < count, more, (first, empty))[1]
