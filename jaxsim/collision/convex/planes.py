"""Triangles of a polytope: their planes, and their numbers.

Faces are numbered by their three vertices, counter-clockwise from outside, eight bits each.
"""

from __future__ import annotations

import jax.numpy as jnp
from jax import Array

from jaxsim.collision.vec import Vec
from jaxsim.math.stage import stage

__all__ = ["FAR", "corners_of_face", "face_of", "plane"]

FAR = 1e30
"""Distance of a face that is never taken, m."""


def face_of(i: Array | int, j: Array | int, k: Array | int) -> Array:
    """The number of a face with corners of some numbers."""
    return jnp.asarray(i | (j << 8) | (k << 16), jnp.int32)


def corners_of_face(face: Array) -> tuple[Array, Array, Array]:
    """Numbers of the corners of faces; of what is no face, of the first one."""
    face = jnp.maximum(face, 0)
    return face & 255, (face >> 8) & 255, (face >> 16) & 255


@stage
def plane(a: Vec, b: Vec, c: Vec) -> tuple[Vec, Array]:
    """Unit normal of a triangle, counter-clockwise from where it points, and its distance from the origin.

    Without an area the normal is 0 and the distance `FAR`.
    """
    u, v = b - a, c - a
    normal = u.cross(v)
    area = normal.dot(normal)
    some = area > (8 * float(jnp.finfo(area.dtype).eps)) ** 2 * u.dot(u) * v.dot(v)
    inverse = jnp.where(some, 1.0 / jnp.sqrt(jnp.where(some, area, 1.0)), 0.0)
    normal = normal * inverse
    return normal, jnp.where(some, normal.dot(a), FAR)
