"""Cylinders and ellipsoids where the nearest points have a closed form.

Normals point from geom 1 to geom 2, positions lie midway between the surfaces; which points a cylinder lying or
standing on a plane touches with follows the C engine.
"""

from __future__ import annotations

import jax.numpy as jnp
from jax import Array, lax

from jaxsim.collision.points import Points, Shape, stack_points
from jaxsim.collision.primitives import axis_fallback, spheres
from jaxsim.collision.vec import TINY, Vec
from jaxsim.math.stage import stage

__all__ = ["plane_cylinder", "plane_ellipsoid", "sphere_cylinder"]


@stage
def plane_cylinder(plane: Shape, cylinder: Shape, margin: Array) -> Points:
    """Plane against cylinder: the lowest point of each rim, and two more that span a triangle on the lower disk.

    In the cylinder's frame the radius to the lowest point is -(n_x, n_y), normalised; a disk parallel to the plane
    has no lowest point and takes the x axis. Near that state the direction, which rounding decides, turns with the
    body: the distance stays exact, as it is stationary in the place on the rim.
    """
    del margin
    radius, half = cylinder.size.x, cylinder.size.y
    normal = plane.axes.z
    height = (cylinder.pos - plane.pos).dot(normal)
    n = cylinder.axes.to_local(normal)
    square = n.x * n.x + n.y * n.y
    tilted = square >= TINY * TINY
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


def plane_ellipsoid(plane: Shape, ellipsoid: Shape, margin: Array) -> Points:
    """Plane against ellipsoid: one point, the support point in direction -n, -s^2 n / |s n| in the local frame."""
    del margin
    normal = plane.axes.z
    n = ellipsoid.axes.to_local(normal)
    scaled = Vec(*(s * c for s, c in zip(ellipsoid.size, n, strict=True)))
    reach = jnp.sqrt(scaled.dot(scaled))
    inverse = -1.0 / reach
    local = Vec(*(s * c * inverse for s, c in zip(ellipsoid.size, scaled, strict=True)))
    dist = (ellipsoid.pos - plane.pos).dot(normal) - reach
    pos = ellipsoid.pos + ellipsoid.axes.to_world(local) - normal * (0.5 * dist)
    return stack_points([Points(dist, pos, normal)])


@stage
def sphere_cylinder(sphere: Shape, cylinder: Shape, margin: Array) -> Points:
    """Sphere against cylinder: one point on the side, on a cap or on a rim."""
    del margin
    radius, half, axis = cylinder.size.x, cylinder.size.y, cylinder.axes.z
    offset = sphere.pos - cylinder.pos
    x = axis.dot(offset)
    across = offset - axis * x
    square = across.dot(across)
    some = square > 0
    rho = jnp.where(some, jnp.sqrt(jnp.where(some, square, 1.0)), 0.0)
    beside, above = jnp.abs(x) < half, square < radius * radius
    inside = beside & above
    nearer_cap = half - jnp.abs(x) < radius - rho
    on_side = jnp.where(inside, ~nearer_cap, beside)
    on_cap = jnp.where(inside, nearer_cap, above & ~beside)

    up = jnp.where(x > 0, 1.0, -1.0).astype(x.dtype)
    rim = across * (radius / jnp.where(some, rho, 1.0)) + axis * (half * up)
    target = cylinder.pos + (axis * x).where(on_side, rim)
    round_part = spheres(
        sphere.pos, sphere.size.x, target, jnp.where(on_side, radius, 0.0), axis_fallback(sphere, cylinder)
    )
    cap_normal = axis * -up
    dist = jnp.abs(x) - half - sphere.size.x
    cap = Points(dist, sphere.pos + cap_normal * (sphere.size.x + 0.5 * dist), cap_normal)
    return stack_points(
        [
            Points(
                jnp.where(on_cap, cap.dist, round_part.dist),
                cap.pos.where(on_cap, round_part.pos),
                cap.normal.where(on_cap, round_part.normal),
            )
        ]
    )
