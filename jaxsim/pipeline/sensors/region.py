"""Volumes of sites: is a point inside, does a ray meet it."""

from __future__ import annotations

import jax.numpy as jnp
from jax import Array

from jaxsim.enums import GeomType, ObjType, SensorType
from jaxsim.math.constants import MINVAL
from jaxsim.math.safe import divide, sqrt
from jaxsim.model import Model

__all__ = ["contains", "meets", "refusal"]

_NO_SUCH_SITE = "sites have no type {}; give sphere, capsule, ellipsoid, cylinder or box"


def refusal(m: Model, sensor: int) -> str:
    """What of the site whose volume a sensor asks about is not known; empty: nothing."""
    if m.sensor_type[sensor] == SensorType.INSIDESITE:
        site = m.sensor_refid[sensor]
    elif m.sensor_objtype[sensor] == ObjType.SITE:
        site = m.sensor_objid[sensor]
    else:
        return ""
    kind = GeomType(int(m.site_type[site]))
    return f"the volume of a site of type {kind.name.lower()}" * (kind in (GeomType.MESH, GeomType.SDF))


def contains(kind: int, size: Array, p: Array) -> Array:
    """Whether points p (n, 3, W) in site frames lie strictly inside sites of one type and sizes (n, 3, W)."""
    x, y, z = p[:, 0], p[:, 1], p[:, 2]
    a, b, c = size[:, 0], size[:, 1], size[:, 2]
    if kind == GeomType.SPHERE:
        return x * x + y * y + z * z < a * a
    if kind == GeomType.CAPSULE:
        beyond = z - jnp.clip(z, -b, b)
        return x * x + y * y + beyond * beyond < a * a
    if kind == GeomType.ELLIPSOID:
        return (x / a) ** 2 + (y / b) ** 2 + (z / c) ** 2 < 1
    if kind == GeomType.CYLINDER:
        return (jnp.abs(z) < b) & (x * x + y * y < a * a)
    if kind == GeomType.BOX:
        return (jnp.abs(x) < a) & (jnp.abs(y) < b) & (jnp.abs(z) < c)
    raise ValueError(_NO_SUCH_SITE.format(GeomType(kind).name.lower()))


def meets(kind: int, size: Array, p: Array, v: Array) -> Array:
    """Whether rays from p along v (n, 3, W), in site frames, meet sites of one type and sizes (n, 3, W).

    Each volume is an intersection or union of convex sets that a line meets in an interval; a ray meets the volume if
    an interval reaches its origin or beyond.
    """
    a, b, c = size[:, 0], size[:, 1], size[:, 2]
    if kind == GeomType.SPHERE:
        return _ahead(_ball(p, v, a * a))
    if kind == GeomType.ELLIPSOID:
        return _ahead(_ball(p / size, v / size, jnp.ones_like(a)))
    if kind == GeomType.CYLINDER:
        return _ahead(_both(_ball(p[:, :2], v[:, :2], a * a), _slab(p[:, 2], v[:, 2], b)))
    if kind == GeomType.CAPSULE:
        side = _ahead(_both(_ball(p[:, :2], v[:, :2], a * a), _slab(p[:, 2], v[:, 2], b)))
        lift = jnp.stack([jnp.zeros_like(b), jnp.zeros_like(b), b], axis=1)
        return side | _ahead(_ball(p - lift, v, a * a)) | _ahead(_ball(p + lift, v, a * a))
    if kind == GeomType.BOX:
        x, y, z = (_slab(p[:, k], v[:, k], s) for k, s in enumerate((a, b, c)))
        return _ahead(_both(_both(x, y), z))
    raise ValueError(_NO_SUCH_SITE.format(GeomType(kind).name.lower()))


_Interval = tuple[Array, Array]


def _ahead(t: _Interval) -> Array:
    return (t[0] <= t[1]) & (t[1] >= 0)


def _both(s: _Interval, t: _Interval) -> _Interval:
    return jnp.maximum(s[0], t[0]), jnp.minimum(s[1], t[1])


def _ball(p: Array, v: Array, square: Array) -> _Interval:
    """Where p + t v is within a ball, in two or three dimensions."""
    aa, ab, bb = jnp.sum(v * v, axis=1), jnp.sum(p * v, axis=1), jnp.sum(p * p, axis=1) - square
    inside, moving = bb <= 0, aa > MINVAL
    determinant = ab * ab - aa * bb
    root, some = sqrt(determinant), determinant >= 0
    low = jnp.where(
        moving, jnp.where(some, divide(-ab - root, aa), jnp.inf), jnp.where(inside, -jnp.inf, jnp.inf)
    )
    high = jnp.where(
        moving, jnp.where(some, divide(-ab + root, aa), -jnp.inf), jnp.where(inside, jnp.inf, -jnp.inf)
    )
    return low, high


def _slab(x: Array, v: Array, half: Array) -> _Interval:
    """Where x + t v is between -half and half."""
    inside, moving = jnp.abs(x) <= half, jnp.abs(v) > MINVAL
    s, t = divide(-half - x, v), divide(half - x, v)
    low = jnp.where(moving, jnp.minimum(s, t), jnp.where(inside, -jnp.inf, jnp.inf))
    high = jnp.where(moving, jnp.maximum(s, t), jnp.where(inside, jnp.inf, -jnp.inf))
    return low, high
