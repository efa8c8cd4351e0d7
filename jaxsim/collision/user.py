"""Functions of the user's in collision: a collider of two geom types, and the distance of a mesh's shape."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from jaxsim import worlds
from jaxsim.collision.points import Points, Shape
from jaxsim.collision.vec import Vec
from jaxsim.enums import GeomType
from jaxsim.hints import check_counts
from jaxsim.model import Model
from jaxsim.sdf import Distance
from jaxsim.structure.colliders import Collider

__all__ = ["Geom", "user_collider", "user_sdf"]


class Geom(NamedTuple):
    """One geom, as a collider of the user's sees it.

    Attributes:
      pos: centre, m, world frame (3,).
      mat: axes, by columns, in the world frame (3, 3).
      size: sizes of its type, m (3,).
    """

    pos: Array
    mat: Array
    size: Array


def user_collider(
    model: Model,
    first: str | GeomType,
    second: str | GeomType,
    function: Callable[[Geom, Geom], tuple[Array, Array, Array]],
    *,
    points: int = 1,
) -> Model:
    """Returns the model with a collider for geoms of two types; it takes the place of jaxsim's own.

    Args:
      model: the model.
      first: type of the first geom, as in MJCF: `"sphere"`, ...
      second: type of the second geom; the same, or one that comes later in `enums.GeomType`.
      function: `(geom1, geom2) -> (dist (points,), pos (points, 3), normal (points, 3))`, a pure function of one pair
        in one world: signed distance, m; midpoint between the surfaces, m; unit vector from geom 1 to 2; world frame.
        A point that is not there has an infinite distance. Geoms are `Geom(pos, mat, size)`. It is batched and
        differentiated with the rest, so its derivatives must be finite everywhere (`jaxsim.math.safe`).
      points: most contact points of a pair.

    Raises:
      ValueError: the types are in the wrong order, there is no such type, or there are no points.
    """
    kinds = (_type(first), _type(second))
    if kinds[0] > kinds[1]:
        raise ValueError(
            f"user_collider: {kinds[1].name.lower()} comes before {kinds[0].name.lower()}; swap them"
        )

    check_counts("user_collider", points=points)

    def collide(shape1: Shape, shape2: Shape, margin: Array) -> Points:
        del margin
        return _collide(function, kinds, points, shape1, shape2)

    made = Collider(collide, points, points, 256)
    return model.replace(hooks=dataclasses.replace(model.hooks, colliders=((kinds, made),)))


def _type(kind: str | GeomType) -> GeomType:
    try:
        return GeomType[kind.upper()] if isinstance(kind, str) else GeomType(kind)
    except (KeyError, ValueError):
        known = ", ".join(t.name.lower() for t in GeomType if t <= GeomType.SDF)
        raise ValueError(f"user_collider: no geom type {kind!r}; there are {known}") from None


def _collide(
    function: Callable[..., Any], kinds: tuple[GeomType, GeomType], points: int, shape1: Shape, shape2: Shape
) -> Points:
    """The points of all pairs in all worlds.

    Raises:
      ValueError: the function gives something of another shape.
    """
    names = " and ".join(kind.name.lower() for kind in kinds)
    each = worlds.in_each(jax.vmap(function), f"collider of {names}")(_geom(shape1), _geom(shape2))
    n = shape1.pos.x.shape[0]
    shapes = [x.shape[:-1] for x in each]
    if shapes != [(n, points), (n, points, 3), (n, points, 3)]:
        raise ValueError(
            f"collider of {names}: its function gives shapes {[s[1:] for s in shapes]}, "
            f"not {[(points,), (points, 3), (points, 3)]}"
        )
    dist, pos, normal = (jnp.asarray(x, shape1.pos.x.dtype) for x in each)
    valid = jnp.isfinite(dist)
    return Points(jnp.where(valid, dist, 1.0), Vec.split(pos), Vec.split(normal), valid=valid)


def _geom(shape: Shape) -> Geom:
    """Geoms (npair, ..., W) of all pairs."""

    def stacked(v: Vec) -> Array:
        return jnp.stack(jnp.broadcast_arrays(*v), axis=1)

    columns = jnp.broadcast_arrays(*(stacked(axis) for axis in shape.axes))
    return Geom(stacked(shape.pos), jnp.stack(columns, axis=2), stacked(shape.size))


def user_sdf(model: Model, mesh: str | int, distance: Distance) -> Model:
    """Returns the model with a signed distance function for a mesh: the shape of geoms of type `sdf` that have it.

    The mesh itself is what is shown, gives the mass, and bounds the shape: it must enclose it.

    Args:
      model: the model.
      mesh: name or number of the mesh.
      distance: `(point (3,), size (3,)) -> distance`, m, a pure function; the point is in the frame of the mesh's file,
        `size` is the geom's. `jaxsim.sdf` has shapes. Its derivatives must be finite everywhere.

    Raises:
      KeyError: there is no mesh of this name.
      TypeError: `distance` is no function of two vectors.
      ValueError: it gives no scalar.
    """
    i = model.id("mesh", mesh) if isinstance(mesh, str) else int(mesh)
    vector = jax.ShapeDtypeStruct((3,), jnp.asarray(model.geom_size).dtype)
    try:
        shape = jax.eval_shape(distance, vector, vector).shape
    except TypeError as error:
        raise TypeError(f"user_sdf: not (point, size) -> distance: {error}") from error
    if shape != ():
        raise ValueError(f"user_sdf: the distance has shape {shape}; expected a scalar")
    return model.replace(hooks=dataclasses.replace(model.hooks, sdfs=((i, distance),)))
