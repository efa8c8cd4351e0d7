"""What a geom turns to a direction: the face that faces it most, and the edge that is most across it.

A cylinder's cap counts as a polygon of sixteen corners; its mantle has an edge wherever it is looked at.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxsim.collision.convex.hull import Tables
from jaxsim.collision.convex.solid import KINDS
from jaxsim.collision.points import Shape
from jaxsim.collision.vec import Frame, Vec, fallback_unit, unit
from jaxsim.enums import GeomType
from jaxsim.math.gather import rows_by_world
from jaxsim.math.stage import stage

__all__ = ["Outline", "either", "mesh_outline", "shape_outline"]

_CAP = 16
"""Corners of the polygon in a cylinder's cap."""
_UPRIGHT = 1e-3
"""Sine of the angle to a cylinder's axis below which a direction chooses no edge of the mantle: the cap faces it."""

_BOX_TURNS = np.array([[1.0, 1.0], [1.0, -1.0], [-1.0, -1.0], [-1.0, 1.0]])
"""Corners of a face of a box, clockwise: along the axis after that of its normal, and along the next as that turns."""
_BOX_BEGINS = np.array([0, 2, 3, 0, 0, 1])
"""Where in them the C engine begins, of the faces x, y, z, -x, -y, -z."""

_CAPPED = 0.9
"""Cosine of the angle between a direction and a cylinder's axis below which the caps do not turn to the direction.

Across the axis rounding errors would choose a cap, and beside a cylinder with the same axis it would face another.
"""


class Outline(NamedTuple):
    """A face and an edge of each pair, in the world frame.

    Attributes:
      edge: both ends, from the geom's centre, m, components (npair, 2, W).
      face: corners of the face, clockwise around the normal from where the C engine begins, (npair, n, W); those at
        the end may repeat. Of a geom without faces the edge.
      normal: outward unit normal of the face, components (npair, W); 0: there are none, or none that turns there.
    """

    edge: Vec
    face: Vec
    normal: Vec

    def moved(self, offset: Vec) -> Outline:
        """The same elsewhere, for an offset (m) of each pair, components (npair, W)."""
        by = offset.lifted()
        return self._replace(edge=self.edge + by, face=self.face + by)


def shape_outline(types: Sequence[int], shape: Shape, direction: Vec) -> Outline | None:
    """The faces and edges of geoms that turn to a direction; of meshes see `mesh_outline`.

    Args:
      types: types that the geoms may have; those without edges get 0 for all.
      shape: the geoms.
      direction: unit vectors in the world frame; the edge of a mantle depends on it continuously.

    Returns:
      None if there are meshes only.
    """
    local = shape.axes.to_local(direction)
    edged = [kind for kind in types if kind in _FORMS]
    found: Outline | None = None
    if any(not KINDS[GeomType(kind)].edges for kind in types):
        zero = local * 0.0
        found = Outline(_joined([zero, zero]), zero.lifted(), zero)
    for kind in edged:
        own = _FORMS[GeomType(kind)](shape, local)
        found = own if found is None else either(shape.kind == kind, own, found)
    return found


@stage
def mesh_outline(shape: Shape, corner: Array, polygon: Array, end: Array) -> Outline:
    """A face and an edge of meshes.

    Args:
      shape: the geoms.
      corner: one end of the edge, rows of `mesh_vert` (npair, W).
      polygon: the face, a row of the hulls' polygons.
      end: the other end.
    """
    tables: Tables = shape.assets
    rows = rows_by_world(jnp.asarray(tables.hulls.polygon)[..., None], polygon)
    # in the mesh's order: at which end of an edge a search stops may be a matter of rounding
    ends = jnp.stack([jnp.minimum(corner, end), jnp.maximum(corner, end)], axis=1)
    axes = shape.axes.lifted()
    edge, face = (axes.to_world(Vec.split(rows_by_world(tables.vert, r))) for r in (ends, rows))
    normal = Vec.split(rows_by_world(tables.normal, polygon))
    normal = normal * (1.0 / jnp.sqrt(normal.dot(normal)))
    return Outline(edge, face, shape.axes.to_world(normal))


