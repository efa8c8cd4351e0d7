"""Spheres against whatever has a nearest point in closed form.

Normals point from geom 1 to geom 2, positions lie midway between the surfaces. Source: reference text, computation
chapter, collision detection.
"""

from __future__ import annotations

import jax.numpy as jnp
from jax import Array

from jaxsim.collision.ball import across_axes, ball_box, two_balls
from jaxsim.collision.points import Points, Shape, stack_points
from jaxsim.enums import GeomType
from jaxsim.math import safe
from jaxsim.math.stage import long_stage
from jaxsim.structure.colliders import collider

__all__ = ["sphere_box", "sphere_capsule", "sphere_cylinder", "sphere_sphere"]


@collider(GeomType.SPHERE, GeomType.SPHERE, points=1, exhaustive=512)
def sphere_sphere(geom1: Shape, geom2: Shape, margin: Array) -> Points:
    """Sphere against sphere: one point."""
    del margin
    a, b = geom1.apart(), geom2.apart()
    return stack_points([two_balls(a.pos, a.size.x, b.pos, b.size.x, across_axes(a, b))])


@collider(GeomType.SPHERE, GeomType.CAPSULE, points=1, exhaustive=512)
def sphere_capsule(geom1: Shape, geom2: Shape, margin: Array) -> Points:
    """Sphere against the nearest sphere on the capsule's segment: one point."""
    del margin
    sphere, capsule = geom1.apart(), geom2.apart()
    axis, half = capsule.axes.z, capsule.size.y
    x = safe.clamp(axis.dot(sphere.pos - capsule.pos), -half, half)
    nearest = capsule.pos + axis * x
    return stack_points(
        [two_balls(sphere.pos, sphere.size.x, nearest, capsule.size.x, across_axes(sphere, capsule))]
    )


@collider(GeomType.SPHERE, GeomType.BOX, points=1, exhaustive=256)
def sphere_box(geom1: Shape, geom2: Shape, margin: Array) -> Points:
    """Sphere against box: one point."""
    del margin
    sphere, box = geom1.apart(), geom2.apart()
    return stack_points([ball_box(sphere.pos, sphere.size.x, box)])


@collider(GeomType.SPHERE, GeomType.CYLINDER, points=1, exhaustive=256)
@long_stage
def sphere_cylinder(geom1: Shape, geom2: Shape, margin: Array) -> Points:
    """Sphere against cylinder: one point on the side, on a cap or on a rim."""
    del margin
    sphere, cylinder = geom1.apart(), geom2.apart()
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
    round_part = two_balls(
        sphere.pos, sphere.size.x, target, jnp.where(on_side, radius, 0.0), across_axes(sphere, cylinder)
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
