"""The distance between two cores: Gilbert, Johnson and Keerthi's algorithm, all pairs and worlds in one loop.

A simplex of vertices of the difference moves towards the origin: each round finds the vertex w farthest against its
nearest point x and puts it in the place of a corner that x does not need. x . w / |x| bounds the distance from below,
|x| from above; when they meet, x is the shortest vector between the cores. A pair is done then, or when it is known to
be out of reach, or when the simplex contains the origin. Source: as of `simplex` and `difference`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import jax.numpy as jnp
from jax import Array, lax

from jaxsim.collision.convex.difference import Pair, Vertex, farthest, pick, smooth_rows, stack_vertices
from jaxsim.collision.convex.settle import settled
from jaxsim.collision.convex.simplex import Closest, closest_to_origin
from jaxsim.collision.points import Search
from jaxsim.collision.vec import Vec
from jaxsim.math.one_kernel import where_it_fits_in_one_kernel
from jaxsim.math.stage import stage

__all__ = ["Nearest", "nearest"]


class Nearest(NamedTuple):
    """Where the search ended; components (npair, W).

    Attributes:
      corners: four corners of the simplex, (4, npair, W); some may repeat.
      weights: of the corners at the nearest point, (4, npair, W).
      point: the point of the simplex nearest to the origin, m.
      square: its squared distance, m^2.
      far: whether the cores are known to be farther apart than the reach.
      meet: whether the cores touch or overlap.
    """

    corners: Vertex
    weights: Array
    point: Vec
    square: Array
    far: Array
    meet: Array


_ANGLE = 1e-6
"""Error of the shortest vector's direction, rad, from rounding, below which cores that are nearer than the tolerance
count as apart; and the share of the distance that is left to find, where that is less than the tolerance."""
_ROUNDING, _TURN = 32, 5e-3
"""Error of the shortest vector in units of rounding of the vertices, and that of its direction, rad, from which on
Newton's method does not find a curved core's normal (float32): such cores touch, however small the tolerance."""
_RESTS, _MOVES, _MEETS, _FAR = range(4)
"""What becomes of a pair: its nearest point stays, moves, the cores meet, they are out of reach."""


class _State(NamedTuple):
    found: Nearest
    running: Array
    rounds: Array


def nearest(pairs: Sequence[Pair], reach: Array, search: Search) -> Nearest:
    """The point of the difference nearest to the origin.

    Args:
      pairs: the cores, kind by kind; below npair are all of them.
      reach: distance of the cores above which nothing is asked, m, (npair, W).
      search: which are asked at all (npair, W); most rounds; the tolerance is the distance below which cores touch
        that are curved, or where rounding leaves no better one (float32), and the error of smooth distances.
    """
    return where_it_fits_in_one_kernel(_nearest, "nearest", search.active, pairs, reach, search)


def _nearest(pairs: Sequence[Pair], reach: Array, search: Search) -> Nearest:
    """The same, in the program at hand or in a kernel of lanes."""
    offset = Vec(*(c + jnp.zeros_like(reach) for c in Vec.concat([p.pose.pos for p in pairs])))
    first = farthest(pairs, offset)
    zero = jnp.zeros_like(reach)
    none = zero > 0
    weights = jnp.stack([zero + 1, zero, zero, zero])
    point = first.point
    found = Nearest(stack_vertices([first] * 4), weights, point, point.dot(point), none, none)
    eps, smooth = float(jnp.finfo(zero.dtype).eps), smooth_rows(pairs)
    touch = jnp.minimum(search.tolerance, eps / _ANGLE * jnp.sqrt(found.square))
    share = jnp.zeros_like(touch)
    if smooth is not None:  # the search of curved cores that overlap may come to rest near their surface
        touch = jnp.where(smooth, search.tolerance, touch)
        share = jnp.where(smooth, _ROUNDING * eps / _TURN, share)
    state = _State(found, search.active, jnp.zeros((), jnp.int32))

    return lax.while_loop(
        lambda s: jnp.any(s.running), lambda s: _round(pairs, reach, (touch, share), search, s), state
    ).found


def _round(
    pairs: Sequence[Pair], reach: Array, touch: tuple[Array, Array], search: Search, state: _State
) -> _State:
    """Puts one vertex into the simplex of each pair."""
    old = state.found
    new = farthest(pairs, -old.point)
    corners = pick(_first_free(old.weights), new, old.corners)
    closest = closest_to_origin(corners.point)
    verdict = settled(_verdict(state, new.point, closest, reach, touch, search))
    found = _moved(old, corners, closest, verdict)
    count = state.rounds + 1
    return _State(found, (verdict == _MOVES) & (count < search.iterations), count)


@stage
def _verdict(
    state: _State, w: Vec, closest: Closest, reach: Array, touch: tuple[Array, Array], search: Search
) -> Array:
    """What becomes of each pair: one of the numbers above, (npair, W).

    Cores touch that are nearer than a distance, m, or than a share of that of the farthest vertex.
    """
    x, square = state.found.point, state.found.square
    eps = jnp.finfo(square.dtype).eps
    along = x.dot(w)
    # the first vertex may itself be rounding, as where two corners coincide
    size = jnp.sqrt(w.dot(w))
    least = jnp.maximum(jnp.minimum(search.tolerance, eps / _ANGLE * size), touch[1] * size)
    touched = square <= jnp.square(jnp.maximum(touch[0], least))
    error = jnp.minimum(0.5 * search.tolerance * search.tolerance, _ANGLE * square)
    # the gap between the bounds, |x| (|x| - distance); below rounding it cannot shrink
    close = square - along <= jnp.maximum(error, 8 * eps * square)
    far = (along > 0) & (along * along > reach * reach * square)
    stalled = closest.square >= square * (1 - 4 * eps)
    rest = jnp.where(closest.inside, _MEETS, jnp.where(stalled, _RESTS, _MOVES))
    verdict = jnp.where(touched, _MEETS, jnp.where(far, _FAR, jnp.where(close, _RESTS, rest)))
    return jnp.where(state.running, verdict, _RESTS)


@stage
def _moved(old: Nearest, corners: Vertex, closest: Closest, verdict: Array) -> Nearest:
    """The next simplex: `corners` with their weights where x moves, all of them where the origin is inside."""
    move, meet = verdict == _MOVES, verdict == _MEETS
    kept = move | (meet & closest.inside)
    point = Vec(*(_weighted(closest.weights, c) for c in corners.point))
    return Nearest(
        pick(kept, corners, old.corners),
        jnp.where(move, closest.weights, old.weights),
        point.where(move, old.point),
        jnp.where(move, closest.square, old.square),
        old.far | (verdict == _FAR),
        old.meet | meet,
    )


@stage
def _first_free(weights: Array) -> Array:
    """Marks the first corner of weight 0, (4, npair, W)."""
    free = weights <= 0
    before = free[0]
    first = [free[0]]
    for n in range(1, 4):
        first.append(free[n] & ~before)
        before = before | free[n]
    return jnp.stack(first)


def _weighted(weights: Array, values: Array) -> Array:
    return weights[0] * values[0] + weights[1] * values[1] + weights[2] * values[2] + weights[3] * values[3]
