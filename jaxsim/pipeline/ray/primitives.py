"""Where rays first meet primitive geoms, in the geom's frame: the search, without derivatives.

Every function takes sizes, origins and directions of rays by components, all of shapes that broadcast to (n, k, W):
geoms, rays, worlds. The parameter along the ray is not negative; infinity means that the ray misses. Geometry as in
C. Ericson, Real-Time Collision Detection, section 5.3.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import jax.numpy as jnp
from jax import Array

from jaxsim.collision.vec import Vec
from jaxsim.enums import GeomType
from jaxsim.math.constants import MINVAL
from jaxsim.pipeline.ray.surface import Feature, Quadratic, quadratic

__all__ = ["PRIMITIVES", "Hit"]


class Hit(NamedTuple):
    """Where rays meet geoms: parameter along the ray, infinite if they do not, and the `Feature`."""

    t: Array
    feature: Array


_Crossing = tuple[Array, Array, Feature]
"""Parameter, whether it counts, and the feature there."""


def _first(crossings: Sequence[_Crossing], ahead: Array) -> Hit:
    """The first crossing that counts and is not behind the origin, which stands at parameter `ahead`."""
    t, feature = jnp.full((), jnp.inf), jnp.zeros((), jnp.int32)
    for at, counts, name in crossings:
        better = counts & (at >= ahead) & (at < t)
        t = jnp.where(better, at, t)
        feature = jnp.where(better, int(name), feature)
    return Hit(t, feature)


def _round(p: Vec, v: Vec, x: Array, y: Array, z: Array | float) -> Quadratic:
    """Crossings with the ellipsoid about the origin that has these semi-axes."""
    a, b = (Vec(u.x / x, u.y / y, u.z / z) for u in (p, v))
    return quadratic(a, b)


def _plane(size: Vec, p: Vec, v: Vec, ahead: Array) -> Hit:
    """The upper side of a plane; sizes bound it unless they are zero."""
    down = v.z <= -MINVAL
    t = -p.z / jnp.where(down, v.z, 1)
    inside = [
        (half <= 0) | (jnp.abs(at + t * by) <= half)
        for half, at, by in ((size.x, p.x, v.x), (size.y, p.y, v.y))
    ]
    return _first([(t, down & inside[0] & inside[1], Feature.PLANE)], ahead)


def _both(crossing: Quadratic, near: Feature, far: Feature) -> list[_Crossing]:
    return [(crossing.near, crossing.some, near), (crossing.far, crossing.some, far)]


def _sphere(size: Vec, p: Vec, v: Vec, ahead: Array) -> Hit:
    crossing = _round(p, v, size.x, size.x, size.x)
    return _first(_both(crossing, Feature.SPHERE, Feature.SPHERE_FAR), ahead)


def _ellipsoid(size: Vec, p: Vec, v: Vec, ahead: Array) -> Hit:
    crossing = _round(p, v, *size)
    return _first(_both(crossing, Feature.ELLIPSOID, Feature.ELLIPSOID_FAR), ahead)


def _tube(size: Vec, p: Vec, v: Vec) -> list[_Crossing]:
    """The round side of a cylinder or capsule, between its ends."""
    crossing = _round(p, v, size.x, size.x, jnp.inf)
    return [
        (t, crossing.some & (jnp.abs(p.z + t * v.z) <= size.y), name)
        for t, name in ((crossing.near, Feature.SIDE), (crossing.far, Feature.SIDE_FAR))
    ]


def _capsule(size: Vec, p: Vec, v: Vec, ahead: Array) -> Hit:
    """The round side, and of each cap the half that stands out."""
    crossings = _tube(size, p, v)
    caps = ((-1, Feature.CAP_ZN, Feature.CAP_ZN_FAR), (1, Feature.CAP_ZP, Feature.CAP_ZP_FAR))
    for side, near, far in caps:
        centre = Vec(p.x, p.y, p.z - side * size.y)
        crossing = _round(centre, v, size.x, size.x, size.x)
        crossings += [
            (t, some & (side * (p.z + t * v.z) >= size.y), name)
            for t, some, name in _both(crossing, near, far)
        ]
    return _first(crossings, ahead)


def _cylinder(size: Vec, p: Vec, v: Vec, ahead: Array) -> Hit:
    crossings = _tube(size, p, v)
    crosses = jnp.abs(v.z) > MINVAL
    for side, name in ((-1, Feature.END_ZN), (1, Feature.END_ZP)):
        t = (side * size.y - p.z) / jnp.where(crosses, v.z, 1)
        x, y = p.x + t * v.x, p.y + t * v.y
        crossings.append((t, crosses & (x * x + y * y <= size.x * size.x), name))
    return _first(crossings, ahead)


_FACES = (
    (Feature.FACE_XN, Feature.FACE_XP),
    (Feature.FACE_YN, Feature.FACE_YP),
    (Feature.FACE_ZN, Feature.FACE_ZP),
)


def _box(size: Vec, p: Vec, v: Vec, ahead: Array) -> Hit:
    """A box is the intersection of three slabs; the ray is in it from the last entry to the first exit."""
    enter, leave = jnp.full((), -jnp.inf), jnp.full((), jnp.inf)
    first, last = (jnp.zeros((), jnp.int32) for _ in range(2))
    for half, at, by, (low, high) in zip(size, p, v, _FACES, strict=True):
        crosses = jnp.abs(by) > MINVAL
        inside = jnp.abs(at) <= half
        to_low, to_high = ((edge - at) / jnp.where(crosses, by, 1) for edge in (-half, half))
        forward = by > 0
        t0 = jnp.where(crosses, jnp.minimum(to_low, to_high), jnp.where(inside, -jnp.inf, jnp.inf))
        t1 = jnp.where(crosses, jnp.maximum(to_low, to_high), jnp.where(inside, jnp.inf, -jnp.inf))
        first = jnp.where(t0 > enter, jnp.where(forward, int(low), int(high)), first)
        last = jnp.where(t1 < leave, jnp.where(forward, int(high), int(low)), last)
        enter, leave = jnp.maximum(enter, t0), jnp.minimum(leave, t1)
    outside = enter >= ahead
    t = jnp.where(outside, enter, leave)
    hit = (enter <= leave) & (t >= ahead) & jnp.isfinite(t)
    return Hit(jnp.where(hit, t, jnp.inf), jnp.where(outside, first, last))


PRIMITIVES: dict[GeomType, Callable[[Vec, Vec, Vec, Array], Hit]] = {
    GeomType.PLANE: _plane,
    GeomType.SPHERE: _sphere,
    GeomType.CAPSULE: _capsule,
    GeomType.ELLIPSOID: _ellipsoid,
    GeomType.CYLINDER: _cylinder,
    GeomType.BOX: _box,
}
"""`(size, origin, direction, ahead) -> Hit`: parameters below `ahead` are behind the ray's origin."""
