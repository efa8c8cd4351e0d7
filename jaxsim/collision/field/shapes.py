"""The distance functions of geoms, of points and of all pairs and worlds at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxsim import worlds
from jaxsim.collision.points import Shape
from jaxsim.collision.vec import Frame, Vec
from jaxsim.enums import GeomType
from jaxsim.math import quaternion as quat
from jaxsim.math.axis import take
from jaxsim.math.gather import rows_by_world
from jaxsim.model import Model
from jaxsim.pytree import Static
from jaxsim.sdf import Distance

__all__ = [
    "Field",
    "Fields",
    "Functions",
    "bounds_of",
    "field_of",
    "field_of_meshes",
    "fields_of",
    "has_function",
]

Functions = tuple[tuple[int, Distance], ...]
"""(mesh, its distance function); mesh -1: of all geoms."""


class Fields(NamedTuple):
    """Of each mesh of a model.

    Attributes:
      pos: translation that the compiler applied, m (nmesh, 3, 1 or W).
      mat: rotation that it applied (nmesh, 3, 3, 1 or W).
      box: bounds in the geom's frame, centre and half sizes, m (nmesh, 6, 1 or W).
      vert: vertices, m (nmeshvert, 3, 1 or W).
      rows: which are each mesh's, filled up to one number (nmesh, k, 1).
      starts: where descents start, in the unit cube: as many as `opt.sdf_initpoints` (k, 3, 1).
      iterations: `opt.sdf_iterations`, (1,).
    """

    pos: Array
    mat: Array
    box: Array
    vert: Array
    rows: Array
    starts: Array
    iterations: Array


def fields_of(model: Model) -> Fields:
    """The table of a model's meshes."""
    from scipy.stats.qmc import Halton  # here, as scipy.stats takes a second to import

    owner = np.zeros(len(model.mesh_vertadr), int)
    for geom in np.flatnonzero(model.geom_type == GeomType.SDF):
        owner[model.geom_dataid[geom]] = geom
    number = model.mesh_vertnum[:, None]
    rows = model.mesh_vertadr[:, None] + np.minimum(np.arange(number.max(initial=0)), number - 1)
    start = Halton(3, scramble=False).random(model.opt.sdf_initpoints + 1)[1:]  # the first is a corner
    return Fields(
        model.mesh_pos,
        quat.to_matrix(model.mesh_quat),
        take(model.geom_aabb, owner),
        model.mesh_vert,
        jnp.asarray(rows[..., None], jnp.int32),
        jnp.asarray(start[..., None], model.mesh_pos.dtype),
        jnp.asarray([model.opt.sdf_iterations], jnp.int32),
    )


class Field(NamedTuple):
    """The distance functions of one geom of each pair.

    Attributes:
      functions: of meshes, or one of all geoms.
      origin: of the functions' frames, m, world frame, components (npair, W).
      axes: of the functions' frames.
      size: sizes of the geoms, m.
      asset: their meshes (npair, 1 or W).
    """

    functions: Functions
    origin: Vec
    axes: Frame
    size: Vec
    asset: Array

    def at(self, x: Vec) -> tuple[Array, Vec]:
        """Distances of points, components (npair, k, W), world frame, and their gradients."""
        local = self.axes.lifted().to_local(x - self.origin.lifted())
        points, size = _flat(local, x), _flat(self.size.lifted(), x)
        value, gradient = self._each(jax.value_and_grad, points, size, x)
        split = Vec(*(g.reshape(value.shape) for g in gradient))
        return value, self.axes.lifted().to_world(split)

    def distance(self, x: Vec) -> Array:
        """Distances of points alone."""
        local = self.axes.lifted().to_local(x - self.origin.lifted())
        return self._each(
            lambda f: lambda p, s: (f(p, s), p), _flat(local, x), _flat(self.size.lifted(), x), x
        )[0]

    def _each(
        self,
        change: Callable[[Distance], Callable[..., tuple[Array, Array]]],
        points: Array,
        size: Array,
        x: Vec,
    ) -> tuple[Array, Array]:
        """What the function of each point's geom gives: (npair, k, W) and (3, npair k W)."""
        shape = jnp.broadcast_shapes(*(c.shape for c in x))
        which = jnp.broadcast_to(self.asset[:, None], shape).reshape(-1)
        value, other = jnp.zeros(which.shape, points.dtype), jnp.zeros_like(points)
        for mesh, function in self.functions:
            own, slope = worlds.in_each(change(function), f"distance function of mesh {mesh}")(points, size)
            if mesh < 0 or len(self.functions) == 1:
                value, other = own, slope
            else:
                value, other = jnp.where(which == mesh, own, value), jnp.where(which == mesh, slope, other)
        return value.reshape(shape), other


def _flat(v: Vec, like: Vec) -> Array:
    """Components one after the other, (3, npair k W)."""
    shape = jnp.broadcast_shapes(*(c.shape for c in (*v, *like)))
    return jnp.stack([jnp.broadcast_to(c, shape).reshape(-1) for c in v])


def field_of(shape: Shape, functions: Functions) -> Field:
    """The field of geoms with one function, or of those whose meshes have theirs."""
    if functions[0][0] < 0:
        return Field(functions, shape.pos, shape.axes, shape.size, shape.asset)
    fields: Fields = shape.assets
    pos, mat = (rows_by_world(table, shape.asset) for table in (fields.pos, fields.mat))
    own = field_of_meshes(functions, pos, mat, shape.size, shape.asset)
    axes = Frame(*(shape.axes.to_world(axis) for axis in own.axes))
    return own._replace(origin=shape.pos + shape.axes.to_world(own.origin), axes=axes)


def field_of_meshes(functions: Functions, pos: Array, mat: Array, size: Vec, asset: Array) -> Field:
    """The field of geoms in their own frames.

    Args:
      functions: of meshes.
      pos: translations that the compiler applied to the meshes, m (n, 3, 1 or W).
      mat: rotations that it applied (n, 3, 3, 1 or W).
      size: sizes of the geoms, m.
      asset: their meshes (n, 1 or W).
    """
    turned = Frame.split(mat)
    # rows of the compiler's rotation are the axes of the mesh's file, in the geom's frame
    axes = Frame(*(Vec(*rows) for rows in zip(*turned, strict=True)))
    return Field(functions, axes.to_world(Vec.split(-pos)), axes, size, asset)


def has_function(static: Static) -> np.ndarray:
    """Geoms of type SDF whose meshes have distance functions, (ngeom,) of bool."""
    known = [mesh for mesh, _ in static.hooks.sdfs]
    return (static.geom_type == GeomType.SDF) & np.isin(static.geom_dataid, known)


def bounds_of(shape: Shape, kind: GeomType) -> tuple[Vec, Vec]:
    """Centre and half sizes of the geoms' boxes, in their frames, m; infinite for planes."""
    x, y, z, zero = *shape.size, jnp.zeros_like(shape.size.x)
    if kind == GeomType.SDF:
        box = rows_by_world(shape.assets.box, shape.asset)
        return Vec.split(box), Vec.split(box[:, 3:])
    half = {
        GeomType.PLANE: Vec(zero + jnp.inf, zero + jnp.inf, zero + jnp.inf),
        GeomType.SPHERE: Vec(x, x, x),
        GeomType.CAPSULE: Vec(x, x, x + y),
        GeomType.CYLINDER: Vec(x, x, y),
    }.get(kind, Vec(x, y, z))
    return Vec(zero, zero, zero), half
