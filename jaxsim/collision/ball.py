"""What two balls, or a ball and a box, touch in: the last step of colliders that found a point of a segment."""

from __future__ import annotations

import jax.numpy as jnp
from jax import Array

from jaxsim.collision.points import Placed, Points
from jaxsim.collision.vec import Vec, fallback_unit, unit
from jaxsim.math import safe
from jaxsim.math.constants import MINVAL
from jaxsim.math.whole import quotient, remainder

__all__ = ["across_axes", "ball_box", "two_balls"]


def two_balls(p1: Vec, r1: Array, p2: Vec, r2: Array, fallback: Vec) -> Points:
    """Single point between two spheres; `fallback` is the normal where the centres coincide, but for rounding."""
    # nearest points of capsules that meet at a small angle, as at a joint, are this uncertain
    rounding = 4096 * jnp.finfo(p1.x.dtype).eps * (r1 + r2)
    normal, length = unit(p2 - p1, fallback, jnp.maximum(MINVAL, rounding))
    dist = length - r1 - r2
    return Points(dist, p1 + normal * (r1 + 0.5 * dist), normal)


def ball_box(centre: Vec, radius: Array, box: Placed) -> Points:
    """Single point between a sphere and a box.

    A centre outside the box touches the nearest point of the surface; one inside is pushed out of the nearest face.
    """
    c = box.axes.to_local(centre - box.pos)
    size = box.size
    clamped = Vec(*(safe.clamp(p, -s, s) for p, s in zip(c, size, strict=True)))
    away = clamped - c
    inside = away.dot(away) <= MINVAL * MINVAL

    # depth below the faces -x, +x, -y, ...; of equal ones the first is taken
    faces = [s + sign * p for p, s in zip(c, size, strict=True) for sign in (1.0, -1.0)]
    depth, face = faces[0], jnp.zeros(faces[0].shape, jnp.int32)
    for k in range(1, 6):
        nearer = faces[k] < depth
        depth, face = jnp.where(nearer, faces[k], depth), jnp.where(nearer, k, face)
    sign = jnp.where(remainder(face, 2) == 0, 1.0, -1.0).astype(depth.dtype)
    inward = Vec(*(jnp.where(quotient(face, 2) == k, sign, 0.0) for k in range(3)))

    normal, length = unit(away, inward)
    length = jnp.where(inside, -depth, length)
    pos = c + normal * (radius + 0.5 * (length - radius))
    return Points(length - radius, box.axes.to_world(pos) + box.pos, box.axes.to_world(normal))


def across_axes(a: Placed, b: Placed) -> Vec:
    """Normal where two centres coincide: across both z axes, or (1, 0, 0)."""
    return fallback_unit(a.axes.z.stop().cross(b.axes.z.stop()))
