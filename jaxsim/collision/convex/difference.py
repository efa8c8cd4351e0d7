"""The Minkowski difference of two cores, in the frame of the first: {a - b}; the cores meet where it contains 0.

Its point nearest to the origin gives the distance, or the depth if the origin is inside. Source: G. van den Bergen,
"Collision Detection in Interactive 3D Environments" (2003), chapter 4.
"""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array, lax

from jaxsim.collision.convex.settle import settled
from jaxsim.collision.convex.solid import Kind, Solid, corner_number, support
from jaxsim.collision.points import Shape
from jaxsim.collision.vec import Frame, Vec
from jaxsim.math.stage import stage

__all__ = ["Pair", "Vertex", "farthest", "pair_of", "pick", "stack_vertices"]


class Pair(NamedTuple):
    """Two cores and their relative pose; components (npair, W).

    Attributes:
      first: core of geom 1.
      second: core of geom 2.
      offset: centre of geom 2 in the frame of geom 1, m.
      turn: axes of geom 2 in the frame of geom 1.
    """

    first: Solid
    second: Solid
    offset: Vec
    turn: Frame


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


def pair_of(first: Solid, second: Solid, shape1: Shape, shape2: Shape) -> Pair:
    """The relative pose of two geoms, without derivative."""
    axes = shape1.axes
    offset = axes.to_local(shape2.pos - shape1.pos)
    turn = Frame(*(axes.to_local(a) for a in shape2.axes))
    return lax.stop_gradient(Pair(first, second, offset, turn))


def farthest(kinds: tuple[Kind, Kind], pair: Pair, direction: Vec) -> Vertex:
    """The vertex of the difference that is farthest in a direction."""
    code1, code2 = settled(_corner_numbers(pair, direction, kinds=kinds))
    return Vertex(_point(pair, direction, code1, code2, kinds=kinds), code1, code2)


@stage
def _corner_numbers(pair: Pair, direction: Vec, *, kinds: tuple[Kind, Kind]) -> tuple[Array, Array]:
    return (
        corner_number(kinds[0], pair.first, direction),
        corner_number(kinds[1], pair.second, -pair.turn.to_local(direction)),
    )


@stage
def _point(pair: Pair, direction: Vec, code1: Array, code2: Array, *, kinds: tuple[Kind, Kind]) -> Vec:
    a = support(kinds[0], pair.first, direction, code1)
    b = support(kinds[1], pair.second, -pair.turn.to_local(direction), code2)
    return a - pair.offset - pair.turn.to_world(b)


def pick(condition: Array, one: Vertex, other: Vertex) -> Vertex:
    """`one` where the condition holds, else `other`; they broadcast."""
    return jax.tree.map(lambda x, y: jnp.where(condition, x, y), one, other)


def stack_vertices(vertices: list[Vertex]) -> Vertex:
    """Vertices on a new first axis."""
    return jax.tree.map(lambda *x: jnp.stack(x), *vertices)
