"""Planes, spheres and capsules against each other, and planes and spheres against boxes.

All in closed form. Normals point from geom 1 to geom 2, positions lie midway between the surfaces. Source: reference
text, computation chapter, collision detection; conventions are the C engine's.
"""

from __future__ import annotations

import jax.numpy as jnp
from jax import Array, lax

from jaxsim.collision.points import Points, Shape, stack_points
from jaxsim.collision.vec import TINY, Vec, fallback_unit, unit

__all__ = [
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
    return stack_points([spheres(a.pos, a.size.x, b.pos, b.size.x, _axis_fallback(a, b))])


def sphere_capsule(sphere: Shape, capsule: Shape, margin: Array) -> Points:
    """Sphere against the nearest sphere on the capsule's segment: one point."""
    del margin
    axis, half = capsule.axes.z, capsule.size.y
    x = jnp.clip(axis.dot(sphere.pos - capsule.pos), -half, half)
    nearest = capsule.pos + axis * x
    return stack_points(
        [spheres(sphere.pos, sphere.size.x, nearest, capsule.size.x, _axis_fallback(sphere, capsule))]
    )


def sphere_box(sphere: Shape, box: Shape, margin: Array) -> Points:
    """Sphere against box: one point."""
    del margin
    return stack_points([sphere_point_box(sphere.pos, sphere.size.x, box)])


def capsule_capsule(a: Shape, b: Shape, margin: Array) -> Points:
    """Capsule against capsule: one point, or up to two where the axes are parallel.

    With segment points p1 = c1 + x1 a1 and p2 = c2 + x2 a2, x in [-1, 1], |p1 - p2|^2 is the quadratic form
    ma x1^2 + mc x2^2 + 2 mb x1 x2 - 2 u x1 - 2 v x2 + const. Parallel axes have no unique nearest points: the
    four ends are tried in turn and the first two within reach are taken.
    """
    axis1, axis2 = a.axes.z * a.size.y, b.axes.z * b.size.y
    dif = a.pos - b.pos
    ma, mb, mc = axis1.dot(axis1), -axis1.dot(axis2), axis2.dot(axis2)
    u, v = -axis1.dot(dif), axis2.dot(dif)
    normal = axis1.cross(axis2)
    det = normal.dot(normal)
    # sine of the angle below which rounding of the axes decides: relevant in float32
    noise = 8.0 * jnp.finfo(det.dtype).eps
    parallel = det < jnp.maximum(TINY, noise * noise * ma * mc)
    inverse = 1.0 / jnp.where(parallel, 1.0, det)

    x1, x2 = (mc * u - mb * v) * inverse, (ma * v - mb * u) * inverse
    ima, imc = 1.0 / ma, 1.0 / mc
    x2 = jnp.where(x1 > 1, (v - mb) * imc, jnp.where(x1 < -1, (v + mb) * imc, x2))
    x1 = jnp.where(
        x2 > 1,
        jnp.clip((u - mb) * ima, -1, 1),
        jnp.where(x2 < -1, jnp.clip((u + mb) * ima, -1, 1), jnp.clip(x1, -1, 1)),
    )
    x2 = jnp.clip(x2, -1, 1)

    reach = margin + a.size.x + b.size.x
    const = dif.dot(dif) - reach * reach
    one = jnp.ones_like(u)
    ends = [
        (one, jnp.clip((v - mb) * imc, -1, 1)),
        (-one, jnp.clip((v + mb) * imc, -1, 1)),
        (jnp.clip((u - mb) * ima, -1, 1), one),
        (jnp.clip((u + mb) * ima, -1, 1), -one),
    ]
    near = [
        (ma * s * s + mc * t * t + 2.0 * (mb * s * t - u * s - v * t) + const) <= 0 for s, t in ends
    ]
    # the first two ends within reach
    first = _choose(near[:3], ends)
    after = [near[1] & near[0], near[2] & (near[0] ^ near[1])]
    second = _choose(after, ends[1:])
    count = sum(n.astype(jnp.int32) for n in near)

    # the nearest points of nearly parallel axes are ill-conditioned, their distance is not: it is stationary there
    loose = det < jnp.sqrt(jnp.finfo(det.dtype).eps) * ma * mc
    x1, x2 = (jnp.where(loose, lax.stop_gradient(w), w) for w in (x1, x2))
    x1, x2 = jnp.where(parallel, first[0], x1), jnp.where(parallel, first[1], x2)
    fallback = _axis_fallback(a, b)
    points = []
    for s, t, valid in ((x1, x2, ~parallel | (count > 0)), (*second, parallel & (count > 1))):
        point = spheres(a.pos + axis1 * s, a.size.x, b.pos + axis2 * t, b.size.x, fallback)
        points.append(point._replace(valid=valid))
    return stack_points(points)


def spheres(p1: Vec, r1: Array, p2: Vec, r2: Array, fallback: Vec) -> Points:
    """Single point between two spheres; `fallback` is the normal where the centres coincide."""
    normal, length = unit(p2 - p1, fallback)
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


def _axis_fallback(a: Shape, b: Shape) -> Vec:
    """Normal where two centres coincide: across both z axes, or (1, 0, 0)."""
    return fallback_unit(a.axes.z.stop().cross(b.axes.z.stop()))


def _choose(flags: list[Array], options: list[tuple[Array, ...]]) -> tuple[Array, ...]:
    """The first option whose flag is set; the last option has no flag and is taken otherwise."""
    chosen = options[-1]
    for flag, option in zip(reversed(flags), reversed(options[: len(flags)]), strict=True):
        chosen = tuple(jnp.where(flag, a, b) for a, b in zip(option, chosen, strict=True))
    return chosen
