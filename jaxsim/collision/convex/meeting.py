"""Which face or edge of each geom lies on the other's.

Near a contact a curved mesh has many faces. Those are asked that have all corners that touch: the two that face each
other most lie on each other, or else the first edge, in the mesh's order, that lies on a face; as in the C engine. A
box has three edges at a corner. Of the other types the face or edge that turns to the contact's direction is asked.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array, lax

from jaxsim.collision.convex.fan import Fan, blocks_of, corner_count, fan_of, most_entries
from jaxsim.collision.convex.hull import ENTRIES
from jaxsim.collision.convex.outline import (
    Outline,
    corners_at,
    either,
    mesh_outline,
    normals_at,
    shape_outline,
)
from jaxsim.collision.convex.settle import settled
from jaxsim.collision.largest import entry_at, first_largest
from jaxsim.collision.points import Shape
from jaxsim.collision.vec import Vec
from jaxsim.enums import GeomType
from jaxsim.math.stage import platform, stage
from jaxsim.math.whole import quotient, remainder

__all__ = ["Meeting", "meeting"]

_FACING = 0.996
"""Cosine of the angle between normals above which faces lie on each other."""
_LEVEL = 0.0888
"""Sine of the angle between an edge and a face below which it lies on it."""
_ORDER = 1 << 15
"""More than the edges at a corner."""


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


class _Choice(NamedTuple):
    """The best that was found yet, of equal ones the first; arrays (npair, W).

    Attributes:
      value: how good it is; -inf: there is none.
      number: its place in the order.
      rows: what it is, by number.
    """

    value: Array
    number: Array
    rows: tuple[Array, ...]

    @property
    def found(self) -> Array:
        return self.value > -jnp.inf


class _Found(NamedTuple):
    """What was found of the faces and edges that may touch.

    Attributes:
      faces: the polygons of geoms 1 and 2 that face each other most and enough.
      edges: of geoms 1 and of geoms 2 the other end of the first edge that lies on a face, and that face.
      flattest: of each the polygon that faces the other most.
      across: of each the other end of the edge that is most across the direction.
    """

    faces: _Choice
    edges: tuple[_Choice, _Choice]
    flattest: tuple[_Choice, _Choice]
    across: tuple[_Choice, _Choice]


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
    found = _searched(types, shapes, (first, second), towards, codes)
    both = found.faces.found
    count1, count2 = (corner_count(shape, code) for shape, code in zip(shapes, codes, strict=True))
    turn = count1 <= count2
    ruled = _ruled(shapes[0].kind, shapes[1].kind) & ~both
    edged = (ruled & turn & found.edges[0].found, ruled & ~turn & found.edges[1].found)
    chosen = []
    for k in range(2):
        outline, shape, corner, (edge, _) = (first, second)[k], shapes[k], codes[k][0], found.edges[k].rows
        if meshes[k]:
            _, face = found.edges[1 - k].rows
            (polygon,), (end,) = found.flattest[k].rows, found.across[k].rows
            polygon = jnp.where(both, found.faces.rows[k], jnp.where(edged[1 - k], face, polygon))
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


def _searched(
    types: tuple[tuple[int, ...], tuple[int, ...]],
    shapes: tuple[Shape, Shape],
    outlines: tuple[Outline, Outline],
    towards: tuple[Vec, Vec],
    codes: tuple[Array, Array],
) -> _Found:
    """Looks at a few faces and edges of each geom at a time.

    Most corners of a hull have five or six, the middle of a disk has one for each corner of its rim.
    """

    def look(starts: tuple[Array, Array], best: _Found) -> _Found:
        """The best of what was found and of the entries from some places on."""
        fan1, fan2 = fans = [
            settled(fan_of(*own, types=kinds))
            for kinds, *own in zip(types, shapes, outlines, towards, codes, starts, strict=True)
        ]
        of1, of2 = zip(fans, towards, starts, strict=True)
        return settled(
            _Found(
                _face_on_face(best.faces, fan1, fan2, starts),
                (
                    _edge_on_face(best.edges[0], fan1, fan2, (starts[1], starts[0])),
                    _edge_on_face(best.edges[1], fan2, fan1, starts),
                ),
                (_flattest(best.flattest[0], *of1), _flattest(best.flattest[1], *of2)),
                (_across(best.across[0], *of1), _across(best.across[1], *of2)),
            )
        )

    zero = jnp.zeros((), jnp.int32)
    none = jnp.zeros(towards[0].x.shape, jnp.int32)

    def nothing(rows: int) -> _Choice:
        return _Choice(jnp.full(none.shape, -jnp.inf, towards[0].x.dtype), none + _ORDER**2, (none,) * rows)

    one, two = nothing(1), nothing(2)
    start = _Found(two, (two, two), (one, one), (one, one))
    if most_entries(shapes) <= ENTRIES:
        return look((zero, zero), start)
    blocks1, blocks2 = (blocks_of(s, code[0]) for s, code in zip(shapes, codes, strict=True))

    def more(state: tuple[Array, _Found]) -> tuple[Array, _Found]:
        k, best = state
        return k + 1, look((k // blocks2 * ENTRIES, k % blocks2 * ENTRIES), best)

    return lax.while_loop(lambda state: state[0] < blocks1 * blocks2, more, (zero, start))[1]


def _better(best: _Choice, value: Array, number: Array, rows: Sequence[Array]) -> _Choice:
    better = (value > best.value) | ((value == best.value) & (number < best.number))
    new = _Choice(value, number, tuple(rows))
    return jax.tree.map(lambda x, y: jnp.where(better, x.astype(y.dtype), y), new, best)


@stage
def _face_on_face(best: _Choice, first: Fan, second: Fan, starts: tuple[Array, Array]) -> _Choice:
    """The two faces that face each other most, of those that do so enough."""
    cosine = Vec(*(c[:, :, None] for c in first.normal)).dot(Vec(*(c[:, None] for c in second.normal)))
    value, row, column = _most(-cosine, (cosine < -_FACING) & first.held[:, :, None] & second.held[:, None])
    rows = entry_at(first.polygon, row), entry_at(second.polygon, column)
    return _better(best, value, (starts[0] + row) * _ORDER + starts[1] + column, rows)


@stage
def _edge_on_face(best: _Choice, edged: Fan, faced: Fan, starts: tuple[Array, Array]) -> _Choice:
    """The other end of the first edge that lies on a face, and that face; `starts` of the faces and of the edges."""
    sine = Vec(*(c[:, :, None] for c in faced.normal)).dot(Vec(*(c[:, None] for c in edged.run)))
    level = (jnp.abs(sine) < _LEVEL) & faced.held[:, :, None] & edged.edged[:, None]
    value, row, column = _most(jnp.zeros_like(sine), level)
    rows = entry_at(edged.end, column), entry_at(faced.polygon, row)
    return _better(best, value, (starts[0] + row) * _ORDER + starts[1] + column, rows)


def _most(values: Array, marks: Array) -> tuple[Array, Array, Array]:
    """The largest of the marked values (npair, m, n, W), -inf if there is none, and its row and column, (npair, W).

    Of equal ones it is the first, row by row.
    """
    held = jnp.where(marks, values, -jnp.inf)
    if platform() != "cpu":
        # row by row: of all of them together XLA would keep an array
        most, column = jnp.max(held, axis=2), jnp.argmax(held, axis=2).astype(jnp.int32)
        row = first_largest(most)
        return entry_at(most, row), row, entry_at(column, row)
    flat = held.reshape(held.shape[0], -1, held.shape[-1])
    number = first_largest(flat)
    columns = held.shape[2]
    return entry_at(flat, number), quotient(number, columns), remainder(number, columns)


@stage
def _flattest(best: _Choice, fan: Fan, toward: Vec, start: Array) -> _Choice:
    return _first(best, fan.normal.dot(toward.lifted()), start, fan.polygon)


@stage
def _across(best: _Choice, fan: Fan, toward: Vec, start: Array) -> _Choice:
    return _first(best, -jnp.square(fan.run.dot(toward.lifted())), start, fan.end)


def _first(best: _Choice, values: Array, start: Array, rows: Array) -> _Choice:
    number = first_largest(values)
    return _better(best, entry_at(values, number), start + number, [entry_at(rows, number)])
