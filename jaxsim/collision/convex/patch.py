"""Where two geoms lie on each other: up to four points of the common part of two faces, or of a face and an edge.

Both polygons are seen along the normal of a face, and run through in one sense. A corner of their common part is where
an edge of one enters the other, or begins inside it; of an edge both ends stay, and of a face the four corners that
`clip` chooses. Depths are measured along the face's normal, each at its own point, so that a geom that is slightly
tilted is pushed back. The rules are the C engine's. Clipping an edge by half planes: M. Cyrus and J. Beck, "Generalized
two- and three-dimensional clipping" (1978).
"""

from __future__ import annotations

import functools
from typing import NamedTuple

import jax.numpy as jnp
from jax import Array, lax

from jaxsim.collision.convex.clip import Ring, common_part, largest_four, on_or_below, runs
from jaxsim.collision.convex.meeting import Meeting
from jaxsim.collision.convex.outline import Outline
from jaxsim.collision.convex.settle import settled
from jaxsim.collision.convex.touched import where_asked
from jaxsim.collision.largest import entries_at, first_largest
from jaxsim.collision.points import Points
from jaxsim.collision.vec import Vec, unit
from jaxsim.math.stage import stage

__all__ = ["contact_patch"]

_ROUNDING = 64
"""Rounding errors of a polygon's size up to which a point counts as inside."""


class _Corners(NamedTuple):
    """Points of each pair; components (npair, k, W).

    Attributes:
      point: on geom 1, m.
      height: distance of the polygons there, m.
      valid: whether it is a corner of the common part.
    """

    point: Vec
    height: Array
    valid: Array


class _Faces(NamedTuple):
    """Polygons that lie on each other, clockwise around their outward unit normals; see `_polygon`."""

    polygon1: Vec
    polygon2: Vec
    up1: Vec
    up2: Vec


def contact_patch(
    meeting: Meeting, direction: Vec, radius: Array, reach: Array, asked: Array, points: int
) -> Points:
    """Contact points of faces and edges that lie on each other.

    Args:
      meeting: faces and edges that lie on each other, relative to the same point.
      direction: from geom 1 to geom 2, unit vectors, components (npair, W).
      radius: of the balls around geoms 1 (capsules), m, (npair, 1 or W).
      reach: distance at which contacts are detected, m, (npair, 1 or W).
      asked: which pairs touch at all, (npair, W); no faces of others are looked at.
      points: how many are kept, 2 or 4; of an edge there are two.
    """
    first, second, flat1, flat2 = meeting
    faces, highest = _faces(first, second, direction, flat1, flat2), reach + radius
    wanted = asked & (flat1 | flat2)
    seen = lax.stop_gradient(faces)
    kept = where_asked(functools.partial(_kept, points), wanted, seen, flat1, flat2, highest)
    chosen = _clipped(faces, flat1, flat2, highest, kept.line)._replace(valid=kept.there)
    if kept.point is not None:
        chosen = _as_seen(chosen, seen, kept.point, flat1 & flat2)
    return _contacts(chosen, -faces.up2, radius)


def _polygon(side: Outline, flat: Array) -> Vec:
    """The face where it is `flat`, else the edge as a polygon without area."""
    sides = side.face.x.shape[1]
    edge = Vec(*(jnp.concatenate([c[:, :1]] + [c[:, 1:]] * (sides - 1), axis=1) for c in side.edge))
    return side.face.where(flat[:, None], edge)


@stage
def _faces(first: Outline, second: Outline, direction: Vec, flat1: Array, flat2: Array) -> _Faces:
    """Polygons; a normal that is not used is that of the face of the other."""
    up1 = first.normal.where(flat1, -second.normal.where(flat2, -direction))
    up2 = second.normal.where(flat2, -up1)
    return _Faces(_polygon(first, flat1), _polygon(second, flat2), up1, up2)


@stage
def _clipped(faces: _Faces, flat1: Array, flat2: Array, highest: Array, lines: Array) -> _Corners:
    """Where some sides of polygons 1 and 2, by number (npair, m, W), enter the other polygon."""
    polygon1, polygon2, up1, up2 = faces
    along, facing = up1.lifted(), up2.lifted()
    run1, run2 = -runs(polygon1), runs(polygon2)
    size = jnp.sqrt(jnp.sum(run1.dot(run1), axis=1) + jnp.sum(run2.dot(run2), axis=1))
    mine = lines < polygon1.x.shape[1]

    # both in one sense of rotation: then every corner of the common part is where an edge enters the other polygon
    (a1, b1), (a2, b2) = _ends_of(polygon1, lines), _ends_of(polygon2, lines - polygon1.x.shape[1])
    start, run = b1.where(mine, a2), (a1 - b1).where(mine, b2 - a2)
    sides1, sides2 = (polygon1, run1.cross(along)), (polygon2, run2.cross(along))
    enter, inside = _entry(start, run, mine, sides1, sides2, size)

    # on geom 1, corners of polygon 2 straight above; how far from geom 2 is measured along its own normal
    on = start + run * enter
    rise = (on - _start(polygon1)).dot(along)
    height = jnp.where(mine, (on - _start(polygon2)).dot(facing), -rise * along.dot(facing))
    valid = inside & jnp.where(mine, flat2[:, None], flat1[:, None])
    return _Corners(on.where(mine, on - along * rise), height, valid & (height <= highest[:, None]))


