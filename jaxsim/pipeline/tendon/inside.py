"""The path that touches a circle from inside, as a rope through a ring (computation chapter, "Spatial tendons").

Both parts of the path make the same angle phi with the radius at the point where they meet. With A and B the ratios of
the radius to the distances of the ends from the centre, and G the angle between them as seen from there,

    asin(A sin phi) + asin(B sin phi) - 2 phi + G = 0.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from jaxsim.math import safe
from jaxsim.math.constants import MINVAL
from jaxsim.math.ruled import ruled
from jaxsim.math.stage import stage
from jaxsim.pipeline.tendon.outside import Arc
from jaxsim.pipeline.tendon.plane import Point, cross, dot, either, unit

__all__ = ["through"]

_ITERATIONS = 20
_TOLERANCE = 1e-6
"""Of the equation, rad; as in the C engine, so that both stop at the same iterate."""


def through(first: Point, last: Point, radius: Array) -> Arc:
    """Path from `first` to `last`, both outside, by way of one point of a circle about the origin.

    There is none if an end is inside, or if the straight segment passes through the circle anyway.
    """
    possible = _outside(first, last, radius)
    one = jnp.ones_like(radius)
    radius = jnp.where(possible, radius, 1)
    first = either(possible, first, Point(2 * one, 0 * one))
    last = either(possible, last, Point(2 * one, one))
    a, b = (radius / jnp.sqrt(dot(p, p)) for p in (first, last))
    gap = jnp.arctan2(jnp.abs(cross(first, last)), dot(first, last))
    apart = gap > jnp.sqrt(2 * MINVAL)
    solved, phi = _solve(a, b, jnp.where(apart, gap, 1))
    counter = cross(first, last) > 0
    turned = phi - jnp.arcsin(jnp.where(counter, a, b) * jnp.sin(phi))
    base = unit(either(counter, first, last))
    cosine, sine = jnp.cos(turned), jnp.sin(turned)
    found = Point(cosine * base.x - sine * base.y, sine * base.x + cosine * base.y)
    point = either(solved & apart, found, unit(first + last)) * radius
    straight = jnp.cos(gap) < -1 + MINVAL
    ahead, onward = unit(point - first), unit(last - point)
    return Arc(possible & ~straight, point, point, jnp.zeros_like(radius), ahead, onward)


@stage
def _outside(first: Point, last: Point, radius: Array) -> Array:
    """Whether the ends and the straight segment are outside the circle."""
    step = last - first
    length = dot(step, step)
    along = safe.divide(-dot(step, first), length)
    nearest = first + step * along
    meets = (length > MINVAL) & (along > 0) & (along < 1) & (dot(nearest, nearest) <= radius**2)
    ends = (dot(first, first) > radius**2) & (dot(last, last) > radius**2)
    return ends & (radius >= MINVAL) & ~meets


def _residual(phi: Array, a: Array, b: Array, gap: Array) -> Array:
    sine = jnp.sin(phi)
    return jnp.arcsin(a * sine) + jnp.arcsin(b * sine) - 2 * phi + gap


def _cosines(phi: Array, a: Array, b: Array) -> list[Array]:
    """Cosines of the angles at the ends of the path."""
    return [jnp.sqrt(1 - (ratio * jnp.sin(phi)) ** 2) for ratio in (a, b)]


def _slope(phi: Array, a: Array, b: Array) -> Array:
    """Derivative of the residual, negative as a and b are below 1."""
    at_a, at_b = _cosines(phi, a, b)
    return jnp.cos(phi) * (a / at_a + b / at_b) - 2


@ruled
def _solve(a: Array, b: Array, gap: Array) -> tuple[Array, Array]:
    """Whether Newton's method from a right angle finds the root, and the root (n, W), rad; all are solved together."""

    def unfinished(carry: tuple[Array, ...]) -> Array:
        step, _, f, lost = carry
        return (step < _ITERATIONS) & jnp.any(~lost & (jnp.abs(f) > _TOLERANCE))

    def improve(carry: tuple[Array, ...]) -> tuple[Array, ...]:
        step, phi, f, lost = carry
        after = phi - f / _slope(phi, a, b)
        going = ~lost & (jnp.abs(f) > _TOLERANCE)
        back = going & (after > phi)
        moves = going & ~back
        phi = jnp.where(moves, after, phi)
        f = jnp.where(moves, _residual(phi, a, b, gap), f)
        return step + 1, phi, f, lost | back | (moves & (f > _TOLERANCE))

    start = jnp.full_like(a + b + gap, np.pi / 2)
    f = _residual(start, a, b, gap)
    _, phi, f, lost = lax.while_loop(unfinished, improve, (jnp.zeros((), int), start, f, f > 0))
    found = ~lost & (jnp.abs(f) <= _TOLERANCE)
    return found, jnp.where(found, phi, 0.5)


@_solve.defjvp
def _solve_jvp(
    primals: tuple[Array, ...], tangents: tuple[Array, ...]
) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """The root moves so that the residual stays zero."""
    a, b, gap = primals
    found, phi = _solve(a, b, gap)
    da, db, dgap = tangents
    at_a, at_b = _cosines(phi, a, b)
    change = jnp.sin(phi) * (da / at_a + db / at_b) + dgap
    dphi = jnp.where(found, -change / _slope(phi, a, b), 0)
    return (found, phi), (np.zeros(found.shape, jax.dtypes.float0), dphi)
