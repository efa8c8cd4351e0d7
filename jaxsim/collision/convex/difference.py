"""The Minkowski difference of two cores, in the frame of the first: {a - b}; the cores meet where it contains 0.

Its point nearest to the origin gives the distance, or the depth if the origin is inside. Source: G. van den Bergen,
"Collision Detection in Interactive 3D Environments" (2003), chapter 4.

Searches know it by its farthest vertices only. Pairs of all kinds are searched together, kind after kind on the pair
axis, and only the farthest vertices are found kind by kind: there is one loop for all.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from jaxsim.collision.convex.hull import searchable
from jaxsim.collision.convex.settle import settled
from jaxsim.collision.convex.solid import Solid, corner_numbers, solid_of, support
from jaxsim.collision.convex.touched import gathers, of_geoms
from jaxsim.collision.points import Portion, Shape
from jaxsim.collision.vec import Frame, Pose, Vec
from jaxsim.math.axis import concat
from jaxsim.math.stage import stage

__all__ = [
    "Pair",
    "Vertex",
    "by_kind",
    "farthest",
    "of_asked",
    "pairs_of",
    "pick",
    "smooth_rows",
    "stack_vertices",
]

_T = TypeVar("_T")


class Pair(NamedTuple):
    """Two cores and their relative pose, of pairs of one kind; components (npair, 1 or W).

    Attributes:
      first: core of geom 1.
      second: core of geom 2.
      pose: of geom 2 in the frame of geom 1.
    """

    first: Solid
    second: Solid
    pose: Pose


class Vertex(NamedTuple):
    """Points of the difference; arrays of one shape.

    Attributes:
      point: a - b, m.
      code1: corner of the first core that a belongs to.
      code2: corner of the second core that b belongs to.
    """

    point: Vec
    code1: Array
    code2: Array


def pairs_of(portions: Sequence[Portion], shape1: Shape, shape2: Shape) -> list[Pair]:
    """The cores and the relative pose of the geoms of each portion, without derivative."""
    pose, pairs, start = _relative(shape1, shape2).numbers, [], 0
    for portion in portions:
        rows, start = slice(start, start + portion.size), start + portion.size
        own1, own2 = (shape.each(lambda x, rows=rows: x[rows]) for shape in (shape1, shape2))
        first, second = (
            _searchable(solid_of(types, own)) for types, own in zip(portion.types, (own1, own2), strict=True)
        )
        pairs.append(Pair(first, second, Pose(pose[rows])))
    return lax.stop_gradient(pairs)


@stage
def _relative(shape1: Shape, shape2: Shape) -> Pose:
    """Poses of geoms 2 in the frames of geoms 1, see `Pair`."""
    local = shape1.axes.to_local
    return Pose.of(local(shape2.pos - shape1.pos), Frame(*map(local, shape2.axes)))


def _searchable(solid: Solid) -> Solid:
    return solid._replace(hull=solid.hull and searchable(solid.hull))


def by_kind(pairs: Sequence[Pair], x: Any) -> list[Any]:
    """Cuts a tree of arrays (..., all pairs, W) into the portions of the kinds."""
    if len(pairs) == 1:
        return [x]
    ends = np.cumsum([0, *(len(p.pose.numbers) for p in pairs)]).tolist()
    return [
        jax.tree.map(lambda y, a=a, b=b: lax.slice_in_dim(y, a, b, axis=y.ndim - 2), x)
        for a, b in itertools.pairwise(ends)
    ]


def of_asked(
    function: Callable[[Array, list[Pair], tuple[Shape, Shape], Any], _T],
    asked: Array,
    pairs: list[Pair],
    types: tuple[Sequence[int], Sequence[int]],
    shapes: tuple[Shape, Shape],
    others: Any,
) -> _T:
    """`of_geoms` for a function of the `pairs` too; if only some are looked at, those of all types together."""
    together = gathers(asked, shapes)

    def own(asked: Array, geoms: tuple[Shape, Shape], others: Any) -> _T:
        portion = Portion((tuple(types[0]), tuple(types[1])), len(asked), 1)
        return function(asked, pairs_of([portion], *geoms) if together else pairs, geoms, others)

    return of_geoms(own, asked, shapes, others)


def smooth_rows(pairs: Sequence[Pair]) -> Array | None:
    """Which of all pairs have a core with a curved part, (all pairs, 1 or W); None: none can have."""
    marks = []
    for p in pairs:
        own = [core.curved for core in (p.first, p.second) if core.curved is not None]
        marks.append(functools.reduce(jnp.logical_or, own, jnp.zeros((len(p.pose.numbers), 1), bool)))
    if all(core.curved is None for p in pairs for core in (p.first, p.second)):
        return None
    return concat(marks)


def farthest(pairs: Sequence[Pair], direction: Vec) -> Vertex:
    """The vertices of the differences that are farthest in directions, components (all pairs, W)."""
    opposite = settled(_opposite(pairs, direction))
    code1, code2 = settled(_corner_numbers(pairs, direction, opposite))
    return Vertex(_point(pairs, direction, opposite, code1, code2), code1, code2)


@stage
def _opposite(pairs: Sequence[Pair], direction: Vec) -> Vec:
    """The opposite directions in the frames of the second geoms.

    Computed once: along the axis of a disk its direction in the disk's plane is that of rounding errors, and points put
    together from several would be far from the disk.
    """
    directions = by_kind(pairs, direction)
    return Vec.concat([-pair.pose.axes.to_local(d) for pair, d in zip(pairs, directions, strict=True)])


@stage
def _corner_numbers(pairs: Sequence[Pair], direction: Vec, opposite: Vec) -> tuple[Array, Array]:
    asked = []
    for pair, (one, other) in zip(pairs, by_kind(pairs, (direction, opposite)), strict=True):
        asked += [(pair.first, one), (pair.second, other)]
    numbers = corner_numbers(asked)
    return concat(numbers[::2]), concat(numbers[1::2])


@stage
def _point(pairs: Sequence[Pair], direction: Vec, opposite: Vec, code1: Array, code2: Array) -> Vec:
    points, own = [], by_kind(pairs, (direction, opposite, code1, code2))
    for pair, (toward, back, one, two) in zip(pairs, own, strict=True):
        a, b = support(pair.first, toward, one), support(pair.second, back, two)
        points.append(a - pair.pose.pos - pair.pose.axes.to_world(b))
    return Vec.concat(points)


def pick(condition: Array, one: Vertex, other: Vertex) -> Vertex:
    """`one` where the condition holds, else `other`; they broadcast."""
    return jax.tree.map(lambda x, y: jnp.where(condition, x, y), one, other)


def stack_vertices(vertices: list[Vertex]) -> Vertex:
    """Vertices on a new first axis."""
    return jax.tree.map(lambda *x: jnp.stack(x), *vertices)
