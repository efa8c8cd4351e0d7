"""Capsule against capsule: the nearest points of two segments."""

from __future__ import annotations

import jax.numpy as jnp
from jax import Array, lax

from jaxsim.collision.ball import across_axes, two_balls
from jaxsim.collision.points import Points, Shape, stack_points
from jaxsim.enums import GeomType
from jaxsim.math import safe
from jaxsim.math.stage import long_stage
from jaxsim.structure.colliders import collider

__all__ = ["PARALLEL", "capsule_capsule"]

PARALLEL = 1e-8
"""Squared sine of the angle below which two capsules are parallel and touch in two points."""


@collider(GeomType.CAPSULE, GeomType.CAPSULE, points=2, usual=1, exhaustive=256)
@long_stage
def capsule_capsule(geom1: Shape, geom2: Shape, margin: Array) -> Points:
    """Capsule against capsule: one point, or two where the axes are parallel.

    With segment points p1 = c1 + x1 a1 and p2 = c2 + x2 a2, x in [-1, 1], |p1 - p2|^2 is the quadratic form
    ma x1^2 + mc x2^2 + 2 mb x1 x2 - 2 u x1 - 2 v x2 + const. Parallel axes have no unique nearest points: there the
    two points are the ends of the stretch on which the segments run beside each other.
    """
    del margin
    a, b = geom1.apart(), geom2.apart()
    axis1, axis2 = a.axes.z * a.size.y, b.axes.z * b.size.y
    dif = a.pos - b.pos
    ma, mb, mc = axis1.dot(axis1), -axis1.dot(axis2), axis2.dot(axis2)
    u, v = -axis1.dot(dif), axis2.dot(dif)
    across = axis1.cross(axis2)
    det, square = across.dot(across), ma * mc
    parallel = det < PARALLEL * square
    inverse = 1.0 / jnp.where(parallel, 1.0, det)
    x1, x2 = (mc * u - mb * v) * inverse, (ma * v - mb * u) * inverse
    # in float32 the nearest points of nearly parallel axes are ill-conditioned; their distance is stationary in x
    loose = det < jnp.sqrt(jnp.finfo(det.dtype).eps) * square
    x1, x2 = (jnp.where(loose, lax.stop_gradient(w), w) for w in (x1, x2))
    # between the ends what separates them is across both axes, also where these meet at a small angle
    between = ~parallel & (jnp.abs(x1) <= 1) & (jnp.abs(x2) <= 1)
    apart = across * (-across.dot(dif) * inverse)

    ima, imc = 1.0 / ma, 1.0 / mc
    past, before = (u - mb) * ima, (u + mb) * ima
    x2 = jnp.where(x1 > 1, (v - mb) * imc, jnp.where(x1 < -1, (v + mb) * imc, x2))
    x1 = safe.clamp(jnp.where(x2 > 1, past, jnp.where(x2 < -1, before, x1)), -1, 1)
    x2 = safe.clamp(x2, -1, 1)

    same = past > before
    side = jnp.where(same, 1.0, -1.0).astype(u.dtype)
    ends = []
    for x, y in ((jnp.where(same, before, past), -side), (jnp.where(same, past, before), side)):
        s = safe.clamp(x, -1, 1)
        ends.append((s, jnp.where(jnp.abs(x) > 1, safe.clamp((v - mb * s) * imc, -1, 1), y)))
    first = (jnp.where(parallel, end, x) for end, x in zip(ends[0], (x1, x2), strict=True))
    fallback = across_axes(a, b)
    points = []
    for (s, t), valid in ((first, jnp.ones_like(parallel)), (ends[1], parallel)):
        p1, p2 = a.pos + axis1 * s, b.pos + axis2 * t
        point = two_balls(p1, a.size.x, (p1 + apart).where(between, p2), b.size.x, fallback)
        points.append(point._replace(valid=valid))
    return stack_points(points)
