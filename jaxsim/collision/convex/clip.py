"""The common part of two faces as a ring of corners, and the four of them that stay.

Which four of more corners stay decides where forces act, so all is done as in the C engine, whose ring begins where its
clipping leaves it: a polygon is cut by one side of another after the other (I. Sutherland and G. Hodgman, "Reentrant
polygon clipping", 1974), and a walk around the ring ends at a quadrilateral that no single step makes larger. What a
side keeps of a convex polygon is one run of its corners, so each cut is one gather. Nothing here has a derivative.

Where an edge lies on a side, which of the two bounds the common part decides whom its corners follow. Such ties are
broken as if polygon 2 were a little aside, along the same direction in all of a pair: so of two equal faces on each
other one half of the outline is one's, the other half the other's.
"""

from __future__ import annotations

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from jaxsim.collision.convex.settle import settled
from jaxsim.collision.largest import entries_at, entry_at
from jaxsim.collision.vec import Vec, unit
from jaxsim.math.stage import stage
from jaxsim.math.whole import remainder

__all__ = ["Ring", "common_part", "largest_four", "on_or_below"]

_INSIDE = -1e-15
"""Height over a side, m, above which a corner is inside."""
_STEPS = 8
"""Most steps of the walk for each corner."""
_ASIDE = np.array([0.811, 0.487, 0.325])
"""Where polygons 2 are thought to be moved, in the world frame: across no side that lies as people put things."""
_TIE = 64
"""Rounding errors of a polygon's size within which a corner is on a side."""


class Ring(NamedTuple):
    """Corners of a convex polygon in each pair and world, counter-clockwise around the normal of polygon 1.

    Attributes:
      point: the corners, m, components (npair, k, W); the first `size` of them.
      line: which line leads from each to the next, (npair, k, W): a side of polygon 1, or of polygon 2 after those.
      size: how many there are, (npair, W).
    """

    point: Vec
    line: Array
    size: Array


def common_part(first: Vec, second: Vec, normal: Vec, asked: Array) -> Ring:
    """What is left of polygons 2, seen along the normals of polygons 1, when it is cut by the sides of polygons 1.

    Args:
      first: polygons 1, clockwise around their normals, components (npair, m, W), filled up with the first.
      second: polygons 2, clockwise around theirs, which point the other way, or edges, (npair, n, W).
      normal: unit normals of polygons 1, components (npair, W).
      asked: of which pairs and worlds, (npair, W); of others the ring is empty.
    """
    sides, begin = settled(_beginning(first, second, normal, asked))
    last = jnp.max(jnp.where(sides.length > 0, jnp.arange(first.x.shape[1])[:, None] + 1, 0))

    def cut(carry: tuple[Array, Ring]) -> tuple[Array, Ring]:
        number, ring = carry
        return number + 1, settled(_cut(ring, sides, number))

    return lax.while_loop(lambda carry: carry[0] < last, cut, (jnp.zeros((), last.dtype), begin))[1]


class _Sides(NamedTuple):
    """Where sides begin, their unit normals into the polygon, and their lengths, m; (npair, m, W)."""

    start: Vec
    inward: Vec
    length: Array


@stage
def _beginning(first: Vec, second: Vec, normal: Vec, asked: Array) -> tuple[_Sides, Ring]:
    """The sides of polygons 1; and polygons 2, with room for all corners that cuts add."""
    across = _runs(first).cross(normal.lifted())
    inward, length = unit(across, across * 0.0, 0.0)
    m, n = first.x.shape[1], second.x.shape[1]
    run = _runs(second)
    widest = jnp.broadcast_shapes(*(x.shape[-1:] for x in (*across, *run, asked)))

    def wide(x: Array) -> Array:
        return jnp.broadcast_to(x, (*x.shape[:-1], *widest))

    point = Vec(*(wide(jnp.pad(c, ((0, 0), (0, m), (0, 0)))) for c in second))
    line = jnp.broadcast_to(jnp.arange(m, m + n + m, dtype=jnp.int32)[:, None], point.x.shape)
    size = jnp.where(asked, jnp.sum(run.dot(run) > 0, axis=1, dtype=jnp.int32), 0)
    length = jnp.where(asked[:, None] & (across.dot(across) > 0), length, 0.0)
    sides = _Sides(Vec(*map(wide, first)), Vec(*map(wide, inward)), wide(length))
    return sides, Ring(point, line, wide(size))


