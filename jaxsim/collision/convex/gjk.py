"""The distance between two cores: Gilbert, Johnson and Keerthi's algorithm, all pairs and worlds in one loop.

A simplex of vertices of the difference moves towards the origin: each round finds the vertex w farthest against its
nearest point x and puts it in the place of a corner that x does not need. x . w / |x| bounds the distance from below,
|x| from above; when they meet, x is the shortest vector between the cores. A pair is done then, or when it is known to
be out of reach, or when the simplex contains the origin. Source: as of `simplex` and `difference`.
"""

from __future__ import annotations

from typing import NamedTuple

import jax.numpy as jnp
from jax import Array, lax

from jaxsim.collision.convex.difference import Pair, Vertex, farthest, pick, stack_vertices
from jaxsim.collision.convex.simplex import closest_to_origin
from jaxsim.collision.convex.solid import Kind
from jaxsim.collision.vec import Vec

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


class _State(NamedTuple):
    found: Nearest
    running: Array
    count: Array


def nearest(
    kinds: tuple[Kind, Kind], pair: Pair, reach: Array, active: Array, iterations: Array, tolerance: Array
) -> Nearest:
    """The point of the difference nearest to the origin.

    Args:
      kinds: what the two cores are the sums of.
      pair: the cores.
      reach: distance of the cores above which nothing is asked, m, (npair, W).
      active: pairs that are asked at all, (npair, W).
      iterations: most rounds, scalar.
      tolerance: distance below which cores touch, and error of smooth distances, m; scalar.
    """
    offset = Vec(*(c + jnp.zeros_like(reach) for c in pair.offset))
    first = farthest(kinds, pair, offset)
    zero = jnp.zeros_like(reach)
    none = zero > 0
    weights = jnp.stack([zero + 1, zero, zero, zero])
    point = first.point
    found = Nearest(stack_vertices([first] * 4), weights, point, point.dot(point), none, none)
    state = _State(found, active, jnp.zeros((), jnp.int32))

    def going(s: _State) -> Array:
        return jnp.any(s.running) & (s.count < iterations)

    return lax.while_loop(going, lambda s: _round(kinds, pair, reach, tolerance, s), state).found


def _round(
    kinds: tuple[Kind, Kind], pair: Pair, reach: Array, tolerance: Array, state: _State
) -> _State:
    """Puts one vertex into the simplex of each pair."""
    old = state.found
    x, square = old.point, old.square
    eps = jnp.finfo(square.dtype).eps
    new = farthest(kinds, pair, -x)
    along = x.dot(new.point)
    # the gap between the bounds, |x| (|x| - distance); below rounding it cannot shrink
    close = square - along <= jnp.maximum(0.5 * tolerance * tolerance, 8 * eps * square)
    far = (along > 0) & (along * along > reach * reach * square)
    touch = square <= tolerance * tolerance

    corners = pick(_first_free(old.weights), new, old.corners)
    p = corners.point
    closest = closest_to_origin(p)
    stalled = closest.square >= square * (1 - 4 * eps)
    inside = closest.inside & ~close
    stop = close | far | touch | (stalled & ~inside)
    move = state.running & ~stop
    weights = jnp.where(move & ~inside, closest.weights, old.weights)
    place = Vec(*(_weighted(closest.weights, c) for c in p))
    found = Nearest(
        pick(move, corners, old.corners),
        weights,
        place.where(move & ~inside, x),
        jnp.where(move & ~inside, closest.square, square),
        old.far | (state.running & far & ~touch),
        old.meet | (state.running & (touch | (inside & ~stop))),
    )
    return _State(found, move & ~inside, state.count + 1)


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
