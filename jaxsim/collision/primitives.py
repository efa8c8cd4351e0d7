"""Planes, spheres and capsules against each other, and planes and spheres against boxes.

All in closed form. Normals point from geom 1 to geom 2, positions lie midway between the surfaces. Source: reference
text, computation chapter, collision detection; conventions are the C engine's.
"""

from __future__ import annotations

import jax.numpy as jnp
from jax import Array, lax

from jaxsim.collision.points import Points, Shape, stack_points
from jaxsim.collision.vec import TINY, Vec, fallback_unit, unit
from jaxsim.math.stage import stage

__all__ = [
    "PARALLEL",
    "axis_fallback",
    "capsule_capsule",
    "plane_box",
    "plane_capsule",
    "plane_sphere",
    "sphere_box",
    "sphere_capsule",
    "sphere_point_box",
    "sphere_sphere",
    "spheres",
]


PARALLEL = 1e-8
"""Squared sine of the angle below which two capsules are parallel and touch in two points."""


def plane_sphere(plane: Shape, sphere: Shape, margin: Array) -> Points:
    """Plane against sphere: one point."""
    del margin
    return stack_points([_plane_ball(plane, sphere.pos, sphere.size.x)])


def plane_capsule(plane: Shape, capsule: Shape, margin: Array) -> Points:
    """Plane against capsule: one point an end, first tangent along the capsule."""
    del margin
    axis = capsule.axes.z
    half = axis * capsule.size.y
    ends = [_plane_ball(plane, end, capsule.size.x) for end in (capsule.pos + half, capsule.pos - half)]
    return stack_points([end._replace(tangent=axis) for end in ends])


def plane_box(plane: Shape, box: Shape, margin: Array) -> Points:
    """Plane against box: of each of the four pairs of opposite corners, the lower one."""
    del margin
    normal = plane.axes.z
    height = (box.pos - plane.pos).dot(normal)
    local = box.axes.to_local(normal)
    extent = Vec(local.x * box.size.x, local.y * box.size.y, local.z * box.size.z)
    points = []
    for sx, sy in ((-1, -1), (1, -1), (-1, 1), (1, 1)):
        drop = sx * extent.x + sy * extent.y - extent.z
        flip = jnp.where(drop > 0, -1.0, 1.0).astype(drop.dtype)
        corner = Vec(box.size.x * (sx * flip), box.size.y * (sy * flip), -box.size.z * flip)
        dist = height + drop * flip
        points.append(Points(dist, box.pos + box.axes.to_world(corner) - normal * (0.5 * dist), normal))
    return stack_points(points)


def sphere_sphere(a: Shape, b: Shape, margin: Array) -> Points:
    """Sphere against sphere: one point."""
    del margin
    return stack_points([spheres(a.pos, a.size.x, b.pos, b.size.x, axis_fallback(a, b))])


def sphere_capsule(sphere: Shape, capsule: Shape, margin: Array) -> Points:
    """Sphere against the nearest sphere on the capsule's segment: one point."""
    del margin
    axis, half = capsule.axes.z, capsule.size.y
    x = jnp.clip(axis.dot(sphere.pos - capsule.pos), -half, half)
    nearest = capsule.pos + axis * x
    return stack_points(
        [spheres(sphere.pos, sphere.size.x, nearest, capsule.size.x, axis_fallback(sphere, capsule))]
    )


def sphere_box(sphere: Shape, box: Shape, margin: Array) -> Points:
    """Sphere against box: one point."""
    del margin
    return stack_points([sphere_point_box(sphere.pos, sphere.size.x, box)])