@stage
def _cut(ring: Ring, sides: _Sides, number: Array) -> Ring:
    """What one side leaves, in the C engine's order.

    It looks at one edge after the other, from the first, and lists where that edge comes back to what stays, and its
    end if that stays: so the new ring begins at the end of the first edge, or where something was cut there.
    """

    def own(x: Array) -> Array:
        return lax.dynamic_index_in_dim(x, number, axis=1)

    point, line, count = ring
    some = jnp.maximum(count, 1)[:, None]
    place = jnp.arange(line.shape[1], dtype=jnp.int32)[:, None]
    inward = Vec(*map(own, sides.inward))
    height = (point - Vec(*map(own, sides.start))).dot(inward)
    there = place < count[:, None]
    inside = there & (height > _INSIDE)
    line = _untied(line, there & (count[:, None] > 2), height, inward, number)
    end = place == count[:, None] - 1
    before = jnp.where(place == 0, jnp.any(inside & end, axis=1, keepdims=True), jnp.roll(inside, 1, axis=1))
    enters = inside & ~before
    kept = jnp.sum(inside, axis=1, keepdims=True, dtype=jnp.int32)
    run = jnp.min(jnp.where(enters, place, line.shape[1]), axis=1, keepdims=True)
    run = jnp.where(run < line.shape[1], run, 0)

    # ends of the edges that come in and go out
    rows = _around(jnp.concatenate([run - 1, run, run + kept - 1, run + kept], axis=1), some)
    corner, level = Vec(*(entries_at(c, rows) for c in point)), entries_at(height, rows)
    fall = level[:, ::2] - level[:, 1::2]
    share = level[:, ::2] / jnp.where(fall == 0, 1.0, fall)
    begins, ends = (Vec(*(c[:, k::2] for c in corner)) for k in (0, 1))
    crossing = begins + (ends - begins) * share
    came = entries_at(line, rows[:, :1])

    # the run, with a crossing before and after it, turned to where the list begins
    turn = jnp.where(inside[:, :1], 2 + jnp.where(run > 0, some - run, 0), 0)
    at = _around(place + turn, kept + 2)
    whole, gone = kept == count[:, None], kept == 0
    source = _around(jnp.where(whole, place + 1, run + at - 1), some)
    is_in, is_out = ~whole & (at == 0), ~whole & (at == kept + 1)
    new = Vec(
        *(
            jnp.where(is_in, x[:, :1], jnp.where(is_out, x[:, 1:], entries_at(c, source)))
            for x, c in zip(crossing, point, strict=True)
        )
    )
    line_after = jnp.where(is_in, came, jnp.where(is_out, number, entries_at(line, source)))
    left = jnp.where(whole, kept, jnp.where(gone, 0, kept + 2))[:, 0]
    cuts = own(sides.length) > 0
    return Ring(
        new.where(cuts, point),
        jnp.where(cuts, line_after, line).astype(line.dtype),
        jnp.where(cuts[:, 0], left, count),
    )


def _untied(line: Array, there: Array, height: Array, inward: Vec, number: Array) -> Array:
    """The lines, of which a side that is asked for replaces those on it that a little aside would be outside.

    An edge by itself, as a polygon without area, keeps its lines: there is no side that could bound it instead.
    """
    size = jnp.max(jnp.where(there, jnp.abs(height), 0.0), axis=1, keepdims=True)
    tied = there & (jnp.abs(height) <= _TIE * float(jnp.finfo(height.dtype).eps) * size)
    last = there & ~jnp.roll(there, -1, axis=1)
    next_tied = jnp.where(last, tied[:, :1], jnp.roll(tied, -1, axis=1))
    leaves = sum(c * d for c, d in zip(inward, _ASIDE, strict=True)) < 0
    return jnp.where(tied & next_tied & leaves, number, line).astype(line.dtype)


def _around(place: Array, count: Array) -> Array:
    """Places up to once around a ring beyond its corners, or before them; divisions of integers take longer."""
    return jnp.where(place < 0, place + count, jnp.where(place >= count, place - count, place))


