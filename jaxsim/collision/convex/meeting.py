"""Which face or edge of each geom lies on the other's.

Near a contact a curved mesh has many faces. Those are asked that have all corners that touch: the two that face each
other most lie on each other, or else the first edge, in the mesh's order, that lies on a face; as in the C engine. Of
the other types the face or edge that turns to the contact's direction is asked.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from jaxsim.collision.convex.hull import Tables
from jaxsim.collision.convex.outline import Outline, either, mesh_outline, shape_outline
from jaxsim.collision.convex.settle import settled
from jaxsim.collision.largest import entry_at, first_largest
from jaxsim.collision.points import Shape
from jaxsim.collision.vec import Vec
from jaxsim.enums import GeomType
from jaxsim.math.gather import rows_by_world
from jaxsim.math.stage import stage

__all__ = ["Meeting", "meeting"]

_FACING = 0.996
"""Cosine of the angle between normals above which faces lie on each other."""
_LEVEL = 0.0888
"""Sine of the angle between an edge and a face below which it lies on it."""


class Meeting(NamedTuple):
    """What of geoms 1 and 2 may lie on each other.

    Attributes:
      first: a face and an edge of geoms 1.
      second: of geoms 2.
      flat1: whether the face of geoms 1 lies on the other's face or edge, (npair, W).
      flat2: whether that of geoms 2 does.
    """

    first: Outline
    second: Outline
    flat1: Array
    flat2: Array


class _Fan(NamedTuple):
    """The faces and edges of meshes at the first of the corners that touch, in the mesh's order.

    Attributes:
      polygon: rows of polygons, (npair, d, W).
      normal: their outward unit normals, world frame, components (npair, d, W).
      held: whether the polygon has all of the corners.
      end: rows of the other ends of edges, (npair, d, W).
      run: unit vectors towards them.
      edged: whether the edge may touch.
      corners: how many of the corners differ, (npair, W).
    """

    polygon: Array
    normal: Vec
    held: Array
    end: Array
    run: Vec
    edged: Array
    corners: Array


def meeting(
    types: tuple[Sequence[int], Sequence[int]],
    shapes: tuple[Shape, Shape],
    direction: Vec,
    codes: tuple[Array, Array],
) -> Meeting:
    """The faces and edges of pairs of geoms, and which of them lie on each other.

    Args:
      types: types that geoms 1, and geoms 2, may have; those without edges get 0 for all.
      shapes: geoms 1 and geoms 2.
      direction: from geom 1 to geom 2, unit vectors, components (npair, W).
      codes: three corners of each that touch, of meshes rows of `mesh_vert`, (3, npair, W); they may repeat.
    """
    first, second = (
        shape_outline(kinds, shape, toward)
        for kinds, shape, toward in zip(types, shapes, (direction, -direction), strict=True)
    )
    mesh1, mesh2 = (GeomType.MESH in kinds for kinds in types)
    if not mesh1 and not mesh2:
        assert first is not None
        assert second is not None
        return Meeting(first, second, *settled(_flat(*lax.stop_gradient((first, second, direction)))))

    held, others = lax.stop_gradient((shapes, (first, second)))
    fan1, fan2 = (
        settled(_fan(shape, code)) if mesh else None
        for shape, code, mesh in zip(held, codes, (mesh1, mesh2), strict=True)
    )
    faces1, faces2 = (
        _faces(fan, other, shape.kind) for fan, other, shape in zip((fan1, fan2), others, held, strict=True)
    )
    row1, row2, aligned = settled(_face_on_face(faces1, faces2))
    pick1 = None if fan1 is None else _picked(fan1, direction.stop(), row1, aligned)
    pick2 = None if fan2 is None else _picked(fan2, -direction.stop(), row2, aligned)
    on1 = on2 = meshes = jnp.zeros_like(aligned)
    if fan1 is not None and fan2 is not None and pick1 is not None and pick2 is not None:
        meshes = (held[0].kind == GeomType.MESH) & (held[1].kind == GeomType.MESH)
        edge1, face2, found1 = settled(_edge_on_face(fan1, fan2))
        edge2, face1, found2 = settled(_edge_on_face(fan2, fan1))
        turn = fan1.corners <= fan2.corners
        on2 = meshes & ~aligned & turn & found1
        on1 = meshes & ~aligned & ~turn & found2
        pick1 = (jnp.where(on1, face1, pick1[0]), jnp.where(on2, edge1, pick1[1]))
        pick2 = (jnp.where(on2, face2, pick2[0]), jnp.where(on1, edge2, pick2[1]))
    first = _outlined(first, shapes[0], codes[0], pick1)
    second = _outlined(second, shapes[1], codes[1], pick2)
    flat1, flat2 = settled(_flat(*lax.stop_gradient((first, second, direction)), aligned))
    return Meeting(
        first, second, jnp.where(meshes, aligned | on1, flat1), jnp.where(meshes, aligned | on2, flat2)
    )


def _outlined(other: Outline | None, shape: Shape, code: Array, pick: tuple[Array, Array] | None) -> Outline:
    """With the faces and edges of meshes."""
    if pick is not None:
        mesh = shape.kind == GeomType.MESH
        own = mesh_outline(shape, jnp.where(mesh, code[0], 0), *pick)
        return own if other is None else either(mesh, own, other)
    assert other is not None
    return other


@stage
def _flat(first: Outline, second: Outline, direction: Vec, both: Array | None = None) -> tuple[Array, Array]:
    """Whether faces of geoms 1 and of geoms 2 lie on the other's face (`both`) or edge."""
    sides = ((first, direction), (second, -direction))
    # how much the faces face each other, and how far an edge is from a face's plane
    facing = [s.normal.dot(d) for s, d in sides]
    if both is None:
        both = first.normal.dot(second.normal) < -_FACING
    flats = []
    for (face, _), (other, _), mine, its in zip(sides, sides[::-1], facing, facing[::-1], strict=True):
        ends = Vec(*(c[:, 1] - c[:, 0] for c in other.edge))
        level = jnp.square(ends.dot(face.normal)) < _LEVEL * _LEVEL * ends.dot(ends)
        flats.append(both | ((mine > _FACING) & (mine > its) & level))
    return flats[0], flats[1]


