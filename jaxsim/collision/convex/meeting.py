"""Which face or edge of each geom lies on the other's.

Near a contact a curved mesh has many faces. Those are asked that have all corners that touch: the two that face each
other most lie on each other, or else the first edge, in the mesh's order, that lies on a face; as in the C engine. A
box has three edges at a corner. Of the other types the face or edge that turns to the contact's direction is asked.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxsim.collision.convex.hull import Tables, entries_of
from jaxsim.collision.convex.outline import (
    Outline,
    corners_at,
    either,
    mesh_outline,
    normals_at,
    shape_outline,
)
from jaxsim.collision.convex.settle import settled
from jaxsim.collision.convex.solid import box_corner
from jaxsim.collision.largest import entry_at, first_largest
from jaxsim.collision.points import Shape
from jaxsim.collision.vec import Vec, unit
from jaxsim.enums import GeomType
from jaxsim.math.gather import rows_by_world
from jaxsim.math.stage import platform, stage

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
    """The faces and edges of geoms that may touch; of meshes and boxes those at the first corner that does, in order.

    Attributes:
      polygon: rows of polygons, (npair, d, W).
      normal: their outward unit normals, world frame, components (npair, d, W).
      held: whether the polygon has all of the corners.
      end: rows of the other ends of edges, (npair, d, W); of boxes numbers of corners.
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
    types: tuple[tuple[int, ...], tuple[int, ...]],
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
    towards = (direction, -direction)
    first, second = (
        settled(shape_outline(shape, toward, types=kinds))
        for kinds, shape, toward in zip(types, shapes, towards, strict=True)
    )
    meshes = [GeomType.MESH in kinds for kinds in types]
    if not any(meshes):
        flat1, flat2 = settled(_flat(shapes, (first, second), direction, types=types))
        return Meeting(first, second, flat1, flat2)
    fan1, fan2 = fans = [
        settled(_fan(shape, outline, toward, code, types=kinds))
        for kinds, shape, outline, toward, code in zip(
            types, shapes, (first, second), towards, codes, strict=True
        )
    ]
    row1, row2, both = settled(_face_on_face(fan1, fan2))
    edge1, face2, found1 = settled(_edge_on_face(fan1, fan2))
    edge2, face1, found2 = settled(_edge_on_face(fan2, fan1))
    turn = fan1.corners <= fan2.corners
    ruled = _ruled(shapes[0].kind, shapes[1].kind) & ~both
    edged = (ruled & turn & found1, ruled & ~turn & found2)
    chosen = []
    for k, (row, face, edge) in enumerate(((row1, face1, edge1), (row2, face2, edge2))):
        outline, shape, corner = (first, second)[k], shapes[k], codes[k][0]
        if meshes[k]:
            polygon, end = settled(_flattest(fans[k], towards[k]))
            polygon = jnp.where(both, entry_at(fans[k].polygon, row), jnp.where(edged[1 - k], face, polygon))
            end, mesh = jnp.where(edged[k], edge, end), shape.kind == GeomType.MESH
            outline = either(mesh, mesh_outline(jnp.where(mesh, corner, 0), polygon, end), outline)
        box = (edged[k] & (shape.kind == GeomType.BOX))[:, None]
        chosen.append(outline._replace(edge=jnp.where(box, jnp.stack([corner, edge], axis=1), outline.edge)))
    first, second = chosen
    flat1, flat2 = settled(_flat(shapes, (first, second), direction, both, types=types))
    on2, on1 = edged
    return Meeting(first, second, jnp.where(ruled, on1, flat1), jnp.where(ruled, on2, flat2))


def _ruled(kind1: Array, kind2: Array) -> Array:
    """Whether the features of the search decide which edge lies on which face: of meshes, but for cylinders."""
    mesh = (kind1 == GeomType.MESH) | (kind2 == GeomType.MESH)
    return mesh & (kind1 != GeomType.CYLINDER) & (kind2 != GeomType.CYLINDER)


@stage
def _flat(
    shapes: tuple[Shape, Shape],
    outlines: tuple[Outline, Outline],
    direction: Vec,
    both: Array | None = None,
    *,
    types: tuple[tuple[int, ...], tuple[int, ...]],
) -> tuple[Array, Array]:
    """Whether faces of geoms 1 and of geoms 2 lie on the other's face (`both`) or edge."""
    normals, edges, facing = [], [], []
    for kinds, shape, own, toward in zip(types, shapes, outlines, (direction, -direction), strict=True):
        normals.append(normals_at(kinds, shape, own.side))
        ends = corners_at(kinds, shape, toward, own.edge)
        edges.append(Vec(*(c[:, 1] - c[:, 0] for c in ends)))
        # how much the faces face each other, and how far an edge is from a face's plane
        facing.append(normals[-1].dot(toward))
    if both is None:
        both = normals[0].dot(normals[1]) < -_FACING
    flats = []
    for normal, edge, mine, its in zip(normals, edges[::-1], facing, facing[::-1], strict=True):
        level = jnp.square(edge.dot(normal)) < _LEVEL * _LEVEL * edge.dot(edge)
        flats.append(both | ((mine > _FACING) & (mine > its) & level))
    return flats[0], flats[1]


# --- faces and edges that may touch