@stage
def on_or_below(ring: Ring, low: Array) -> tuple[Ring, Array]:
    """The corners that are marked, (npair, k, W), in their order; all that are not follow each other.

    Returns:
      what is left, and which line came to each of its corners in the whole ring, (npair, k, W).
    """
    place = jnp.arange(ring.line.shape[1], dtype=jnp.int32)[:, None]
    low = low & (place < ring.size[:, None])
    kept = jnp.sum(low, axis=1, dtype=jnp.int32)
    leading = jnp.sum(jnp.cumprod(low.astype(jnp.int32), axis=1), axis=1, keepdims=True)
    room = ring.line.shape[1]
    first = jnp.min(jnp.where(low, place, room), axis=1, keepdims=True)
    after = jnp.where(place < leading, place, place + (ring.size - kept)[:, None])
    source = remainder(jnp.where(leading > 0, after, place + first), room)
    before = jnp.where(source > 0, source, jnp.maximum(ring.size, 1)[:, None]) - 1
    left = Ring(Vec(*(entries_at(c, source) for c in ring.point)), entries_at(ring.line, source), kept)
    return left, entries_at(ring.line, before)


class _Walk(NamedTuple):
    """Four places of each ring (npair, 4, W), their area and the phase (npair, W): which of d, c, b moves, or done."""

    places: Array
    best: Array
    area: Array
    phase: Array


_D, _C, _B, _DONE = range(4)


def largest_four(ring: Ring) -> Array:
    """Places of the four corners that stay, (npair, 4, W); of fewer than five corners the first four places.

    From each corner a in turn, d, then c, then b go on around the ring for as long as the area grows.
    """
    start = settled(_first_four(ring))
    limit = _STEPS * ring.line.shape[1]

    def running(carry: tuple[Array, _Walk]) -> Array:
        return (carry[0] < limit) & jnp.any(carry[1].phase != _DONE)

    def go_on(carry: tuple[Array, _Walk]) -> tuple[Array, _Walk]:
        return carry[0] + 1, settled(_step(ring, carry[1]))

    return lax.while_loop(running, go_on, (jnp.zeros((), jnp.int32), start))[1].best


@stage
def _first_four(ring: Ring) -> _Walk:
    places = jnp.broadcast_to(
        jnp.arange(4, dtype=jnp.int32)[:, None], (*ring.size.shape[:1], 4, *ring.size.shape[1:])
    )
    phase = jnp.where(ring.size > 4, _D, _DONE)
    return _Walk(places, places, _area(ring, places), phase)


@stage
def _step(ring: Ring, walk: _Walk) -> _Walk:
    """Tries one step; one that fails gives the next corner its turn, or ends what begins at a."""
    count = jnp.maximum(ring.size, 1)
    moves = np.arange(3, -1, -1)[:, None] == walk.phase[:, None]
    trial = _around(walk.places + moves, count[:, None])
    area = _area(ring, trial)
    running = walk.phase != _DONE
    better = running & (area > walk.area)
    a, b, c, d = (walk.places[:, k] for k in range(4))
    # places that a runs into move on
    on = [_around(x + 1, count) for x in (b, c, d)]
    meets_b = b == a
    b = jnp.where(meets_b, on[0], b)
    meets_c = meets_b & (c == b)
    c = jnp.where(meets_c, on[1], c)
    d = jnp.where(meets_c & (d == c), on[2], d)
    over = running & ~better & (walk.phase == _D)
    moved = jnp.stack([a + 1, b, c, d], axis=1)
    places = jnp.where(better[:, None], trial, jnp.where(over[:, None], moved, walk.places))
    failed = jnp.where(walk.phase == _C, _B, _D)
    phase = jnp.where(better, jnp.where(walk.phase == _D, _C, walk.phase), failed)
    phase = jnp.where(running & ~(over & (a + 1 >= ring.size)), phase, _DONE)
    return _Walk(
        places,
        jnp.where(better[:, None], trial, walk.best),
        jnp.where(better, area, walk.area),
        phase,
    )


def _area(ring: Ring, places: Array) -> Array:
    """Of quadrilaterals, m^2 (npair, W)."""
    a, b, c, d = (Vec(*(entry_at(x, places[:, k]) for x in ring.point)) for k in range(4))
    vector = (c - a).cross(d - b)
    return 0.5 * jnp.sqrt(vector.dot(vector))


def _runs(corners: Vec) -> Vec:
    """From each corner to the next, and from the last to the first; components (npair, k, W)."""
    return Vec(*(jnp.roll(c, -1, axis=1) for c in corners)) - corners