def _ends_of(polygon: Vec, sides: Array) -> tuple[Vec, Vec]:
    """Both ends of sides by number, of numbers that are none anything."""
    count = polygon.x.shape[1]
    return _at(polygon, sides % count), _at(polygon, (sides + 1) % count)


_Sides = tuple[Vec, Vec]
"""A point on each side of polygons and its normal in the plane, of any length, components (npair, k, W)."""


def _entry(
    start: Vec, run: Vec, mine: Array, sides1: _Sides, sides2: _Sides, size: Array
) -> tuple[Array, Array]:
    """Where edges of one polygon enter the other.

    Args:
      start: where edges begin, components (npair, m, W).
      run: to where they end.
      mine: which are of polygons 1, (npair or nothing, m, 1 or W).
      sides1: of polygons 1; those without a normal bound nothing.
      sides2: of polygons 2.
      size: of both polygons, m, (npair, W).

    Returns:
      the share of the run (npair, m, W), 0 for an edge that begins inside, and whether any of the edge is inside.
    """
    eps = float(jnp.finfo(start.x.dtype).eps)
    snap = _ROUNDING * eps * size[:, None]
    most = max(corners.x.shape[1] for corners, _ in (sides1, sides2))
    planes: list[tuple[Vec, Array]] = []
    for corners, outward in (sides1, sides2):
        outward, _ = unit(outward, outward * 0.0, snap)
        more = ((0, 0), (0, most - corners.x.shape[1]), (0, 0))
        normal, offset = (jnp.pad(c, more) for c in outward), jnp.pad(corners.dot(outward), more)
        planes.append((Vec(*(c[:, None] for c in normal)), offset[:, None]))
    (normal1, offset1), (normal2, offset2) = planes
    mine = mine[..., None, :]
    outward, offset = normal2.where(mine, normal1), jnp.where(mine, offset2, offset1)
    level = Vec(*(c[:, :, None] for c in start)).dot(outward) - offset
    slope = Vec(*(c[:, :, None] for c in run)).dot(outward)
    snap = snap[:, None]
    flat = jnp.abs(slope) <= snap
    share = -level / jnp.where(flat, 1.0, slope)
    never = jnp.where(level > snap, jnp.inf, -jnp.inf)
    enter = jnp.max(jnp.where(flat, never, jnp.where(slope < 0, share, -jnp.inf)), axis=2)
    leave = jnp.min(jnp.where(flat | (slope < 0), jnp.inf, share), axis=2)
    enter = jnp.maximum(enter, 0.0)
    inside = enter <= jnp.minimum(leave, 1.0) + _ROUNDING * eps
    return jnp.minimum(enter, 1.0), inside


class _Kept(NamedTuple):
    """Which corners stay.

    Attributes:
      line: the number of the side that begins there, those of polygons 1 first, (npair, 2 or 4, W).
      there: whether it is there.
      point: of faces, where the C engine sees it, on polygons 2, m, components (npair, 4, W); None if not asked.
    """

    line: Array
    there: Array
    point: Vec | None


def _kept(points: int, asked: Array, faces: _Faces, flat1: Array, flat2: Array, highest: Array) -> _Kept:
    """Cuts faces and edges as the C engine does, and chooses from what is left."""
    ring = _ring(faces, flat1, flat2, highest, asked)
    lines = _both_ways(faces, flat1)
    corners = settled(_clipped(faces, flat1, flat2, highest, lines))
    numbers, there = settled(_ends(corners, faces, flat1, ring))
    ends = entries_at(lines, numbers), there
    if points < 4:
        return _Kept(*ends, None)
    return _Kept(*settled(_of_faces(faces, ring, largest_four(ring), flat1 & flat2, *ends)))


@stage
def _of_faces(
    faces: _Faces, ring: Ring, places: Array, both: Array, line: Array, there: Array
) -> tuple[Array, Array, Vec]:
    """Four corners where faces lie on each other, else the two of an edge."""
    sides, most = faces.polygon1.x.shape[1], max(polygon.x.shape[1] for polygon in faces[:2])
    own = entries_at(ring.line, places)
    # in a ring the lines of polygons 2 follow as many as either has
    own = jnp.where(own < most, own, own + sides - most)

    def chosen(four: Array, two: Array) -> Array:
        return jnp.where(both[:, None], four, jnp.pad(two, ((0, 0), (0, 2), (0, 0))))

    return chosen(own, line), chosen(places < ring.size[:, None], there), _at(ring.point, places)


def _ring(faces: _Faces, flat1: Array, flat2: Array, highest: Array, asked: Array) -> Ring:
    """What is left of a face or an edge that is cut by a face, as the C engine lists it, up to a height over that face.

    A clipped edge is a polygon that comes back: where the edge is cut are two corners. So of an edge whose other end is
    above the face there may be one point or the same point twice.
    """
    cutting, cut, up = settled(_cutting(faces, flat1, flat2))
    ring = common_part(cutting, cut, up, asked)
    return settled(on_or_below(ring, (ring.point - _start(cutting)).dot(up.lifted()) <= highest[:, None]))


