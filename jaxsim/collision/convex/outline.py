"""What a geom turns to a direction: the face that faces it most, and the edge that is most across it, by number.

Which they are is a choice and has no derivative; where their corners are follows from the numbers in closed form. A
cylinder's cap counts as a polygon of sixteen corners; its mantle has an edge wherever it is looked at. Few faces of
meshes have more corners than that; where one does, all of them are looked at in a wider table.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeVar

import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxsim.collision.convex.hull import Tables
from jaxsim.collision.convex.solid import box_corner
from jaxsim.collision.points import Shape
from jaxsim.collision.vec import Vec, fallback_unit, unit
from jaxsim.enums import GeomType
from jaxsim.math.gather import rows_by_world
from jaxsim.math.stage import stage
from jaxsim.math.whole import remainder

__all__ = [
    "Outline",
    "corners_at",
    "either",
    "faces_at",
    "filled",
    "has_large_faces",
    "large_faces",
    "mesh_outline",
    "normals_at",
    "shape_outline",
]

_Number = TypeVar("_Number", Array, np.ndarray)

_CAP = 16
"""Corners of the polygon in a cylinder's cap."""
_MANTLE = 2 * _CAP
"""The number of the upper end of a cylinder's edge, after the corners of both caps; the lower end's follows."""
_UPRIGHT = 1e-3
"""Sine of the angle to a cylinder's axis below which a direction chooses no edge of the mantle: the cap faces it."""

_CAPPED = 0.9
"""Cosine of the angle between a direction and a cylinder's axis below which the caps do not turn to the direction.

Across the axis rounding errors would choose a cap, and beside a cylinder with the same axis it would face another.
"""


class Outline(NamedTuple):
    """A face and an edge of each pair, by number.

    Attributes:
      edge: both ends, see `corners_at`, (npair, 2, W).
      side: which face it is, see `normals_at`, (npair, W); -1: there is none, or none that turns there.
    """

    edge: Array
    side: Array


def corners_at(types: Sequence[int], shape: Shape, direction: Vec, numbers: Array) -> Vec:
    """Where corners are.

    Args:
      types: types that the geoms may have; those without edges get 0 for all.
      shape: the geoms.
      direction: unit vectors that the geoms look at, components (npair, W); a mantle's edge depends on them.
      numbers: of meshes rows of `mesh_vert`; of boxes and capsules as in `box_corner`; of cylinders those of the upper
        cap, of the lower cap, and both ends of the edge; (npair, k, W).

    Returns:
      from the geoms' centres in the world frame, m, components (npair, k, W).
    """
    found: Vec | None = None
    if any(kind not in _CORNERS for kind in types):
        zero = jnp.zeros(numbers.shape, shape.sizes.dtype)
        found = Vec(zero, zero, zero)
    for kind in types:
        if kind not in _CORNERS:
            continue
        mine = (shape.kind == kind)[:, None]
        own = _CORNERS[GeomType(kind)](shape, direction, jnp.where(mine, numbers, 0))
        found = own if found is None else own.where(mine, found)
    assert found is not None
    return shape.axes.lifted().to_world(found)


def _box_corners(shape: Shape, _: Vec, numbers: Array) -> Vec:
    return box_corner(shape.size.lifted(), numbers)


def _capsule_corners(shape: Shape, _: Vec, numbers: Array) -> Vec:
    half, zero = shape.size.y, jnp.zeros_like(shape.size.y)
    return box_corner(Vec(zero, zero, half).lifted(), numbers)


def _cylinder_corners(shape: Shape, direction: Vec, numbers: Array) -> Vec:
    """Corners of the caps' polygons, and the ends of the mantle's line nearest to a direction."""
    radius, half = shape.size.x[:, None], shape.size.y[:, None]
    local = shape.axes.to_local(direction)
    across = Vec(local.x, local.y, jnp.zeros_like(local.z))
    rim = unit(across, fallback_unit(across), _UPRIGHT)[0].lifted()
    mantle = numbers >= _MANTLE
    lower = jnp.where(mantle, numbers > _MANTLE, numbers >= _CAP)
    sign = jnp.where(lower, -1.0, 1.0).astype(half.dtype)
    angle = -2 * np.pi / _CAP * np.arange(_CAP)  # clockwise, seen from above
    corner = remainder(numbers, _CAP)
    cosine, sine = (jnp.asarray(x, half.dtype)[corner] for x in (np.cos(angle), np.sin(angle)))
    x, y = jnp.where(mantle, rim.x, cosine), jnp.where(mantle, rim.y, sign * sine)
    return Vec(radius * x, radius * y, half * sign)


