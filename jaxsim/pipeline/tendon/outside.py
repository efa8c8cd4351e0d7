"""The path around a circle: a tangent, an arc, a tangent (computation chapter, "Spatial tendons").

There are two such paths, clockwise and counterclockwise. The shorter counts, or that on the side of a given point.
"""

from __future__ import annotations

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxsim.math import safe
from jaxsim.math.constants import MINVAL
from jaxsim.math.stage import stage
from jaxsim.pipeline.tendon.plane import Point, cross, crosses, dot, either, turn, unit

__all__ = ["Arc", "around"]

_TIE = 64
"""Merits closer than this many roundings of the squared radius are equal.

Rounding must not choose, as it may differ by use.
"""


class Arc(NamedTuple):
    """Part of a path on a circle.

    Attributes:
      touches: whether there is one (n, W); without, the rest means nothing.
      start: where it begins.
      end: where it ends.
      length: m.
      ahead: direction of the path at the start.
      onward: direction of the path at the end.
    """

    touches: Array
    start: Point
    end: Point
    length: Array
    ahead: Point
    onward: Point


def around(first: Point, last: Point, radius: Array, side: Point | None) -> Arc:
    """Path from `first` to `last` around a circle about the origin.

    Args:
      first: m.
      last: m.
      radius: (n, W), m.
      side: direction in which the path should pass; None: the short way, if the circle is in the way at all.
    """
    possible, met = _in_the_way(first, last, radius, side)
    one = jnp.ones_like(radius)
    radius = jnp.where(possible, radius, 1)
    first = either(possible, first, Point(2 * one, 0 * one))
    last = either(possible, last, Point(-2 * one, one))
    clockwise = _tangents(first, last, radius, 1)
    counter = _tangents(first, last, radius, -1)
    good = [
        jnp.where(_crosses(first, a, last, b, met), -1e4, _merit(a, b, radius, side))
        for a, b in (clockwise, counter)
    ]
    chosen = good[0] > good[1] + _TIE * jnp.finfo(radius.dtype).eps * radius**2
    start, end = (either(chosen, a, b) for a, b in zip(clockwise, counter, strict=True))
    sense = jnp.where(chosen, 1, -1).astype(radius.dtype)
    angle = jnp.arctan2(-cross(start, end) * sense, dot(start, end))
    # less than this is the rounding error of two equal points, not a full turn: tangents from near by are roots
    back = angle < -jnp.sqrt(jnp.finfo(angle.dtype).eps)
    angle = jnp.where(back, angle + 2 * np.pi, angle)
    ahead, onward = (turn(p) * (-sense / radius) for p in (start, end))
    touches = possible & ~_crosses(first, start, last, end, met)
    return Arc(touches, start, end, radius * angle, ahead, onward)


@stage
def _in_the_way(first: Point, last: Point, radius: Array, side: Point | None) -> tuple[Array, Array]:
    """Whether the circle is between ends outside, or on the wrong side of the segment; whether the segment meets it.

    Computed once: what follows from it must not round it one way here and another way there.
    """
    step = last - first
    length = dot(step, step)
    outside = (dot(first, first) >= radius**2) & (dot(last, last) >= radius**2)
    apart = (radius >= MINVAL) & (length >= MINVAL)
    along = jnp.clip(safe.divide(-dot(step, first), length), 0, 1)
    nearest = first + step * along
    met = dot(nearest, nearest) <= radius**2
    wrong = met if side is None else met | (dot(side, nearest) < 0)
    return outside & apart & wrong, met


def _crosses(first: Point, start: Point, last: Point, end: Point, met: Array) -> Array:
    """Whether a path crosses itself before and after its arc.

    That none does about a circle that the straight segment meets is known: where this hardly does, the two tangents
    are nearly one line, and rounding would decide.
    """
    return ~met & crosses(first, start, last, end)


def _tangents(first: Point, last: Point, radius: Array, sense: int) -> tuple[Point, Point]:
    """Where tangents from both points touch, for a path that turns clockwise (1) or counterclockwise (-1)."""
    found = []
    for point, way in ((first, -sense), (last, sense)):
        square = dot(point, point)
        reach = safe.sqrt(square - radius**2)
        found.append((point * radius + turn(point) * (way * reach)) * (radius / square))
    return found[0], found[1]


def _merit(a: Point, b: Point, radius: Array, side: Point | None) -> Array:
    """How good a path is (n, W), m^2."""
    if side is not None:
        return dot(unit(a + b), side) * radius**2
    return -dot(a - b, a - b)