@stage
def _cutting(faces: _Faces, flat1: Array, flat2: Array) -> tuple[Vec, Vec, Vec]:
    """The face that cuts, the other's face or edge, from its deeper end, and the normal of the first."""
    sides = max(faces.polygon1.x.shape[1], faces.polygon2.x.shape[1])

    def filled(polygon: Vec) -> Vec:
        more = ((0, 0), (0, sides - polygon.x.shape[1]), (0, 0))
        return Vec(*(jnp.pad(c, more, mode="edge") for c in polygon))

    polygon1, polygon2, mine = filled(faces.polygon1), filled(faces.polygon2), flat1[:, None]
    cutting, cut, up = (
        polygon1.where(mine, polygon2),
        polygon2.where(mine, polygon1),
        faces.up1.where(flat1, faces.up2),
    )
    # an edge is its first corner, and then the other
    height = cut.dot(up.lifted())
    turn = (height[:, 1:2] < height[:, :1]) & ~(flat1 & flat2)[:, None]
    turned = Vec(*(jnp.concatenate([c[:, 1:2], *[c[:, :1]] * (sides - 1)], axis=1) for c in cut))
    return cutting, turned.where(turn, cut), up


def _both_ways(faces: _Faces, flat1: Array) -> Array:
    """The numbers of the sides that are an edge and the way back, if the other polygon is a face, (npair, 2, W)."""
    sides1, sides2 = (polygon.x.shape[1] for polygon in faces[:2])
    there, back = (jnp.where(flat1, sides1 + a, b) for a, b in ((0, 0), (sides2 - 1, sides1 - 1)))
    return jnp.stack([there, back], axis=1).astype(jnp.int32)


@stage
def _ends(corners: _Corners, faces: _Faces, flat1: Array, ring: Ring) -> tuple[Array, Array]:
    """The numbers of the corners at both ends of what is left of an edge, and whether they are there, (npair, 2, W)."""
    run1, run2 = (Vec(*(c[:, 1] - c[:, 0] for c in polygon)) for polygon in (faces.polygon1, faces.polygon2))
    run, up = run2.where(flat1, run1), faces.up1.where(flat1, faces.up2)
    # seen from above the face, where points of the edge and those below them are at one place
    run = (run - up * run.dot(up)).lifted()
    along = corners.point.dot(run)
    ends = [first_largest(jnp.where(corners.valid, sign * along, -jnp.inf)) for sign in (-1, 1)]
    low, high = (entries_at(along, end[:, None]) for end in ends)
    place = jnp.arange(ring.line.shape[1], dtype=jnp.int32)[:, None]
    left = ring.point.dot(run)
    inside = place < ring.size[:, None]
    far = [first_largest(jnp.where(inside, sign * left, -jnp.inf)) for sign in (-1, 1)]
    places = [jnp.minimum(*far), jnp.maximum(*far)]
    places = jnp.stack([jnp.where(ring.size > 2, p, k) for k, p in enumerate(places)], axis=1)
    here = entries_at(left, places)
    numbers = jnp.where(jnp.abs(here - low) <= jnp.abs(here - high), *(end[:, None] for end in ends))
    there = (place[:2] < ring.size[:, None]) & entries_at(corners.valid, numbers)
    return numbers, there


@stage
def _as_seen(corners: _Corners, faces: _Faces, point: Vec, both: Array) -> _Corners:
    """Corners of faces that lie on each other as the C engine sees them, with the derivatives they have.

    Polygons of meshes need not be quite flat: heights inside of one are those of what cuts leave of its sides.

    Args:
      corners: the corners.
      faces: the polygons.
      point: where the C engine sees them on polygons 2, m, components (npair, 4, W).
      both: in which pairs faces lie on each other, (npair, W).
    """
    along = faces.up1.lifted()
    rise = (point - _start(faces.polygon1)).dot(along)

    def moved(x: Array, to: Array) -> Array:
        return x + lax.stop_gradient(jnp.where(both[:, None], to - x, 0.0))

    height = moved(corners.height, -rise * along.dot(faces.up2.lifted()))
    return _Corners(Vec(*map(moved, corners.point, point - along * rise)), height, corners.valid)


@stage
def _contacts(corners: _Corners, normal: Vec, radius: Array) -> Points:
    """The corners as points half way between the geoms."""
    dist = corners.height - radius[:, None]
    pos = corners.point + normal.lifted() * (0.5 * dist + radius[:, None])
    normal = Vec(*(jnp.broadcast_to(c[:, None], dist.shape) for c in normal))
    return Points(dist, pos, normal, valid=corners.valid)


def _start(vectors: Vec) -> Vec:
    """The first of each pair, components (npair, 1, W)."""
    return Vec(*(c[:, :1] for c in vectors))


def _at(vectors: Vec, numbers: Array) -> Vec:
    """Vectors, components (npair, m, W), that were chosen of (npair, k, W)."""
    return Vec(*(entries_at(c, numbers) for c in vectors))
