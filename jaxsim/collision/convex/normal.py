"""The normal of two geoms from the features that touch: one Newton step, and its derivatives.

With x1 and x2 the nearest points, n the unit normal and g the edges of a touching face, x1 - x2 = h n and n . g = 0.
The implicit function theorem gives derivatives of any order.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from jax import Array, lax

from jaxsim.collision.convex.curved import bend
from jaxsim.collision.convex.solid import Solid
from jaxsim.collision.convex.touching import Choice, Core, Side, frame_of, pick, points
from jaxsim.collision.vec import Vec
from jaxsim.math.ruled import ruled

__all__ = ["exact_normal"]

_Sides = tuple[tuple[Core, Side], tuple[Core, Side]]


def exact_normal(
    core1: Core,
    core2: Core,
    side1: Side,
    side2: Side,
    base: Vec,
    choice: Choice,
    longest: float,
) -> Vec:
    """The normal after one Newton step from the unit vector `base`, if that is not longer than `longest`.

    Its derivatives are those of the exact normal by the geoms.
    """
    # curves and their axes are all that the equations know of a core
    bare = (core._replace(solid=Solid(core.solid.ball, core.solid.round)) for core in (core1, core2))
    sides = tuple(zip(bare, (side1, side2), strict=True))
    return _normal(longest, sides, base, choice)


@ruled(static=1)
def _normal(longest: float, sides: _Sides, base: Vec, choice: Choice) -> Vec:
    gap, frame, errors = _missed(sides, base, choice)
    x, y = _solved(_slopes(sides, base, choice, gap, frame), errors, errors, longest)
    return (base + frame[0] * x + frame[1] * y).unit()


@_normal.defjvp
def _normal_jvp(longest: float, primals: tuple[Any, ...], tangents: tuple[Any, ...]) -> tuple[Vec, Vec]:
    """Where it does not exist, or is not near, the normal does not turn."""
    sides, _, choice = primals
    n = _normal(longest, *primals)
    found, turned = jax.jvp(lambda sides: _missed(sides, n, choice), (sides,), (tangents[0],))
    gap, frame, errors = found
    x, y = _solved(_slopes(sides, n, choice, gap, frame), turned[-1], errors, longest)
    return n, frame[0] * x + frame[1] * y


def _missed(sides: _Sides, n: Vec, choice: Choice) -> tuple[Vec, tuple[Vec, Vec], tuple[Array, Array]]:
    """The gap, the frame, and by how much the equations are missed: slopes of edges, or the gap across the normal."""
    (core1, side1), (core2, side2) = sides
    first, second = points(core1, core2, side1, side2, n)
    gap, edges = first - second, [*side1.edges, *side2.edges]
    frame = frame_of(edges, choice, n)
    one, two = (
        jnp.where(number >= 0, -pick(edges, number).dot(n), -gap.dot(axis))
        for number, axis in zip((choice.one, choice.two), frame, strict=True)
    )
    return gap, frame, (one, two)


def _slopes(
    sides: _Sides, n: Vec, choice: Choice, gap: Vec, frame: tuple[Vec, Vec]
) -> tuple[tuple[Array, Array], tuple[Array, Array], Array]:
    """How the equations change as the normal turns along the frame, and what counts as zero of their determinant."""
    (core1, side1), (core2, side2) = sides
    height, edges = gap.dot(n), [*side1.edges, *side2.edges]
    t, u = frame
    rows, size = [], 1.0
    for number, axis in ((choice.one, t), (choice.two, u)):
        edge, some = pick(edges, number), number >= 0
        bent = bend(core1.solid, core1.pose.axes, n, axis, side1.flat)
        bent = bent + bend(core2.solid, core2.pose.axes, -n, axis, side2.flat)
        # where centres or axes coincide the two are equal, and all normals as good: what is left is rounding
        terms = jnp.abs(bent.dot(t)) + jnp.abs(bent.dot(u)) + jnp.abs(height)
        size = size * jnp.where(some, jnp.abs(edge.dot(t)) + jnp.abs(edge.dot(u)), terms)
        bent = bent - axis * height
        rows.append((jnp.where(some, edge.dot(t), bent.dot(t)), jnp.where(some, edge.dot(u), bent.dot(u))))
    return rows[0], rows[1], lax.stop_gradient(1e3 * jnp.finfo(height.dtype).eps * size)


def _solved(
    slopes: tuple[tuple[Array, Array], tuple[Array, Array], Array],
    asked: tuple[Array, Array],
    errors: tuple[Array, Array],
    longest: float,
) -> tuple[Array, Array]:
    """The step along the frame that changes the equations as asked; 0 where no short one solves them."""
    (a, b), (c, d), least = slopes
    det = a * d - b * c
    regular = jnp.abs(det) > least
    inverse = jnp.where(regular, 1.0 / jnp.where(regular, det, 1.0), 0.0)

    def step(p: Array, q: Array) -> tuple[Array, Array]:
        return (d * p - b * q) * inverse, (a * q - c * p) * inverse

    x, y = step(*errors)
    near = x * x + y * y < longest * longest
    x, y = step(*asked)
    return jnp.where(near, x, 0.0), jnp.where(near, y, 0.0)
