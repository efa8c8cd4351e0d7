"""Points and directions of a plane as pairs of numbers, each (n, W)."""

from __future__ import annotations

from typing import NamedTuple

import jax.numpy as jnp
from jax import Array, lax

from jaxsim.math import safe
from jaxsim.math.constants import MINVAL

__all__ = ["Point", "cross", "crosses", "dot", "either", "turn", "unit"]


class Point(NamedTuple):
    """A point or direction."""

    x: Array
    y: Array

    def __add__(self, other: Point) -> Point:  # pyright: ignore[reportIncompatibleMethodOverride]
        return Point(self.x + other.x, self.y + other.y)

    def __sub__(self, other: Point) -> Point:
        return Point(self.x - other.x, self.y - other.y)

    def __mul__(self, factor: Array) -> Point:  # pyright: ignore[reportIncompatibleMethodOverride]
        return Point(self.x * factor, self.y * factor)


def dot(a: Point, b: Point) -> Array:
    """Inner product."""
    return a.x * b.x + a.y * b.y


def cross(a: Point, b: Point) -> Array:
    """Positive if b is counterclockwise of a."""
    return a.x * b.y - a.y * b.x


def turn(a: Point) -> Point:
    """a, a quarter turn counterclockwise."""
    return Point(-a.y, a.x)


def unit(a: Point) -> Point:
    """Direction of a; of zero, the first axis."""
    size = safe.sqrt(dot(a, a))
    return Point(jnp.where(size > 0, safe.divide(a.x, size), 1), safe.divide(a.y, size))


def either(choose: Array, a: Point, b: Point) -> Point:
    """A where `choose`, else b."""
    return Point(jnp.where(choose, a.x, b.x), jnp.where(choose, a.y, b.y))


def crosses(a: Point, b: Point, c: Point, d: Point) -> Array:
    """Whether the segments ab and cd intersect; parallel ones, of cross product below MINVAL, do not."""
    ab, cd, ac = b - a, d - c, a - c
    determinant = lax.stop_gradient(cross(ab, cd))
    some = jnp.abs(determinant) >= MINVAL
    safe_determinant = jnp.where(some, determinant, 1)
    along_ab = -cross(ac, cd) / safe_determinant
    along_cd = -cross(ac, ab) / safe_determinant
    inside = (along_ab >= 0) & (along_ab <= 1) & (along_cd >= 0) & (along_cd <= 1)
    return some & inside
