"""A path from point to point around, or through, a sphere or cylinder: reduced to a circle in a plane."""

from __future__ import annotations

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from jaxsim.math import safe
from jaxsim.math.constants import MINVAL
from jaxsim.math.stage import stage
from jaxsim.math.vector import cross, dot
from jaxsim.pipeline.tendon.inside import through
from jaxsim.pipeline.tendon.outside import Arc, around
from jaxsim.pipeline.tendon.plane import Point, either, unit
from jaxsim.pipeline.tendon.plane import dot as dot_plane

__all__ = ["Contact", "wrap"]


class Contact(NamedTuple):
    """How a path touches a geom; vectors are (n, 3, W) in the geom's frame.

    Attributes:
      touches: whether it does (n, W); without, the rest means nothing.
      length: of the whole path (n, W), m.
      ahead: direction of the path before the geom.
      onward: direction of the path behind it.
      start: point where the path meets the geom, m.
      end: point where it leaves it, m.
    """

    touches: Array
    length: Array
    ahead: Array
    onward: Array
    start: Array
    end: Array


@stage
def wrap(first: Array, last: Array, radius: Array, side: Array | None, *, spheres: int) -> Contact:
    """Paths around `spheres` spheres and then cylinders about their third axis.

    A path around a sphere lies in the plane of its ends and the centre. That around a cylinder is a helix: unrolled,
    it climbs evenly.

    Args:
      first: where the paths begin (n, 3, W), in the frames of the geoms, m.
      last: where they end.
      radius: (n, W), m.
      side: points (n, 3, W) on the side where the paths must pass; if inside the geom, the path passes through it.
        None: the short way around.
      spheres: how many geoms are spheres.
    """
    u, v, w = _axes(first, last, spheres)
    a, b = (Point(dot(p, u), dot(p, v)) for p in (first, last))
    if side is None:
        arc = around(a, b, radius, None)
    else:
        outer = around(a, b, radius, unit(Point(dot(side, u), dot(side, v))))
        arc = _choose(_within(side, radius), through(a, b, radius), outer)
    helix = np.arange(first.shape[0])[:, None] >= spheres
    height = jnp.where(helix, first[:, 2], 0)
    climb = jnp.where(helix, last[:, 2] - first[:, 2], 0)
    before = _distance(a, arc.start)
    flat = before + arc.length + _distance(arc.end, b)
    length = safe.sqrt(flat * flat + climb * climb)
    level, rise = safe.divide(flat, length), safe.divide(climb, length)
    slope = safe.divide(climb, flat)

    def lift(p: Point, z: Array) -> Array:
        return p.x[:, None] * u + p.y[:, None] * v + z[:, None] * w

    distinct = (safe.norm(first) >= MINVAL) & (safe.norm(last) >= MINVAL)
    return Contact(
        touches=arc.touches & distinct,
        length=length,
        ahead=lift(arc.ahead * level, rise),
        onward=lift(arc.onward * level, rise),
        start=lift(arc.start, height + slope * before),
        end=lift(arc.end, height + slope * (before + arc.length)),
    )


@stage
def _within(point: Array, radius: Array) -> Array:
    return safe.norm(point) < radius


def _axes(first: Array, last: Array, spheres: int) -> tuple[Array, Array, Array]:
    """Axes (n, 3, W or 1) of the circle's plane, and its normal."""
    x, y, z = (jnp.eye(3, dtype=first.dtype)[k][None, :, None] for k in range(3))
    n = first.shape[0]
    if not spheres:
        return x, y, z
    p, q = first[:spheres], last[:spheres]
    u, _ = safe.normalize(p)
    normal = cross(p, q)
    flat = safe.norm(normal)[:, None] < MINVAL
    size = jnp.abs(lax.stop_gradient(u))
    largest = size == jnp.max(size, axis=1, keepdims=True)
    normal = jnp.where(flat, cross(u, jnp.where(largest, 0, 1).astype(u.dtype)), normal)
    w, _ = safe.normalize(normal)
    v = cross(w, u)
    if spheres == n:
        return u, v, w
    width = u.shape[-1]
    rest = [jnp.broadcast_to(e, (n - spheres, 3, width)) for e in (x, y, z)]
    return tuple(jnp.concatenate([own, other]) for own, other in zip((u, v, w), rest, strict=True))  # pyright: ignore


def _distance(a: Point, b: Point) -> Array:
    step = b - a
    return safe.sqrt(dot_plane(step, step))


def _choose(inner: Array, a: Arc, b: Arc) -> Arc:
    """The arc `a` where the path goes through the inside, else `b`."""

    def pick(x: Point, y: Point) -> Point:
        return either(inner, x, y)

    return Arc(
        jnp.where(inner, a.touches, b.touches),
        pick(a.start, b.start),
        pick(a.end, b.end),
        jnp.where(inner, a.length, b.length),
        pick(a.ahead, b.ahead),
        pick(a.onward, b.onward),
    )
