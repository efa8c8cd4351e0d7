"""The faces and edges of a geom that may touch: of meshes and boxes those at the first corner that does, in order.

A hull's corner has as many entries as faces, each a face and the edge that it begins with. They are looked at a few at
a time.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxsim.collision.convex.hull import Tables, entries_of, entry_blocks, places_from
from jaxsim.collision.convex.outline import Outline, corners_at, normals_at
from jaxsim.collision.convex.solid import box_corner
from jaxsim.collision.points import Shape
from jaxsim.collision.vec import Vec, unit
from jaxsim.enums import GeomType
from jaxsim.math.gather import rows_by_world
from jaxsim.math.stage import stage

__all__ = ["Fan", "blocks_of", "corner_count", "fan_of", "most_entries"]


class Fan(NamedTuple):
    """Some faces and edges of geoms that may touch; beyond the last it is repeated, or they do not count.

    Attributes:
      polygon: rows of polygons, (npair, d, W).
      normal: their outward unit normals, world frame, components (npair, d, W).
      held: whether the polygon has all corners that touch.
      end: rows of the other ends of edges, (npair, d, W); of boxes numbers of corners.
      run: unit vectors towards them.
      edged: whether the edge may touch.
    """

    polygon: Array
    normal: Vec
    held: Array
    end: Array
    run: Vec
    edged: Array


def most_entries(shapes: Sequence[Shape]) -> int:
    """The most entries that a corner may have."""
    return max(s.assets.hulls.most if isinstance(s.assets, Tables) else 1 for s in shapes)


def blocks_of(shape: Shape, corner: Array) -> Array:
    """How many times some faces and edges of the geoms are to be looked at, (); `corner` (npair, W) touches first."""
    if not isinstance(shape.assets, Tables):
        return jnp.ones((), jnp.int32)
    mesh = shape.kind == GeomType.MESH
    return entry_blocks(shape.assets, jnp.where(mesh, corner, 0), mesh)


def corner_count(shape: Shape, codes: Array) -> Array:
    """How many of the three corners that touch (3, npair, W) differ."""
    codes = _told_apart(shape, codes)
    second, third = codes[1] != codes[0], (codes[2] != codes[0]) & (codes[2] != codes[1])
    return 1 + second.astype(jnp.int32) + third.astype(jnp.int32)


def _told_apart(shape: Shape, codes: Array) -> Array:
    """Numbers of corners; of a capsule's core only the third coordinate tells them apart."""
    return jnp.where(shape.kind == GeomType.CAPSULE, codes & 4, codes)


@stage
def fan_of(
    shape: Shape, outline: Outline, toward: Vec, codes: Array, start: Array, *, types: tuple[int, ...]
) -> Fan:
    """What may touch, of the entries from `start` on; of the types without corners their outline.

    Args:
      shape: the geoms.
      outline: what of them turns to the other geoms, see `shape_outline`.
      toward: the direction of these, unit vectors, components (npair, W).
      codes: three corners that touch, (3, npair, W); they may repeat.
      start: the first place, ().
      types: types that the geoms may have.
    """
    codes, corners = _told_apart(shape, codes), corner_count(shape, codes)
    second = codes[1] != codes[0]
    own: Fan | None = None
    plain = [kind for kind in types if kind != GeomType.MESH]
    if plain:
        ends, normal = corners_at(plain, shape, toward, outline.edge), normals_at(plain, shape, outline.side)
        run, normal = Vec(*(c[:, 1:] - c[:, :1] for c in ends)), normal.lifted()
        run, length = unit(run, run * 0.0, 0.0)
        none, edged = jnp.zeros(length.shape, jnp.int32), (length > 0) & (corners < 3)[:, None]
        own = Fan(none, normal, normal.dot(normal) > 0, none, run, edged)
        if GeomType.BOX in plain:
            own = _with_box_edges(own, shape, codes, corners)
        own = own._replace(held=own.held & (start == 0), edged=own.edged & (start == 0))
        if len(plain) == len(types):
            return own

    tables: Tables = shape.assets
    mesh = shape.kind == GeomType.MESH
    codes = jnp.where(mesh, codes, 0)
    places, every = places_from(tables, start), jnp.arange(tables.hulls.most, dtype=jnp.int32)
    entries = entries_of(tables.hulls, codes[0], places)
    polygon = rows_by_world(tables.hulls.at, entries)
    held = jnp.ones_like(polygon, bool)
    for code in codes[1:]:
        its = rows_by_world(tables.hulls.at, entries_of(tables.hulls, code, every))
        held = held & jnp.any(polygon[:, :, None] == its[:, None], axis=2)
    only = (corners == 2)[:, None] & (places == 0)[:, None]
    end = jnp.where(
        only, jnp.where(second, codes[1], codes[2])[:, None], rows_by_world(tables.hulls.before, entries)
    )
    run = (
        Vec.split(rows_by_world(tables.vert, end)) - Vec.split(rows_by_world(tables.vert, codes[0])).lifted()
    )
    normal, axes = Vec.split(rows_by_world(tables.normal, polygon)), shape.axes.lifted()
    run, normal = (axes.to_world(v.unit()) for v in (run, normal))
    fan = Fan(polygon, normal, held, end, run, only | (corners == 1)[:, None])
    if own is None:
        return fan
    widest = max(f.edged.shape[1] for f in (own, fan))
    mesh, own, fan = mesh[:, None], _widened(own, widest), _widened(fan, widest)
    return fan._replace(
        normal=fan.normal.where(mesh, own.normal),
        held=jnp.where(mesh, fan.held, own.held),
        end=jnp.where(mesh, fan.end, own.end),
        run=fan.run.where(mesh, own.run),
        edged=jnp.where(mesh, fan.edged, own.edged),
    )


def _widened(fan: Fan, most: int) -> Fan:
    """With room for more faces and edges, which do not count."""

    def filled(x: Array) -> Array:
        return jnp.pad(x, ((0, 0), (0, most - x.shape[1]), (0, 0)))

    wide: Any = [Vec(*map(filled, x)) if isinstance(x, Vec) else filled(x) for x in fan]
    return Fan._make(wide)


def _with_box_edges(own: Fan, shape: Shape, codes: Array, corners: Array) -> Fan:
    """With the three edges of boxes at a corner that touches, or the line between two such corners."""
    box, alone, first = (shape.kind == GeomType.BOX)[:, None], (corners == 1)[:, None], codes[0][:, None]
    own = _widened(own, 3)
    places = np.arange(3, dtype=np.int32)[:, None]
    second = jnp.where(codes[1] != codes[0], codes[1], codes[2])[:, None]
    end = jnp.where(alone, first ^ (1 << places), second)
    half = shape.size.lifted()
    run = box_corner(half, end) - box_corner(half, first)
    run, length = unit(run, run * 0.0, 0.0)
    edged = (alone | ((corners == 2)[:, None] & (places == 0))) & (length > 0)
    return own._replace(
        end=jnp.where(box, end, own.end),
        run=shape.axes.lifted().to_world(run).where(box, own.run),
        edged=jnp.where(box, edged, own.edged),
    )
