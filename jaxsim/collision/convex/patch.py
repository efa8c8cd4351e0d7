"""Where two geoms lie on each other: up to four points of the common part of two faces, or of a face and an edge.

A polygon, or an edge as a polygon without area, is cut by the sides of a face, seen along the face's normal; of what
is left an edge's two ends stay, and of a face the four corners that `clip` chooses, all as the C engine does it. That
is found without derivative, of the pairs that touch. What stays is a corner of one geom, or where two sides cross: so
its derivatives are those of two lines and of the normals, in closed form. Depths are measured along the face's normal,
each at its own point, so that a geom that is slightly tilted is pushed back.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array, lax

from jaxsim.collision.convex.clip import Ring, common_part, largest_four, on_or_below
from jaxsim.collision.convex.meeting import Meeting, meeting
from jaxsim.collision.convex.outline import (
    Outline,
    corners_at,
    faces_at,
    filled,
    has_large_faces,
    large_faces,
    normals_at,
)
from jaxsim.collision.convex.settle import settled
from jaxsim.collision.convex.touched import gathers, of_geoms
from jaxsim.collision.largest import entries_at, first_largest
from jaxsim.collision.points import Points, Shape
from jaxsim.collision.vec import Vec
from jaxsim.math.stage import long_stage, stage
from jaxsim.math.whole import remainder

__all__ = ["Corners", "contact_patch"]

_ROUNDING = 64
"""Rounding errors of a polygon's size below which points count as one, and of lines that count as parallel."""

_Types = tuple[tuple[int, ...], tuple[int, ...]]
_Shapes = tuple[Shape, Shape]


class Corners(NamedTuple):
    """Which corners stay, of pairs (..., npair, W) of geoms.

    Attributes:
      sides: the faces of geoms 1 and of geoms 2 that lie on the other, (2, npair, W); -1: none does.
      base: a corner of each geom's face or edge, (2, 1, npair, W).
      begin: where the line of each geom begins that leads through the corner, (2, k, npair, W).
      end: where it ends.
      mine: whether the corner is on geom 1's line, (k, npair, W); else on geom 2's.
      crossing: whether it is where the lines cross; else it is where that line begins.
      there: whether there is such a corner.
      point: where it was seen, on geoms 2 if a face of geoms 1 lies on them, else on geoms 1; from the centre of
        geoms 1 in the world frame, m, components (k, npair, W).
    """

    sides: Array
    base: Array
    begin: Array
    end: Array
    mine: Array
    crossing: Array
    there: Array
    point: Vec


def contact_patch(
    types: _Types,
    shapes: _Shapes,
    direction: Vec,
    codes: tuple[Array, Array],
    radius: Array,
    reach: Array,
    asked: Array,
    points: int,
    known: Corners | None = None,
) -> tuple[Points, Corners]:
    """Contact points of faces and edges that lie on each other, from the centres of geoms 1; and which corners stay.

    Args:
      types: types that geoms 1, and geoms 2, may have; those without edges get 0 for all.
      shapes: geoms 1 and geoms 2.
      direction: from geom 1 to geom 2, unit vectors, components (npair, W).
      codes: three corners of each that touch, of meshes rows of `mesh_vert`, (3, npair, W); they may repeat.
      radius: of the balls around geoms 1 (capsules), m, (npair, 1 or W).
      reach: distance at which contacts are detected, m, (npair, 1 or W).
      asked: which pairs touch at all, (npair, W); no faces of others are looked at.
      points: how many are kept, 2 or 4; of an edge there are two.
      known: which corners stay, if that was found before.
    """

    def few(asked: Array, shapes: _Shapes, others: tuple[Vec, tuple[Array, Array], Array]) -> Corners:
        return _kept(types, shapes, *others, asked, points)

    others = (direction, codes, reach + radius)
    kept = of_geoms(few, asked, shapes, others) if known is None else known
    return _contacts(shapes, direction, radius, kept, types=types), kept


