"""Where two geoms lie on each other: up to four points of the common part of two faces, or of a face and an edge.

Both polygons are seen along the normal of a face, and run through in one sense. A corner of their common part is where
an edge of one enters the other, or begins inside it; of an edge both ends stay, and of a face the four corners that
`clip` chooses. Depths are measured along the face's normal, each at its own point, so that a geom that is slightly
tilted is pushed back. The rules are the C engine's. Clipping an edge by half planes: M. Cyrus and J. Beck, "Generalized
two- and three-dimensional clipping" (1978).
"""

from __future__ import annotations

from typing import NamedTuple

import jax.numpy as jnp
from jax import Array, lax

from jaxsim.collision.convex.clip import Ring, common_part, largest_four, on_or_below
from jaxsim.collision.convex.meeting import Meeting
from jaxsim.collision.convex.outline import Outline
from jaxsim.collision.convex.settle import settled
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
    faces = _faces(first, second, direction, flat1, flat2)
    corners = _clipped(faces, flat1, flat2, reach + radius)
    numbers = settled(_ends(*lax.stop_gradient((faces, corners, flat1))))
    chosen = _Corners(*_entries(corners, numbers))
    chosen = chosen._replace(valid=chosen.valid & _differ(numbers))
    if points == 4:
        chosen = _whole(chosen, _four(faces, corners, reach + radius, asked & flat1 & flat2), flat1 & flat2)
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
def _clipped(faces: _Faces, flat1: Array, flat2: Array, highest: Array) -> _Corners:
    """Where the sides of polygons 1, then of polygons 2, enter the other."""
    polygon1, polygon2, up1, up2 = faces
    along, facing = up1.lifted(), up2.lifted()

    # both in one sense of rotation: then every corner of the common part is where an edge enters the other polygon
    start1, run1 = polygon1 + _runs(polygon1), -_runs(polygon1)
    start2, run2 = polygon2, _runs(polygon2)
    size = jnp.sqrt(jnp.sum(run1.dot(run1), axis=1) + jnp.sum(run2.dot(run2), axis=1))
    enter1, inside1 = _entry(start1, run1, start2, run2.cross(along), size)
    enter2, inside2 = _entry(start2, run2, start1, run1.cross(along), size)

    # on geom 1, corners of polygon 2 straight above; how far from geom 2 is measured along its own normal
    on1, on2 = start1 + run1 * enter1, start2 + run2 * enter2
    rise = (on2 - _start(polygon1)).dot(along)
    height1 = (on1 - _start(polygon2)).dot(facing)
    height2 = -rise * along.dot(facing)

    def joined(a: Array, b: Array) -> Array:
        width = jnp.broadcast_shapes(a.shape[-1:], b.shape[-1:])
        return jnp.concatenate([jnp.broadcast_to(x, (*x.shape[:-1], *width)) for x in (a, b)], axis=1)

    valid = joined(inside1 & flat2[:, None], inside2 & flat1[:, None])
    height = joined(height1, height2)
    point = Vec(*map(joined, on1, on2 - along * rise))
    return _Corners(point, height, valid & (height <= highest[:, None]))


def _entry(start: Vec, run: Vec, corners: Vec, outward: Vec, size: Array) -> tuple[Array, Array]:
    """Where edges enter a polygon.

    Args:
      start: where edges begin, components (npair, m, W).
      run: to where they end.
      corners: a point on each side of the polygon, components (npair, k, W).
      outward: normals of the sides in its plane, of any length; sides of length 0 bound nothing.
      size: of both polygons, m, (npair, W).

    Returns:
      the share of the run (npair, m, W), 0 for an edge that begins inside, and whether any of the edge is inside.
    """
    eps = float(jnp.finfo(start.x.dtype).eps)
    snap = _ROUNDING * eps * size[:, None]
    none = outward * 0.0
    outward, _ = unit(outward, none, snap)
    level = _products(start, outward) - corners.dot(outward)[:, None]
    slope = _products(run, outward)
    flat = jnp.abs(slope) <= snap[:, None]
    share = -level / jnp.where(flat, 1.0, slope)
    never = jnp.where(level > snap[:, None], jnp.inf, -jnp.inf)
    enter = jnp.max(jnp.where(flat, never, jnp.where(slope < 0, share, -jnp.inf)), axis=2)
    leave = jnp.min(jnp.where(flat | (slope < 0), jnp.inf, share), axis=2)
    enter = jnp.maximum(enter, 0.0)
    inside = enter <= jnp.minimum(leave, 1.0) + _ROUNDING * eps
    return jnp.minimum(enter, 1.0), inside


