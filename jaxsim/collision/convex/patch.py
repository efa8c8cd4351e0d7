"""Where two geoms lie on each other: up to four points of the common part of two faces, or of a face and an edge.

Both polygons are seen along the normal of a face, and run through in one sense. A corner of their common part is where
an edge of one enters the other, or begins inside it; of more than four corners those stay that span the largest area.
Depths are measured along the face's normal, each at its own point, so that a geom that is slightly tilted is pushed
back. The rules are the C engine's. Clipping an edge by half planes: M. Cyrus
and J. Beck, "Generalized two- and three-dimensional clipping" (1978).
"""

from __future__ import annotations

import itertools
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from jaxsim.collision.convex.meeting import Meeting
from jaxsim.collision.convex.outline import Outline
from jaxsim.collision.convex.settle import settled
from jaxsim.collision.largest import entries_at, entry_at, first_largest
from jaxsim.collision.points import Points
from jaxsim.collision.vec import Vec, unit
from jaxsim.math.stage import stage

__all__ = ["contact_patch"]

_ROUNDING = 64
"""Rounding errors of a polygon's size up to which a point counts as inside."""
_LEAN = 0.01
"""Part of an area that is given up so that rounding errors do not choose between corners."""
_SLIM = 0.01
"""Part of the square of a diagonal below which a quadrilateral's area does not count."""
_SMALL = 1e-5
"""A corner that adds less than this part of the square of the longest diagonal is not counted."""


_ROUNDS = 2
"""How often four corners are exchanged for better ones: nearly always enough for the largest area."""
_STAY = 1e-6
"""Part of an area, or of the square of a diagonal, that is not worth an exchange."""
_DIAGONALS = np.array(list(itertools.combinations(range(4), 2)))
"""The pairs of four corners."""


class _Corners(NamedTuple):
    """Candidates of each pair; components (npair, k, W).

    Attributes:
      point: on geom 1, m.
      height: distance of the polygons there, m.
      valid: whether it is a corner of the common part.
    """

    point: Vec
    height: Array
    valid: Array


def contact_patch(meeting: Meeting, direction: Vec, radius: Array, reach: Array, points: int) -> Points:
    """Contact points of faces and edges that lie on each other.

    Args:
      meeting: faces and edges that lie on each other, relative to the same point.
      direction: from geom 1 to geom 2, unit vectors, components (npair, W).
      radius: of the balls around geoms 1 (capsules), m, (npair, 1 or W).
      reach: distance at which contacts are detected, m, (npair, 1 or W).
      points: how many are kept, 2 or 4; of an edge there are two.
    """
    first, second, flat1, flat2 = meeting
    corners, normal, toward = _clipped(first, second, direction, flat1, flat2, reach + radius)
    point, up = corners.point.stop(), normal.stop()
    numbers = settled(_first(point, corners.valid, up, toward))[:, None]
    used = jnp.any(corners.valid, axis=1, keepdims=True)
    for _ in range(points - 1):
        number, more = settled(_next(point, corners.valid, up, numbers))
        numbers = jnp.concatenate([numbers, number[:, None]], axis=1)
        used = jnp.concatenate([used, used[:, -1:] & more[:, None]], axis=1)
    if points == 4:

        def exchange(_: int, numbers: Array) -> Array:
            return jnp.where(used[:, 3:], settled(_wider(point, corners.valid, up, numbers)), numbers)

        numbers = lax.fori_loop(0, _ROUNDS, exchange, numbers)
    return _contacts(corners, normal, radius, numbers, used)


def _polygon(side: Outline, flat: Array) -> Vec:
    """The face where it is `flat`, else the edge as a polygon without area."""
    sides = side.face.x.shape[1]
    edge = Vec(*(jnp.concatenate([c[:, :1]] * (sides - 1) + [c[:, 1:]], axis=1) for c in side.edge))
    return side.face.where(flat[:, None], edge)