def _kept(
    types: _Types,
    shapes: _Shapes,
    direction: Vec,
    codes: tuple[Array, Array],
    highest: Array,
    asked: Array,
    points: int,
) -> Corners:
    """What lies on each other, and which of its corners stay; large faces, which few pairs have, are cut apart."""
    met = meeting(types, shapes, direction, codes)
    asked = asked & (met.flat1 | met.flat2)

    def cut(asked: Array, shapes: _Shapes, others: tuple[Vec, Meeting, Array], large: bool = True) -> Corners:
        return _clipped(types, shapes, *others, asked, points, large)

    large = settled(_large(shapes, met, types=types))
    if large is None or not gathers(asked, shapes, rare=True):
        return cut(asked, shapes, (direction, met, highest), large is not None)
    small = cut(asked & ~large, shapes, (direction, met, highest), large=False)

    def few(asked: Array, shapes: _Shapes, others: tuple[Vec, Meeting, Array]) -> Corners:
        direction, met, highest = others
        return cut(asked, shapes, (direction, _edges_moved(met, -2, 0), highest))

    few_large = of_geoms(
        few, asked & large, shapes, (direction, _edges_moved(met, 0, -2), highest), rare=True
    )
    return jax.tree.map(lambda a, b: jnp.where(large, a, b), few_large, small)


def _edges_moved(met: Meeting, source: int, to: int) -> Meeting:
    """With the pairs of edges on another axis."""
    first, second = (o._replace(edge=jnp.moveaxis(o.edge, source, to)) for o in (met.first, met.second))
    return met._replace(first=first, second=second)


@stage
def _large(shapes: _Shapes, met: Meeting, *, types: _Types) -> Array | None:
    """Which pairs have a large face that lies on the other, (npair, W); None: there are no large ones."""
    found = [
        flat & large_faces(shape, own.side)
        for kinds, shape, own, flat in zip(types, shapes, met[:2], met[2:], strict=True)
        if has_large_faces(kinds, shape)
    ]
    return functools.reduce(jnp.logical_or, found) if found else None


def _clipped(
    types: _Types,
    shapes: _Shapes,
    direction: Vec,
    met: Meeting,
    highest: Array,
    asked: Array,
    points: int,
    large: bool,
) -> Corners:
    """Cuts faces and edges as the C engine does, and chooses from what is left."""
    first, second, flat1, flat2 = met
    polygons = settled(_polygons(shapes, met, types=types, large=large))
    cut = settled(_cutting(shapes, direction, polygons, first, second, flat1, flat2, types=types))
    ring = common_part(cut.by, cut.what, cut.up, asked)
    ring, came = settled(
        on_or_below(ring, (ring.point - _start(cut.by)).dot(cut.up.lifted()) <= highest[:, None])
    )
    places = settled(_ends(ring, cut.what))
    if points > 2:
        both = (flat1 & flat2)[:, None]
        places = jnp.where(
            both, largest_four(ring), jnp.pad(places, ((0, 0), (0, 2), (0, 0)), constant_values=-1)
        )
    sides = [jnp.where(flat, own.side, -1) for own, flat in ((first, flat1), (second, flat2))]
    return settled(_lines(polygons, cut.turned, flat1, sides, ring, came, places))


@stage
def _polygons(shapes: _Shapes, met: Meeting, *, types: _Types, large: bool) -> tuple[Array, Array]:
    """Corners of the faces where they are flat, else of the edges, there and back; of both geoms equally many."""
    faces = [
        faces_at(kinds, shape, own.side, large)
        for kinds, shape, own in zip(types, shapes, met[:2], strict=True)
    ]
    sides = max(face.shape[1] for face in faces)
    first, second = (
        jnp.where(flat[:, None], filled(face, sides), filled(own.edge, sides))
        for face, own, flat in zip(faces, met[:2], met[2:], strict=True)
    )
    return first, second