@stage
def capsule_capsule(a: Shape, b: Shape, margin: Array) -> Points:
    """Capsule against capsule: one point, or two where the axes are parallel.

    With segment points p1 = c1 + x1 a1 and p2 = c2 + x2 a2, x in [-1, 1], |p1 - p2|^2 is the quadratic form
    ma x1^2 + mc x2^2 + 2 mb x1 x2 - 2 u x1 - 2 v x2 + const. Parallel axes have no unique nearest points: there the
    two points are the ends of the stretch on which the segments run beside each other.
    """
    del margin
    axis1, axis2 = a.axes.z * a.size.y, b.axes.z * b.size.y
    dif = a.pos - b.pos
    ma, mb, mc = axis1.dot(axis1), -axis1.dot(axis2), axis2.dot(axis2)
    u, v = -axis1.dot(dif), axis2.dot(dif)
    normal = axis1.cross(axis2)
    det, square = normal.dot(normal), ma * mc
    parallel = det < PARALLEL * square
    inverse = 1.0 / jnp.where(parallel, 1.0, det)
    x1, x2 = (mc * u - mb * v) * inverse, (ma * v - mb * u) * inverse
    # in float32 the nearest points of nearly parallel axes are ill-conditioned; their distance is stationary in x
    loose = det < jnp.sqrt(jnp.finfo(det.dtype).eps) * square
    x1, x2 = (jnp.where(loose, lax.stop_gradient(w), w) for w in (x1, x2))

    ima, imc = 1.0 / ma, 1.0 / mc
    past, before = (u - mb) * ima, (u + mb) * ima
    x2 = jnp.where(x1 > 1, (v - mb) * imc, jnp.where(x1 < -1, (v + mb) * imc, x2))
    x1 = jnp.clip(jnp.where(x2 > 1, past, jnp.where(x2 < -1, before, x1)), -1, 1)
    x2 = jnp.clip(x2, -1, 1)

    same = past > before
    side = jnp.where(same, 1.0, -1.0).astype(u.dtype)
    ends = []
    for x, y in ((jnp.where(same, before, past), -side), (jnp.where(same, past, before), side)):
        s = jnp.clip(x, -1, 1)
        ends.append((s, jnp.where(jnp.abs(x) > 1, jnp.clip((v - mb * s) * imc, -1, 1), y)))
    first = (jnp.where(parallel, end, x) for end, x in zip(ends[0], (x1, x2), strict=True))
    fallback = axis_fallback(a, b)
    points = []
    for (s, t), valid in ((first, jnp.ones_like(parallel)), (ends[1], parallel)):
        point = spheres(a.pos + axis1 * s, a.size.x, b.pos + axis2 * t, b.size.x, fallback)
        points.append(point._replace(valid=valid))
    return stack_points(points)


def spheres(p1: Vec, r1: Array, p2: Vec, r2: Array, fallback: Vec) -> Points:
    """Single point between two spheres; `fallback` is the normal where the centres coincide, but for rounding."""
    # nearest points of capsules that meet at a small angle, as at a joint, are this uncertain
    rounding = 4096 * jnp.finfo(p1.x.dtype).eps * (r1 + r2)
    normal, length = unit(p2 - p1, fallback, jnp.maximum(TINY, rounding))
    dist = length - r1 - r2
    return Points(dist, p1 + normal * (r1 + 0.5 * dist), normal)


def sphere_point_box(centre: Vec, radius: Array, box: Shape) -> Points:
    """Single point between a sphere and a box.

    A centre outside the box touches the nearest point of the surface; one inside is pushed out of the nearest face.
    """
    c = box.axes.to_local(centre - box.pos)
    size = box.size
    clamped = Vec(*(jnp.clip(p, -s, s) for p, s in zip(c, size, strict=True)))
    away = clamped - c
    inside = away.dot(away) <= TINY * TINY

    # depth below the faces -x, +x, -y, ...; of equal ones the first is taken
    faces = [s + sign * p for p, s in zip(c, size, strict=True) for sign in (1.0, -1.0)]
    depth, face = faces[0], jnp.zeros(faces[0].shape, jnp.int32)
    for k in range(1, 6):
        nearer = faces[k] < depth
        depth, face = jnp.where(nearer, faces[k], depth), jnp.where(nearer, k, face)
    sign = jnp.where(face % 2 == 0, 1.0, -1.0).astype(depth.dtype)
    inward = Vec(*(jnp.where(face // 2 == k, sign, 0.0) for k in range(3)))

    normal, length = unit(away, inward)
    length = jnp.where(inside, -depth, length)
    pos = c + normal * (radius + 0.5 * (length - radius))
    return Points(length - radius, box.axes.to_world(pos) + box.pos, box.axes.to_world(normal))


def _plane_ball(plane: Shape, centre: Vec, radius: Array) -> Points:
    """Single point between a plane and a sphere."""
    normal = plane.axes.z
    dist = (centre - plane.pos).dot(normal) - radius
    return Points(dist, centre - normal * (radius + 0.5 * dist), normal)


def axis_fallback(a: Shape, b: Shape) -> Vec:
    """Normal where two centres coincide: across both z axes, or (1, 0, 0)."""
    return fallback_unit(a.axes.z.stop().cross(b.axes.z.stop()))
