"""Where rays first meet geoms of type SDF: by their distance functions, in the geom's frame.

From a point where the distance is f, a ray meets nothing for a length of f (J. C. Hart 1996, "Sphere tracing: a
geometric method for the antialiased ray tracing of implicit surfaces"): the search goes on by f until it is nearly
zero, from where the ray enters the box that encloses the shape. Where a ray begins inside it is -f; a step that went
through the surface, as a distance on a grid may not be exact, is taken back.
"""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from jaxsim.collision.field import Field, field_of_meshes
from jaxsim.collision.vec import Vec
from jaxsim.math import quaternion
from jaxsim.math.axis import take
from jaxsim.math.gather import rows_by_world
from jaxsim.model import Model
from jaxsim.pipeline.ray.box import passage

__all__ = ["meet_fields", "on_surface"]

_ROUNDS = 200
"""Most steps of a ray. A ray that comes closer than `_NEAR`, but does not touch, needs the most: it meets nothing."""
_NEAR = 1e-7
"""Distance, m, at which the search ends, as in the C engine; single precision ends at some roundings of the size."""
_ROUNDINGS = 16
_STEEPEST = 1e-3
"""Least cosine between ray and surface by which the last step is made."""


def _field(model: Model, mesh: Array, size: Vec) -> Field:
    """The distance functions of geoms with given meshes (n, 1 or W), in the frames of the geoms."""
    pos, mat = rows_by_world(model.mesh_pos, mesh), quaternion.to_matrix(model.mesh_quat)
    return field_of_meshes(model.hooks.sdfs, pos, rows_by_world(mat, mesh), size, mesh)


def meet_fields(model: Model, geoms: np.ndarray, p: Vec, v: Vec, ahead: Array, used: Array) -> Array:
    """Parameters (n, k, W) at which rays meet geoms, infinite where they do not; without derivatives.

    Args:
      model: the model.
      geoms: geoms of type SDF (n,).
      p: points of the rays, components (n, k, W), in the frames of the geoms.
      v: directions.
      ahead: parameter at which rays begin.
      used: which rays look at which geoms (n, k, 1 or W); none of no length.
    """
    mesh = jnp.asarray(model.geom_dataid[geoms])[:, None]
    field = _field(model, mesh, Vec.split(take(model.geom_size, geoms)))
    box = take(model.geom_aabb, geoms)[:, :, None]
    middle, half = Vec.split(box[:, :3].swapaxes(1, 2)), Vec.split(box[:, 3:].swapaxes(1, 2))
    speed = jnp.sqrt(v.dot(v))
    per_length = 1 / jnp.where(speed > 0, speed, 1)
    near = jnp.maximum(_NEAR, _ROUNDINGS * jnp.finfo(speed.dtype).eps * jnp.sqrt(half.dot(half)))
    room = Vec(*(h + near for h in half))
    enter, leave = passage(middle - room, middle + room, p, v, ahead)
    asked = used & (enter <= leave)
    begin = jnp.where(asked, enter, 0)

    def look(t: Array) -> Array:
        return field.distance(p + v * t)

    def goes_on(t: Array, f: Array) -> Array:
        return asked & (jnp.abs(f) > near) & (t <= leave)

    def step(state: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
        done, t, f = state
        t = jnp.where(goes_on(t, f), jnp.maximum(t + side * f * per_length, begin), t)
        return done + 1, t, look(t)

    first = look(begin)
    side = jnp.where(first < 0, -1, 1).astype(first.dtype)
    begin = jnp.broadcast_to(begin, first.shape)
    start = (jnp.zeros((), jnp.int32), begin, first)
    _, t, f = lax.while_loop(lambda s: (s[0] < _ROUNDS) & jnp.any(goes_on(*s[1:])), step, start)
    return jnp.where(asked & (jnp.abs(f) <= near) & (t <= leave), t, jnp.inf)


def on_surface(model: Model, mesh: Array, size: Vec, p: Vec, v: Vec, t: Array) -> tuple[Array, Vec]:
    """The parameter at which a ray meets a surface next to it, and the outward normal there (not of unit length).

    Derivatives are exact up to the third order: two steps of Newton's method from a constant.

    Args:
      model: the model.
      mesh: of the geom that each ray meets, (k, W).
      size: sizes of the geoms, components (k, W).
      p: points of the rays, in the frames of the geoms.
      v: directions, none of no length.
      t: parameter that the search found.
    """
    field = _field(model, mesh, size)
    along = v.stop()
    least = _STEEPEST * jnp.sqrt(along.dot(along))

    def at(t: Array) -> tuple[Array, Vec]:
        value, gradient = field.at((p + v * t).lifted())
        return value[:, 0], Vec(*(g[:, 0] for g in gradient))

    t = lax.stop_gradient(t)
    for _ in range(2):  # each doubles the digits, and the order of the derivatives that are exact
        value, gradient = at(t)
        slope = gradient.dot(v)
        t = t - value / jnp.where(jnp.abs(slope) < least, jnp.where(slope > 0, least, -least), slope)
    return t, at(t)[1]