class _Cut(NamedTuple):
    """What cuts what; corners in the world frame, from the centres of geoms 1, m, components (npair, m, W).

    Attributes:
      by: the face that cuts.
      up: its normal, components (npair, W).
      what: the other's face or edge, from its deeper end.
      turned: whether the edge is turned for that, (npair, W).
    """

    by: Vec
    up: Vec
    what: Vec
    turned: Array


@stage
def _cutting(
    shapes: _Shapes,
    direction: Vec,
    polygons: tuple[Array, Array],
    first: Outline,
    second: Outline,
    flat1: Array,
    flat2: Array,
    *,
    types: _Types,
) -> _Cut:
    """The face that cuts is geom 1's, if that lies on geom 2."""
    one, other = shapes
    polygon1 = corners_at(types[0], one, direction, polygons[0])
    polygon2 = corners_at(types[1], other, -direction, polygons[1]) + (other.pos - one.pos).lifted()
    mine = flat1[:, None]
    by, what = polygon1.where(mine, polygon2), polygon2.where(mine, polygon1)
    up = normals_at(types[0], one, first.side).where(flat1, normals_at(types[1], other, second.side))
    height = what.dot(up.lifted())
    turned = (height[:, 1] < height[:, 0]) & ~(flat1 & flat2)
    return _Cut(by, up, Vec(*(_turned(c, turned) for c in what)), turned)


def _turned(edge: Array, turned: Array) -> Array:
    """An edge as a polygon (npair, m, W) from its other end."""
    return jnp.where(turned[:, None], filled(edge[:, 1::-1], edge.shape[1]), edge)


@stage
def _ends(ring: Ring, edge: Vec) -> Array:
    """Places in the ring of both ends of what is left of an edge, (npair, 2, W); -1 where there is none."""
    run = Vec(*(c[:, 1:2] - c[:, :1] for c in edge))
    along = ring.point.dot(run)
    place = jnp.arange(along.shape[1], dtype=jnp.int32)[:, None]
    inside = place < ring.size[:, None]
    # an end may be listed twice, apart by rounding errors, which must not decide about the order of the two
    eps = float(jnp.finfo(along.dtype).eps)
    near = _ROUNDING * eps * (run.dot(run) + jnp.max(jnp.abs(along), axis=1, keepdims=True))
    found = []
    for sign in (-1, 1):
        high = jnp.where(inside, sign * along, -jnp.inf)
        most = jnp.max(high, axis=1, keepdims=True)
        found.append(first_largest((inside & (high >= most - near)).astype(along.dtype)))
    places = [jnp.minimum(*found), jnp.maximum(*found)]
    ends = jnp.stack([jnp.where(ring.size > 2, p, k) for k, p in enumerate(places)], axis=1)
    return jnp.where(ends < ring.size[:, None], ends, -1)


@stage
def _lines(
    polygons: tuple[Array, Array],
    turned: Array,
    flat1: Array,
    sides: Sequence[Array],
    ring: Ring,
    came: Array,
    places: Array,
) -> Corners:
    """The lines that lead through the corners at some places (npair, k, W) of the ring."""
    there = (places >= 0) & (places < ring.size[:, None])
    places = jnp.maximum(places, 0)
    goes, came, point = (
        entries_at(ring.line, places),
        entries_at(came, places),
        Vec(*(entries_at(c, places) for c in ring.point)),
    )
    mine, m = flat1[:, None], polygons[0].shape[1]
    cutting, cut = jnp.where(mine, *polygons), jnp.where(mine, *polygons[::-1])
    cut = _turned(cut, turned)
    # lines from m on are those of what is cut: a corner on one of those is on it, any other is a corner of what cuts
    on_cut, crossing = jnp.maximum(goes, came) >= m, (goes >= m) != (came >= m)
    own = jnp.where(goes >= m, goes, jnp.where(crossing, came, m)) - m
    other = jnp.where(goes < m, goes, jnp.where(crossing, came, 0))

    def ends(polygon: Array, line: Array) -> tuple[Array, Array]:
        return entries_at(polygon, line), entries_at(polygon, remainder(line + 1, m))

    # the ring goes round as what is cut does, and along the sides that cut from their ends
    of_cut, of_cutting = ends(cut, own), ends(cutting, other)[::-1]
    begin, end = (
        jnp.stack([jnp.where(mine, b, a), jnp.where(mine, a, b)])
        for a, b in zip(of_cut, of_cutting, strict=True)
    )
    base = jnp.stack([polygon[:, :1] for polygon in polygons])
    base, begin, end = (jnp.moveaxis(x, 1, -2) for x in (base, begin, end))
    on1, crossing, there, *point = (jnp.moveaxis(x, 0, -2) for x in (on_cut != mine, crossing, there, *point))
    return Corners(jnp.stack(sides), base, begin, end, on1, crossing, there, Vec(*point))