# --- faces and edges of meshes


@stage
def _fan(shape: Shape, codes: Array) -> _Fan:
    """What may touch, of meshes of which three corners (3, npair, W) do; anything of other types."""
    tables: Tables = shape.assets
    hulls = tables.hulls
    codes = jnp.where(shape.kind == GeomType.MESH, codes, 0)
    corner = codes[0]
    own, *others = (_at(hulls.entries, code) for code in codes)
    polygon = _at(hulls.at, own)
    held = jnp.ones_like(polygon, bool)
    for entries in others:
        held = held & jnp.any(polygon[:, :, None] == _at(hulls.at, entries)[:, None], axis=2)

    second, third = codes[1] != corner, (codes[2] != corner) & (codes[2] != codes[1])
    corners = 1 + second.astype(jnp.int32) + third.astype(jnp.int32)
    alone, pair = (corners == 1)[:, None], (corners == 2)[:, None]
    leading = np.arange(polygon.shape[1])[:, None] == 0
    edge = jnp.where(second, codes[1], codes[2])[:, None]
    end = jnp.where(pair & leading, edge, _at(hulls.before, own))

    run = Vec.split(rows_by_world(tables.vert, end)) - Vec.split(rows_by_world(tables.vert, corner)).lifted()
    normal = Vec.split(rows_by_world(tables.normal, polygon))
    axes = shape.axes.lifted()
    run, normal = (axes.to_world(v * (1.0 / jnp.sqrt(v.dot(v)))) for v in (run, normal))
    return _Fan(polygon, normal, held, end, run, alone | (pair & leading), corners)


def _at(table: np.ndarray, rows: Array) -> Array:
    """Rows of a table of the model: (npair, k, W) of (n, k) or of (n,) by (npair, k, W)."""
    if table.ndim == 1:
        return jnp.asarray(table).at[rows].get(mode="promise_in_bounds")
    return rows_by_world(jnp.asarray(table)[..., None], rows)


def _faces(fan: _Fan | None, other: Outline | None, kind: Array) -> tuple[Vec, Array]:
    """Normals of the faces that are asked, components (npair, k, W), and which there are; of other types it is one."""
    if fan is None:
        assert other is not None
        normal = other.normal.lifted()
        return normal, jnp.ones_like(normal.x, bool)
    if other is None:
        return fan.normal, fan.held
    mesh = (kind == GeomType.MESH)[:, None]
    leading = np.arange(fan.polygon.shape[1])[:, None] == 0
    return fan.normal.where(mesh, other.normal.lifted()), jnp.where(mesh, fan.held, leading)


@stage
def _face_on_face(first: tuple[Vec, Array], second: tuple[Vec, Array]) -> tuple[Array, Array, Array]:
    """The numbers of the first two faces that face each other, and whether there are such."""
    (normal1, held1), (normal2, held2) = first, second
    cosine = Vec(*(c[:, :, None] for c in normal1)).dot(Vec(*(c[:, None] for c in normal2)))
    number, found = _most(-cosine, (cosine < -_FACING) & held1[:, :, None] & held2[:, None])
    return number // cosine.shape[2], number % cosine.shape[2], found


@stage
def _edge_on_face(edged: _Fan, faced: _Fan) -> tuple[Array, Array, Array]:
    """The other end of the first edge that lies on a face, that face, and whether there is one."""
    sine = Vec(*(c[:, :, None] for c in faced.normal)).dot(Vec(*(c[:, None] for c in edged.run)))
    level = (jnp.abs(sine) < _LEVEL) & faced.held[:, :, None] & edged.edged[:, None]
    number, found = _most(jnp.zeros_like(sine), level)
    row, column = number // sine.shape[2], number % sine.shape[2]
    return entry_at(edged.end, column), entry_at(faced.polygon, row), found


def _most(values: Array, marks: Array) -> tuple[Array, Array]:
    """Where the largest of the marked values (npair, m, n, W) is, row by row, and whether there is any, (npair, W).

    Of equal ones it is the first.
    """
    flat = jnp.where(marks, values, -jnp.inf).reshape(values.shape[0], -1, values.shape[-1])
    return first_largest(flat), jnp.any(flat > -jnp.inf, axis=1)


def _picked(fan: _Fan, toward: Vec, row: Array, aligned: Array) -> tuple[Array, Array]:
    """The polygon and the end of an edge: those that face a direction most, but where faces are aligned."""
    polygon, end = settled(_flattest(fan, toward))
    return jnp.where(aligned, entry_at(fan.polygon, row), polygon), end


@stage
def _flattest(fan: _Fan, toward: Vec) -> tuple[Array, Array]:
    across = first_largest(-jnp.square(fan.run.dot(toward.lifted())))
    facing = first_largest(fan.normal.dot(toward.lifted()))
    return entry_at(fan.polygon, facing), entry_at(fan.end, across)