@stage
def _fan(shape: Shape, outline: Outline, toward: Vec, codes: Array, *, types: tuple[int, ...]) -> _Fan:
    """What may touch, of geoms of which three corners (3, npair, W) do; of the types without corners their outline."""
    # of a capsule's core only the third coordinate tells corners apart
    codes = jnp.where(shape.kind == GeomType.CAPSULE, codes & 4, codes)
    second, third = codes[1] != codes[0], (codes[2] != codes[0]) & (codes[2] != codes[1])
    corners = 1 + second.astype(jnp.int32) + third.astype(jnp.int32)
    own: _Fan | None = None
    plain = [kind for kind in types if kind != GeomType.MESH]
    if plain:
        ends, normal = corners_at(plain, shape, toward, outline.edge), normals_at(plain, shape, outline.side)
        run, normal = Vec(*(c[:, 1:] - c[:, :1] for c in ends)), normal.lifted()
        run, length = unit(run, run * 0.0, 0.0)
        none, edged = jnp.zeros(length.shape, jnp.int32), (length > 0) & (corners < 3)[:, None]
        own = _Fan(none, normal, normal.dot(normal) > 0, none, run, edged, corners)
        if GeomType.BOX in plain:
            own = _with_box_edges(own, shape, codes, second)
        if len(plain) == len(types):
            return own

    tables: Tables = shape.assets
    mesh = shape.kind == GeomType.MESH
    codes = jnp.where(mesh, codes, 0)
    entries, *others = (entries_of(tables.hulls, code) for code in codes)
    polygon = rows_by_world(tables.hulls.at, entries)
    held = jnp.ones_like(polygon, bool)
    for more in others:
        held = held & jnp.any(polygon[:, :, None] == rows_by_world(tables.hulls.at, more)[:, None], axis=2)
    leading = np.arange(polygon.shape[1])[:, None] == 0
    only = (corners == 2)[:, None] & leading
    end = jnp.where(
        only, jnp.where(second, codes[1], codes[2])[:, None], rows_by_world(tables.hulls.before, entries)
    )
    run = (
        Vec.split(rows_by_world(tables.vert, end)) - Vec.split(rows_by_world(tables.vert, codes[0])).lifted()
    )
    normal, axes = Vec.split(rows_by_world(tables.normal, polygon)), shape.axes.lifted()
    run, normal = (axes.to_world(v * (1.0 / jnp.sqrt(v.dot(v)))) for v in (run, normal))
    fan = _Fan(polygon, normal, held, end, run, only | (corners == 1)[:, None], corners)
    if own is None:
        return fan
    most = max(f.edged.shape[1] for f in (own, fan))
    mesh, own, fan = mesh[:, None], _widened(own, most), _widened(fan, most)
    return fan._replace(
        normal=fan.normal.where(mesh, own.normal),
        held=jnp.where(mesh, fan.held, own.held),
        end=jnp.where(mesh, fan.end, own.end),
        run=fan.run.where(mesh, own.run),
        edged=jnp.where(mesh, fan.edged, own.edged),
    )


def _widened(fan: _Fan, most: int) -> _Fan:
    """With room for more faces and edges, which do not count."""

    def filled(x: Array) -> Array:
        return jnp.pad(x, ((0, 0), (0, most - x.shape[1]), (0, 0)))

    *each, corners = fan
    wide: Any = [Vec(*map(filled, x)) if isinstance(x, Vec) else filled(x) for x in each]
    return _Fan._make([*wide, corners])


def _with_box_edges(own: _Fan, shape: Shape, codes: Array, second: Array) -> _Fan:
    """With the three edges of boxes at a corner that touches, or the line between two such corners."""
    box, alone, first = (shape.kind == GeomType.BOX)[:, None], (own.corners == 1)[:, None], codes[0][:, None]
    own = _widened(own, 3)
    places = np.arange(3, dtype=np.int32)[:, None]
    end = jnp.where(alone, first ^ (1 << places), jnp.where(second, codes[1], codes[2])[:, None])
    half = shape.size.lifted()
    run = box_corner(half, end) - box_corner(half, first)
    run, length = unit(run, run * 0.0, 0.0)
    edged = (alone | ((own.corners == 2)[:, None] & (places == 0))) & (length > 0)
    return own._replace(
        end=jnp.where(box, end, own.end),
        run=shape.axes.lifted().to_world(run).where(box, own.run),
        edged=jnp.where(box, edged, own.edged),
    )


@stage
def _face_on_face(first: _Fan, second: _Fan) -> tuple[Array, Array, Array]:
    """The numbers of the two faces that face each other most, and whether they do so enough."""
    cosine = Vec(*(c[:, :, None] for c in first.normal)).dot(Vec(*(c[:, None] for c in second.normal)))
    number, found = _most(-cosine, (cosine < -_FACING) & first.held[:, :, None] & second.held[:, None])
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
    held = jnp.where(marks, values, -jnp.inf)
    if platform() != "cpu":
        # row by row: of all of them together XLA would keep an array
        most, column = jnp.max(held, axis=2), jnp.argmax(held, axis=2).astype(jnp.int32)
        row = first_largest(most)
        return row * held.shape[2] + entry_at(column, row), jnp.any(most > -jnp.inf, axis=1)
    flat = held.reshape(held.shape[0], -1, held.shape[-1])
    return first_largest(flat), jnp.any(flat > -jnp.inf, axis=1)


@stage
def _flattest(fan: _Fan, toward: Vec) -> tuple[Array, Array]:
    across = first_largest(-jnp.square(fan.run.dot(toward.lifted())))
    facing = first_largest(fan.normal.dot(toward.lifted()))
    return entry_at(fan.polygon, facing), entry_at(fan.end, across)