def _mesh_corners(shape: Shape, _: Vec, numbers: Array) -> Vec:
    return Vec.split(rows_by_world(shape.assets.vert, numbers))


_CORNERS: dict[GeomType, Callable[[Shape, Vec, Array], Vec]] = {
    GeomType.BOX: _box_corners,
    GeomType.CAPSULE: _capsule_corners,
    GeomType.CYLINDER: _cylinder_corners,
    GeomType.MESH: _mesh_corners,
}


def normals_at(types: Sequence[int], shape: Shape, sides: Array) -> Vec:
    """Where faces look.

    Args:
      types: types that the geoms may have.
      shape: the geoms.
      sides: of meshes numbers of polygons; of boxes those of x, y, z, -x, -y, -z; of cylinders of the upper and of the
        lower cap; (npair, W).

    Returns:
      outward unit normals in the world frame, components (npair, W); 0 where the number is negative.
    """
    zero = jnp.zeros(sides.shape, shape.sizes.dtype)
    found = Vec(zero, zero, zero)
    for kind in types:
        mine = (shape.kind == kind) & (sides >= 0)
        if kind == GeomType.MESH:
            normal = Vec.split(rows_by_world(shape.assets.normal, jnp.where(mine, sides, 0)))
            found = normal.unit().where(mine, found)
        elif kind in (GeomType.BOX, GeomType.CYLINDER):
            axes = 3 if kind == GeomType.BOX else 1
            sign = jnp.where(mine, jnp.where(sides < axes, 1.0, -1.0), 0.0).astype(zero.dtype)
            axis = remainder(jnp.maximum(sides, 0), 3) if kind == GeomType.BOX else jnp.full_like(sides, 2)
            found = found + Vec(*(jnp.where(axis == k, sign, 0.0) for k in range(3)))
    return shape.axes.to_world(found)


@stage
def shape_outline(shape: Shape, direction: Vec, *, types: tuple[int, ...]) -> Outline:
    """The faces and edges of geoms that turn to a direction; of meshes see `mesh_outline`.

    Args:
      shape: the geoms.
      direction: unit vectors in the world frame, components (npair, W).
      types: types that the geoms may have; those without edges get 0 for all.
    """
    local = shape.axes.to_local(direction)
    none = jnp.zeros(local.x.shape, jnp.int32)
    found = Outline(_joined([none, none]), none - 1)
    for kind in types:
        if kind in _FORMS:
            found = either(shape.kind == kind, _FORMS[GeomType(kind)](local), found)
    return found


def mesh_outline(corner: Array, polygon: Array, end: Array) -> Outline:
    """A face and an edge of meshes.

    Args:
      corner: one end of the edge, rows of `mesh_vert` (npair, W).
      polygon: the face, a row of the hulls' polygons.
      end: the other end.
    """
    # in the mesh's order: at which end of an edge a search stops may be a matter of rounding
    return Outline(jnp.stack([jnp.minimum(corner, end), jnp.maximum(corner, end)], axis=1), polygon)


def either(mine: Array, own: Outline, other: Outline) -> Outline:
    """One or the other, `mine` (npair, W)."""
    return Outline(jnp.where(mine[:, None], own.edge, other.edge), jnp.where(mine, own.side, other.side))


def faces_at(types: Sequence[int], shape: Shape, sides: Array, large: bool) -> Array:
    """Corners of faces.

    Args:
      types: types that the geoms may have.
      shape: the geoms.
      sides: which faces, see `normals_at`, (npair, W); where one is negative anything is returned.
      large: whether there are large faces among them; of these less than all corners are returned otherwise.

    Returns:
      numbers of the corners, see `corners_at`, clockwise around the normal from where the C engine begins, filled up
      with the first, (npair, n, W); n is 2 if no type has faces.
    """
    found = jnp.zeros((len(sides), 2, sides.shape[1]), jnp.int32)
    for kind in types:
        mine = (shape.kind == kind) & (sides >= 0)
        number = jnp.where(mine, sides, 0)
        if kind == GeomType.BOX:
            own = rows_by_world(jnp.asarray(_box_faces(), jnp.int32)[..., None], number)
        elif kind == GeomType.CYLINDER:
            own = jnp.arange(_CAP, dtype=jnp.int32)[:, None] + _CAP * number[:, None]
        elif kind == GeomType.MESH:
            own = _mesh_face(shape.assets, number, large)
        else:
            continue
        most = max(own.shape[1], found.shape[1])
        found = jnp.where(mine[:, None], filled(own, most), filled(found, most))
    return found