@stage
def either(mine: Array, own: Outline, other: Outline) -> Outline:
    """One or the other, filled up to one number of corners."""
    sides = max(o.face.x.shape[1] for o in (own, other))

    def filled(face: Vec) -> Vec:
        return Vec(*(jnp.concatenate([c, *[c[:, -1:]] * (sides - c.shape[1])], axis=1) for c in face))

    many = mine[:, None]
    face = filled(own.face).where(many, filled(other.face))
    return Outline(own.edge.where(many, other.edge), face, own.normal.where(mine, other.normal))


@stage
def _of_box(shape: Shape, local: Vec) -> Outline:
    """Of boxes, for local directions, components (npair, W): the axis nearest to them is the face's normal."""
    number = _largest_axis(local)
    turned, size = (Vec(*(v.pick((number + k) % 3) for k in range(3))) for v in (local, shape.size))
    axes = Frame(*(shape.axes.pick((number + k) % 3) for k in range(3)))
    sign, u_sign, v_sign = (jnp.where(c >= 0, 1.0, -1.0).astype(c.dtype) for c in turned)
    along_u = jnp.abs(turned.y) <= jnp.abs(turned.z)

    def corner(u: Array | float, v: Array | float) -> Vec:
        return axes.to_world(Vec(size.x * sign, size.y * u, size.z * v))

    ends = [corner(jnp.where(along_u, s, u_sign), jnp.where(along_u, v_sign, s)) for s in (1.0, -1.0)]
    begin = jnp.asarray(_BOX_BEGINS)[number + 3 * (sign < 0)]
    turns = [jnp.asarray(_BOX_TURNS, size.x.dtype)[(begin + k) % 4] for k in range(4)]
    corners = [corner(uv[..., 0], uv[..., 1] * sign) for uv in turns]
    return Outline(_joined(ends), _joined(corners), axes.x * sign)


@stage
def _of_capsule(shape: Shape, local: Vec) -> Outline:
    del local
    half = shape.axes.z * shape.size.y
    edge = _joined([half, -half])
    return Outline(edge, edge, half * 0.0)


@stage
def _of_cylinder(shape: Shape, local: Vec) -> Outline:
    """Of cylinders, for local directions, components (npair, W): a cap, and the mantle's line nearest to them."""
    radius, half = shape.size.x, shape.size.y
    across = Vec(local.x, local.y, jnp.zeros_like(local.z))
    rim = unit(across, fallback_unit(across), _UPRIGHT)[0] * radius
    sign = jnp.where(local.z >= 0, 1.0, -1.0).astype(local.z.dtype)
    ends = [shape.axes.to_world(Vec(rim.x, rim.y, half * s)) for s in (1.0, -1.0)]
    angle = -2 * np.pi / _CAP * np.arange(_CAP)[:, None]
    cosine, sine = (jnp.asarray(x, half.dtype) for x in (np.cos(angle), np.sin(angle)))
    axes = shape.axes.lifted()
    around = axes.x * (radius[:, None] * cosine) + axes.y * (radius[:, None] * sign[:, None] * sine)
    turned = jnp.square(local.z) > _CAPPED * _CAPPED * local.dot(local)
    normal = shape.axes.z * jnp.where(turned, sign, jnp.zeros_like(sign))
    return Outline(_joined(ends), around + axes.z * (half * sign)[:, None], normal)


_FORMS: dict[GeomType, Callable[[Shape, Vec], Outline]] = {
    GeomType.BOX: _of_box,
    GeomType.CAPSULE: _of_capsule,
    GeomType.CYLINDER: _of_cylinder,
}


def _largest_axis(v: Vec) -> Array:
    """The number of the component of the largest size."""
    x, y, z = (jnp.abs(c) for c in v)
    return jnp.where((x >= y) & (x >= z), 0, jnp.where(y >= z, 1, 2))


def _joined(corners: list[Vec]) -> Vec:
    """Corners, components (npair, W), on a new axis before the last."""
    width = jnp.broadcast_shapes(*(x.shape for corner in corners for x in corner))
    return Vec(
        *(jnp.stack([jnp.broadcast_to(x, width) for x in c], axis=-2) for c in zip(*corners, strict=True))
    )