@long_stage
def _contacts(
    shapes: _Shapes,
    direction: Vec,
    radius: Array,
    kept: Corners,
    *,
    types: _Types,
) -> Points:
    """The corners as points half way between the geoms, where they were seen, with the derivatives of their lines."""
    one, other = shapes
    numbers = jnp.moveaxis(jnp.concatenate([kept.base, kept.begin, kept.end], axis=1), -2, 1)
    mine, crossing, there, *seen = (
        jnp.moveaxis(x, -2, 0) for x in (kept.mine, kept.crossing, kept.there, *kept.point)
    )
    k = mine.shape[1]
    corners1 = corners_at(types[0], one, direction, numbers[0])
    corners2 = corners_at(types[1], other, -direction, numbers[1]) + (other.pos - one.pos).lifted()
    (base1, begin1, end1), (base2, begin2, end2) = (
        (_start(c), Vec(*(x[:, 1 : 1 + k] for x in c)), Vec(*(x[:, 1 + k :] for x in c)))
        for c in (corners1, corners2)
    )
    # a normal that is not used is that of the face of the other
    (side1, side2), flat1 = kept.sides, kept.sides[0] >= 0
    normal2 = normals_at(types[1], other, side2)
    up1 = normals_at(types[0], one, side1).where(flat1, -normal2.where(side2 >= 0, -direction))
    up2 = normal2.where(side2 >= 0, -up1)
    along, facing = up1.lifted(), up2.lifted()

    # where the corner's line crosses the other geom's, seen along the normal
    run1, run2 = end1 - begin1, end2 - begin2
    start, run = begin1.where(mine, begin2), run1.where(mine, run2)
    barrier, across = begin2.where(mine, begin1), run2.where(mine, run1).cross(along)
    slope, level = run.dot(across), (start - barrier).dot(across)
    tiny = _ROUNDING * float(jnp.finfo(slope.dtype).eps)
    steep = crossing & (jnp.square(slope) > tiny * tiny * run.dot(run) * across.dot(across))
    on = start - run * jnp.where(steep, level / jnp.where(steep, slope, 1.0), 0.0)

    # on geom 1, corners of geom 2 straight above; how far from geom 2 is measured along its own normal
    def placed(on: Vec, mine: Array) -> tuple[Vec, Array]:
        rise = (on - base1).dot(along)
        height = jnp.where(mine, (on - base2).dot(facing), -rise * along.dot(facing))
        return on.where(mine, on - along * rise), height

    def moved(x: Array, to: Array) -> Array:
        return x + lax.stop_gradient(to - x)

    (point, height), (seen_point, seen_height) = placed(on, mine), placed(Vec(*seen), ~flat1[:, None])
    point, height = Vec(*map(moved, point, seen_point)), moved(height, seen_height)
    dist = height - radius[:, None]
    normal = -facing
    pos = point + normal * (0.5 * dist + radius[:, None])
    normal = Vec(*(jnp.broadcast_to(c, dist.shape) for c in normal))
    return Points(dist, pos, normal, valid=there)


def _start(vectors: Vec) -> Vec:
    """The first of each pair, components (npair, 1, W)."""
    return Vec(*(c[:, :1] for c in vectors))