@stage
def _clipped(
    first: Outline, second: Outline, direction: Vec, flat1: Array, flat2: Array, highest: Array
) -> tuple[_Corners, Vec, Vec]:
    """Corners of the common part, and the contact's normal: that of a face of geom 2, or else of geom 1.

    The last is a direction across the normal that turns with geom 1, (npair, 1, W), without derivative.
    """
    # a normal that is not used is that of the face of the other
    up1 = first.normal.where(flat1, -second.normal.where(flat2, -direction))
    up2 = second.normal.where(flat2, -up1)
    normal, along = -up2, up1.lifted()
    polygon1, polygon2 = _polygon(first, flat1), _polygon(second, flat2)

    # both in one sense of rotation: then every corner of the common part is where an edge enters the other polygon
    start1, run1 = polygon1, _runs(polygon1)
    start2, run2 = polygon2 + _runs(polygon2), -_runs(polygon2)
    size = jnp.sqrt(jnp.sum(run1.dot(run1), axis=1) + jnp.sum(run2.dot(run2), axis=1))
    enter1, inside1 = _entry(start1, run1, start2, run2.cross(along), size)
    enter2, inside2 = _entry(start2, run2, start1, run1.cross(along), size)

    # on geom 1, corners of polygon 2 straight above; how far from geom 2 is measured along its own normal
    on1, on2 = start1 + run1 * enter1, start2 + run2 * enter2
    rise = (on2 - _start(polygon1)).dot(along)
    height1 = (on1 - _start(polygon2)).dot(up2.lifted())
    height2 = -rise * along.dot(up2.lifted())

    def joined(a: Array, b: Array) -> Array:
        width = jnp.broadcast_shapes(a.shape[-1:], b.shape[-1:])
        return jnp.concatenate([jnp.broadcast_to(x, (*x.shape[:-1], *width)) for x in (a, b)], axis=1)

    valid = joined(inside1 & flat2[:, None], inside2 & flat1[:, None])
    height = joined(height1, height2)
    point = Vec(*map(joined, on1, on2 - along * rise))
    corner = _start(polygon1) - Vec(*(jnp.mean(c, axis=1, keepdims=True) for c in polygon1))
    toward = corner + _start(run1) * 0.1
    return _Corners(point, height, valid & (height <= highest[:, None])), normal, toward.stop()


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
    return jnp.where(inside, enter, 0.0), inside


def _products(a: Vec, b: Vec) -> Array:
    """Inner products (npair, m, k, W) of vectors (npair, m, W) and (npair, k, W)."""
    return Vec(*(c[:, :, None] for c in a)).dot(b.lifted())


@stage
def _first(point: Vec, valid: Array, normal: Vec, toward: Vec) -> Array:
    """The candidate whose diagonal splits the largest quadrilateral; of nearly equal ones that in a direction."""
    apart = _between(point, point)
    square = jnp.where(valid[:, None], apart.dot(apart), -jnp.inf)
    farthest = jnp.argmax(square, axis=2)
    diagonal = _at(point, farthest) - point
    aside = Vec(*(c[:, :, None] for c in diagonal)).cross(apart).dot(Vec(*(c[:, None, None] for c in normal)))
    aside = jnp.where(valid[:, None], aside, 0.0)
    area = jnp.max(aside, axis=2) - jnp.min(aside, axis=2)
    # what lies on a line has no area but that of roundings: there the longest decides
    area = jnp.maximum(area, _SLIM * jnp.max(square, axis=2))
    lean = point.dot(toward) / toward.dot(toward)
    return first_largest(jnp.where(valid, area * (1 + _LEAN * lean), -jnp.inf))


def _between(a: Vec, b: Vec) -> Vec:
    """From each of a (npair, m, W) to each of b (npair, k, W): components (npair, m, k, W)."""
    return Vec(*(y[:, None] - x[:, :, None] for x, y in zip(a, b, strict=True)))


