"""Planes against whatever has a lowest point in closed form.

Normals point from the plane up, positions lie midway between the surfaces. Which points a cylinder lying or standing
on a plane touches with follows the C engine. Source: reference text, computation chapter, collision detection.
"""

from __future__ import annotations

import jax.numpy as jnp
from jax import Array, lax

from jaxsim.collision.points import Placed, Points, Shape, stack_points
from jaxsim.collision.vec import Vec
from jaxsim.enums import GeomType
from jaxsim.math.constants import MINVAL
from jaxsim.math.stage import long_stage
from jaxsim.structure.colliders import collider

__all__ = ["plane_box", "plane_capsule", "plane_cylinder", "plane_ellipsoid", "plane_sphere"]


@collider(GeomType.PLANE, GeomType.SPHERE, points=1, exhaustive=1024)
def plane_sphere(geom1: Shape, geom2: Shape, margin: Array) -> Points:
    """Plane against sphere: one point."""
    del margin
    plane, sphere = geom1.apart(), geom2.apart()
    return stack_points([_plane_ball(plane, sphere.pos, sphere.size.x)])


@collider(GeomType.PLANE, GeomType.CAPSULE, points=2, exhaustive=1024)
def plane_capsule(geom1: Shape, geom2: Shape, margin: Array) -> Points:
    """Plane against capsule: one point an end, first tangent along the capsule."""
    del margin
    plane, capsule = geom1.apart(), geom2.apart()
    axis = capsule.axes.z
    half = axis * capsule.size.y
    ends = [_plane_ball(plane, end, capsule.size.x) for end in (capsule.pos + half, capsule.pos - half)]
    return stack_points([end._replace(tangent=axis) for end in ends])


@collider(GeomType.PLANE, GeomType.BOX, points=4, exhaustive=1024)
def plane_box(geom1: Shape, geom2: Shape, margin: Array) -> Points:
    """Plane against box: of each of the four pairs of opposite corners, the lower one."""
    del margin
    plane, box = geom1.apart(), geom2.apart()
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


@collider(GeomType.PLANE, GeomType.CYLINDER, points=4, exhaustive=1024)
@long_stage
def plane_cylinder(geom1: Shape, geom2: Shape, margin: Array) -> Points:
    """Plane against cylinder: the lowest point of each rim, and two more that span a triangle on the lower disk.

    In the cylinder's frame the radius to the lowest point is -(n_x, n_y), normalised; a disk parallel to the plane
    has no lowest point and takes the x axis. Near that state the direction, which rounding decides, turns with the
    body: the distance stays exact, as it is stationary in the place on the rim.
    """
    del margin
    plane, cylinder = geom1.apart(), geom2.apart()
    radius, half = cylinder.size.x, cylinder.size.y
    normal = plane.axes.z
    height = (cylinder.pos - plane.pos).dot(normal)
    n = cylinder.axes.to_local(normal)
    square = n.x * n.x + n.y * n.y
    tilted = square >= MINVAL * MINVAL
    inverse = 1.0 / jnp.sqrt(jnp.where(tilted, square, 1.0))
    level = square < jnp.finfo(square.dtype).eps
    c, s = jnp.where(tilted, -n.x * inverse, 1.0), jnp.where(tilted, -n.y * inverse, 0.0)
    c, s = (jnp.where(level, lax.stop_gradient(w), w) for w in (c, s))

    down = jnp.where(n.z > 0, -1.0, 1.0).astype(n.z.dtype)
    side = 0.5 * jnp.sqrt(jnp.asarray(3.0, n.z.dtype))
    places = (
        (c, s, down),
        (c, s, -down),
        (side * s - 0.5 * c, -side * c - 0.5 * s, down),
        (-side * s - 0.5 * c, side * c - 0.5 * s, down),
    )
    points = []
    for x, y, end in places:
        local = Vec(radius * x, radius * y, half * end)
        dist = height + n.dot(local)
        points.append(
            Points(dist, cylinder.pos + cylinder.axes.to_world(local) - normal * (0.5 * dist), normal)
        )
    return stack_points(points)


@collider(GeomType.PLANE, GeomType.ELLIPSOID, points=1, exhaustive=1024)
def plane_ellipsoid(geom1: Shape, geom2: Shape, margin: Array) -> Points:
    """Plane against ellipsoid: one point, the support point in direction -n, -s^2 n / |s n| in the local frame."""
    del margin
    plane, ellipsoid = geom1.apart(), geom2.apart()
    normal = plane.axes.z
    n = ellipsoid.axes.to_local(normal)
    scaled = Vec(*(s * c for s, c in zip(ellipsoid.size, n, strict=True)))
    reach = jnp.sqrt(scaled.dot(scaled))
    inverse = -1.0 / reach
    local = Vec(*(s * c * inverse for s, c in zip(ellipsoid.size, scaled, strict=True)))
    dist = (ellipsoid.pos - plane.pos).dot(normal) - reach
    pos = ellipsoid.pos + ellipsoid.axes.to_world(local) - normal * (0.5 * dist)
    return stack_points([Points(dist, pos, normal)])


def _plane_ball(plane: Placed, centre: Vec, radius: Array) -> Points:
    """Single point between a plane and a sphere."""
    normal = plane.axes.z
    dist = (centre - plane.pos).dot(normal) - radius
    return Points(dist, centre - normal * (radius + 0.5 * dist), normal)