def _products(a: Vec, b: Vec) -> Array:
    """Inner products (npair, m, k, W) of vectors (npair, m, W) and (npair, k, W)."""
    return Vec(*(c[:, :, None] for c in a)).dot(b.lifted())


@stage
def _ends(faces: _Faces, corners: _Corners, flat1: Array) -> Array:
    """The numbers of both ends of an edge that lies on a face, (npair, 2, W)."""
    run1, run2 = (Vec(*(c[:, 1] - c[:, 0] for c in polygon)) for polygon in (faces.polygon1, faces.polygon2))
    along = corners.point.dot(run2.where(flat1, run1).lifted())
    ends = [first_largest(jnp.where(corners.valid, sign * along, -jnp.inf)) for sign in (-1, 1)]
    return jnp.stack(ends, axis=1)


@stage
def _differ(numbers: Array) -> Array:
    """All but the second of two equal numbers (npair, 2, W)."""
    return jnp.concatenate([jnp.ones_like(numbers[:, :1], bool), numbers[:, 1:] != numbers[:, :1]], axis=1)


def _four(faces: _Faces, corners: _Corners, highest: Array, asked: Array) -> _Corners:
    """Of faces on each other up to four corners, as the C engine sees them, with the derivatives of ours.

    Polygons of meshes need not be quite flat: heights inside of one are those of what cuts leave of its sides.
    """
    held = lax.stop_gradient(faces)
    ring = common_part(held.polygon1, held.polygon2, held.up1, lax.stop_gradient(asked))
    ring = settled(on_or_below(ring, _seen(held, ring.point)[1] <= highest[:, None]))
    places = largest_four(ring)
    return _as_seen(corners, held, *settled(_picked(ring, places)))


@stage
def _picked(ring: Ring, places: Array) -> tuple[Vec, Array, Array]:
    """Points, lines, and whether they are there, of places in a ring."""
    there = (places < ring.size[:, None]) & (ring.size[:, None] > 0)
    return _at(ring.point, places), entries_at(ring.line, places), there


@stage
def _as_seen(corners: _Corners, faces: _Faces, point: Vec, line: Array, there: Array) -> _Corners:
    """The corners where some lines begin: where they are as `_seen`, with the derivatives of `corners`."""
    seen, height = _seen(faces, point)
    ours = _Corners(*_entries(corners, line))

    def moved(x: Array, to: Array) -> Array:
        return x + lax.stop_gradient(to - x)

    return _Corners(Vec(*map(moved, ours.point, seen)), moved(ours.height, height), there)


def _seen(faces: _Faces, point: Vec) -> tuple[Vec, Array]:
    """Of points of polygons 2 those of polygons 1 straight below, and how far these are from geoms 2."""
    along = faces.up1.lifted()
    rise = (point - _start(faces.polygon1)).dot(along)
    return point - along * rise, -rise * along.dot(faces.up2.lifted())


@stage
def _whole(ends: _Corners, four: _Corners, both: Array) -> _Corners:
    """Four points where faces lie on each other, else those of an edge, (npair, 4, W)."""
    both = both[:, None]

    def chosen(two: Array, many: Array) -> Array:
        return jnp.where(both, many, jnp.pad(two, ((0, 0), (0, 2), (0, 0))))

    return _Corners(
        Vec(*map(chosen, ends.point, four.point)),
        chosen(ends.height, four.height),
        chosen(ends.valid, four.valid),
    )


@stage
def _contacts(corners: _Corners, normal: Vec, radius: Array) -> Points:
    """The corners as points half way between the geoms."""
    dist = corners.height - radius[:, None]
    pos = corners.point + normal.lifted() * (0.5 * dist + radius[:, None])
    normal = Vec(*(jnp.broadcast_to(c[:, None], dist.shape) for c in normal))
    return Points(dist, pos, normal, valid=corners.valid)


def _entries(corners: _Corners, numbers: Array) -> tuple[Vec, Array, Array]:
    return (
        _at(corners.point, numbers),
        entries_at(corners.height, numbers),
        entries_at(corners.valid, numbers),
    )


def _runs(corners: Vec) -> Vec:
    """From each corner to the next."""
    return Vec(*(jnp.roll(c, -1, axis=1) for c in corners)) - corners


def _start(vectors: Vec) -> Vec:
    """The first of each pair, components (npair, 1, W)."""
    return Vec(*(c[:, :1] for c in vectors))


def _at(vectors: Vec, numbers: Array) -> Vec:
    """Vectors, components (npair, m, W), that were chosen of (npair, k, W)."""
    return Vec(*(entries_at(c, numbers) for c in vectors))