@stage
def _next(point: Vec, valid: Array, normal: Vec, numbers: Array) -> tuple[Array, Array]:
    """The candidate that adds most to the length, then to the area, of what is there; and whether it adds any."""
    there = _at(point, numbers)
    held = [Vec(*(c[:, k] for c in there)) for k in range(numbers.shape[1])]
    if len(held) == 1:
        away = point - held[0].lifted()
        gain = away.dot(away)
        least = _ROUNDING * jnp.finfo(gain.dtype).eps * held[0].dot(held[0])
    else:
        axis = normal.lifted()
        turn = jnp.ones_like(held[0].x)
        if len(held) == 3:
            turn = (held[1] - held[0]).cross(held[2] - held[0]).dot(normal)
            turn = jnp.where(turn >= 0, 1.0, -1.0).astype(turn.dtype)
        areas = []
        for one, other in zip(held, [*held[1:], held[0]], strict=True):
            area = (other - one).lifted().cross(point - one.lifted()).dot(axis)
            areas.append(jnp.abs(area) if len(held) == 2 else -area * turn[:, None])
        gain = areas[0]
        for area in areas[1:]:
            gain = jnp.maximum(gain, area)
        long = held[1] - held[0]
        least = _SMALL * long.dot(long)
    number = first_largest(jnp.where(valid, gain, -jnp.inf))
    return number, entry_at(jnp.where(valid, gain, -jnp.inf), number) > least


@stage
def _wider(point: Vec, valid: Array, normal: Vec, numbers: Array) -> Array:
    """The largest quadrilateral that has two of the four candidates for a diagonal, and the others beside it.

    Four candidates are given by number, (npair, 4, W), and returned so.
    """
    held = _at(point, numbers)
    begin, end = (Vec(*(c[:, ends] for c in held)) for ends in _DIAGONALS.T)
    diagonal = end - begin
    across = normal.lifted().cross(diagonal)
    # of every candidate over every diagonal, (npair, 6, k, W)
    height = _between(begin, point).dot(Vec(*(c[:, :, None] for c in across)))
    # of equal ones those that are there, whatever the roundings
    mine = jnp.any(numbers[:, :, None] == jnp.arange(valid.shape[1])[:, None], axis=1)
    bonus = jnp.where(mine[:, None], _STAY * diagonal.dot(diagonal)[:, :, None], 0.0)
    sides = jnp.stack([height, -height], axis=1)
    beside = jnp.where(valid[:, None, None], sides + bonus[:, None], -jnp.inf)
    number = first_largest(beside.reshape(-1, *beside.shape[3:])).reshape(*sides.shape[:3], -1)
    area = jnp.sum(jnp.take_along_axis(sides, number[:, :, :, None], axis=3)[:, :, :, 0], axis=1)
    ends = [numbers[:, ends] for ends in _DIAGONALS.T]
    found = jnp.stack([*ends, number[:, 0], number[:, 1]], axis=2)  # (npair, diagonal, 4, W)
    best = jnp.zeros_like(area[:, 0])
    for k in range(len(_DIAGONALS)):
        better = area[:, k] > best * (1 + _STAY)
        best = jnp.where(better, area[:, k], best)
        numbers = jnp.where(better[:, None], found[:, k], numbers)
    return numbers


@stage
def _contacts(corners: _Corners, normal: Vec, radius: Array, numbers: Array, used: Array) -> Points:
    """The candidates of the given numbers, (npair, points, W), half way between the geoms."""
    dist = entries_at(corners.height, numbers) - radius[:, None]
    pos = _at(corners.point, numbers) + normal.lifted() * (0.5 * dist + radius[:, None])
    normal = Vec(*(jnp.broadcast_to(c[:, None], dist.shape) for c in normal))
    return Points(dist, pos, normal, valid=used)


def _runs(corners: Vec) -> Vec:
    """From each corner to the next."""
    return Vec(*(jnp.roll(c, -1, axis=1) for c in corners)) - corners


def _start(vectors: Vec) -> Vec:
    """The first of each pair, components (npair, 1, W)."""
    return Vec(*(c[:, :1] for c in vectors))


def _at(vectors: Vec, numbers: Array) -> Vec:
    """Vectors, components (npair, m, W), that were chosen of (npair, k, W)."""
    return Vec(*(entries_at(c, numbers) for c in vectors))