def has_large_faces(types: Sequence[int], shape: Shape) -> bool:
    """Whether some face that the geoms may have is large."""
    return GeomType.MESH in types and len(shape.assets.hulls.large) > 0


def large_faces(shape: Shape, sides: Array) -> Array:
    """Which faces are large, of geoms that may be meshes whose hulls have such, (npair, W)."""
    mesh = (shape.kind == GeomType.MESH) & (sides >= 0)
    return mesh & (_large_row(shape.assets, jnp.where(mesh, sides, 0)) >= 0)


def _large_row(tables: Tables, polygon: Array) -> Array:
    return rows_by_world(tables.hulls.large_row, polygon)


def _mesh_face(tables: Tables, polygon: Array, large: bool) -> Array:
    corners = rows_by_world(tables.hulls.polygon, polygon)
    if not large or not len(tables.hulls.large):
        return corners
    row = _large_row(tables, polygon)
    whole = rows_by_world(tables.hulls.large, jnp.maximum(row, 0))
    return jnp.where(row[:, None] >= 0, whole, filled(corners, whole.shape[1]))


def _box_faces() -> np.ndarray:
    """Corners of the faces x, y, z, -x, -y, -z of a box, clockwise, from where the C engine begins, (6, 4)."""
    side, begin = np.arange(6)[:, None], np.array([0, 2, 3, 0, 0, 1])[:, None]
    # which end of the axis after the normal's, and of the next
    turns = np.array([[1, 1], [1, 0], [0, 0], [0, 1]])
    u, v = np.moveaxis(turns[(begin + np.arange(4)) % 4], -1, 0)
    up = 1 - side // 3
    return _box_number([(side + k) % 3 for k in range(3)], (up, u, np.where(up > 0, v, 1 - v)))


def _box_number(axes: Sequence[_Number], ends: Sequence[_Number]) -> _Number:
    """The number of a box's corner, from its ends of three axes."""
    one, two, three = (end << axis for end, axis in zip(ends, axes, strict=True))
    return one | two | three


def filled(polygon: Array, sides: int) -> Array:
    """Corners of a polygon (npair, k, W), then the first again and again."""
    return jnp.concatenate([polygon, *[polygon[:, :1]] * (sides - polygon.shape[1])], axis=1)


def _of_box(local: Vec) -> Outline:
    """Of boxes, for local directions, components (npair, W): the axis nearest to them is the face's normal."""
    number = _largest_axis(local)
    axes = [remainder(number + k, 3) for k in range(3)]
    turned = Vec(*map(local.pick, axes))
    up, u_end, v_end = ((c >= 0).astype(jnp.int32) for c in turned)
    along_u = jnp.abs(turned.y) <= jnp.abs(turned.z)
    ends = [
        _box_number(axes, (up, jnp.where(along_u, s, u_end), jnp.where(along_u, v_end, s))) for s in (1, 0)
    ]
    return Outline(_joined(ends), number + 3 * (1 - up))


def _of_capsule(local: Vec) -> Outline:
    none = jnp.zeros(local.x.shape, jnp.int32)
    return Outline(_joined([none + 4, none]), none - 1)


def _of_cylinder(local: Vec) -> Outline:
    """Of cylinders, for local directions, components (npair, W): a cap, and the mantle's line nearest to them."""
    lower = (local.z < 0).astype(jnp.int32)
    turned = jnp.square(local.z) > _CAPPED * _CAPPED * local.dot(local)
    edge = _joined([jnp.full_like(lower, _MANTLE + k) for k in range(2)])
    return Outline(edge, jnp.where(turned, lower, -1))


_FORMS: dict[GeomType, Callable[[Vec], Outline]] = {
    GeomType.BOX: _of_box,
    GeomType.CAPSULE: _of_capsule,
    GeomType.CYLINDER: _of_cylinder,
}


def _largest_axis(v: Vec) -> Array:
    """The number of the component of the largest size."""
    x, y, z = (jnp.abs(c) for c in v)
    return jnp.where((x >= y) & (x >= z), 0, jnp.where(y >= z, 1, 2)).astype(jnp.int32)


def _joined(numbers: list[Array]) -> Array:
    """Numbers of corners (npair, W) on a new axis before the last."""
    return jnp.stack(numbers, axis=1)
