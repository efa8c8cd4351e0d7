"""Signed distances from points to primitive geoms, negative inside, in the geom's frame.

Exact but for ellipsoids, where it is the first-order estimate, and for the inside of boxes, where the field is smooth
along the edges. Formulas: I. Quilez, Distance functions (iquilezles.org/articles/distfunctions).
"""

from __future__ import annotations

from collections.abc import Callable

import jax.numpy as jnp
from jax import Array

from jaxsim.collision.vec import Vec
from jaxsim.enums import GeomType
from jaxsim.math import safe

__all__ = ["DISTANCES"]


def _length(*parts: Array) -> Array:
    return safe.sqrt(sum((p * p for p in parts[1:]), parts[0] * parts[0]))


def _plane(size: Vec, x: Vec) -> Array:
    return x.z


def _sphere(size: Vec, x: Vec) -> Array:
    return _length(*x) - size.x


def _capsule(size: Vec, x: Vec) -> Array:
    return _length(x.x, x.y, x.z - jnp.clip(x.z, -size.y, size.y)) - size.x


def _ellipsoid(size: Vec, x: Vec) -> Array:
    once = [p / s for p, s in zip(x, size, strict=True)]
    twice = [p / s for p, s in zip(once, size, strict=True)]
    k = _length(*once)
    slope = _length(*twice)
    least = jnp.minimum(size.x, jnp.minimum(size.y, size.z))
    return jnp.where(slope == 0, -least, safe.divide(k * (k - 1), slope))


def _cylinder(size: Vec, x: Vec) -> Array:
    side, end = _length(x.x, x.y) - size.x, jnp.abs(x.z) - size.y
    return jnp.minimum(jnp.maximum(side, end), 0) + _length(jnp.maximum(side, 0), jnp.maximum(end, 0))


def _box(size: Vec, x: Vec) -> Array:
    """Inside, the way to the surface along a direction that turns from the centre's to the faces' normals."""
    beyond = [jnp.abs(p) - s for p, s in zip(x, size, strict=True)]
    inside = jnp.maximum(beyond[0], jnp.maximum(beyond[1], beyond[2])) < 0
    depth = [jnp.where(inside, -b, 1) for b in beyond]
    steep = _length(*(s / d for s, d in zip(size, depth, strict=True)))
    along = [d * d / s for d, s in zip(depth, size, strict=True)]
    inner = -jnp.minimum(along[0], jnp.minimum(along[1], along[2])) * steep
    return jnp.where(inside, inner, _length(*(jnp.maximum(b, 0) for b in beyond)))


DISTANCES: dict[GeomType, Callable[[Vec, Vec], Array]] = {
    GeomType.PLANE: _plane,
    GeomType.SPHERE: _sphere,
    GeomType.CAPSULE: _capsule,
    GeomType.ELLIPSOID: _ellipsoid,
    GeomType.CYLINDER: _cylinder,
    GeomType.BOX: _box,
}
"""`(size, point) -> distance`, by components of any shapes that broadcast."""
