"""Where two geoms are nearest, or deepest in each other, by descent on their distance functions.

The greater of two distances is least where both are equal and their gradients point at each other: midway between the
surfaces. From each of many starting points a descent steps to where the distances are equal, and along the sum of the
gradients; a step that does not help is taken back and shortened, its length follows Barzilai and Borwein (1988). All
pairs, starting points and worlds descend in one loop. None of it is differentiated.
"""

from __future__ import annotations

from typing import NamedTuple

import jax.numpy as jnp
from jax import Array, lax

from jaxsim.collision.field.shapes import Field
from jaxsim.collision.largest import entry_at, first_largest
from jaxsim.collision.points import Shape
from jaxsim.collision.vec import Frame, Vec

__all__ = ["descend", "spread", "starts"]

_ROUNDS = 5
"""Steps of a descent for one of `opt.sdf_iterations`: each of the C engine's tries several step lengths."""


def starts(shape1: Shape, shape2: Shape, box1: tuple[Vec, Vec], box2: tuple[Vec, Vec], share: Array) -> Vec:
    """Points in the part of the boxes of geoms 2 that may meet those of geoms 1, (npair, k, W), world frame.

    Args:
      shape1: geoms 1.
      shape2: geoms 2.
      box1: centre and half sizes of geoms 1, in their frames, m; infinite for planes.
      box2: centre and half sizes of geoms 2, in their frames, m.
      share: points in the unit cube (k, 3, 1).
    """
    (centre2, half2), pos, axes = box2, shape2.pos, shape2.axes
    centre1 = axes.to_local(shape1.pos + shape1.axes.to_world(box1[0]) - pos)
    bounded = jnp.isfinite(box1[1].x)
    half1 = box1[1].where(bounded, Vec(*(jnp.zeros_like(h) for h in box1[1])))
    turned = Frame(*(axes.to_local(axis) for axis in shape1.axes))
    reach = Frame(*(Vec(*map(jnp.abs, axis)) for axis in turned)).to_world(half1)
    sides = []
    for c1, h1, c2, h2 in zip(centre1, reach, centre2, half2, strict=True):
        low = jnp.where(bounded, jnp.clip(c1 - h1, c2 - h2, c2 + h2), c2 - h2)
        high = jnp.where(bounded, jnp.clip(c1 + h1, c2 - h2, c2 + h2), c2 + h2)
        sides.append((low[:, None], high[:, None]))
    points = (low + (high - low) * share[:, k] for k, (low, high) in enumerate(sides))
    return pos.lifted() + axes.lifted().to_world(Vec(*points))


class _State(NamedTuple):
    """Of each descent (npair, k, W).

    Attributes:
      x: the best point so far.
      worst: the greater of its two distances, m.
      back: what a step goes back along: the sum of the gradients, across their difference.
      level: step to where the distances are equal, m.
      length: of the next step, m.
      touch: the first point whose greater distance was below the bound.
      touched: whether there was one.
    """

    x: Vec
    worst: Array
    back: Vec
    level: Vec
    length: Array
    touch: Vec
    touched: Array


def descend(
    first: Field, second: Field, x: Vec, bound: Array, longest: Array, iterations: Array
) -> tuple[Vec, Vec]:
    """Ends of the descents from points x, and where each first came below a bound; components (npair, k, W).

    The first are the deepest points, the others lie all over the patch in which the geoms overlap.

    Args:
      first: distances of geoms 1.
      second: distances of geoms 2.
      x: starting points, world frame.
      bound: of the greater distance, m (npair, 1 or W).
      longest: length that steps start from, m (npair, 1 or W).
      iterations: `opt.sdf_iterations`, (1,).
    """
    bound, longest = bound[:, None], longest[:, None]

    def look(x: Vec) -> tuple[Array, Vec, Vec]:
        (f1, g1), (f2, g2) = first.at(x), second.at(x)
        apart, both = g1 - g2, g1 + g2
        square = apart.dot(apart)
        opposed = square > 1e-3
        scale = jnp.where(opposed, 1 / jnp.where(opposed, square, 1), 0)
        back = both - apart * (both.dot(apart) * scale)
        return jnp.maximum(f1, f2), back, apart * ((f2 - f1) * scale)

    def step(_: Array, s: _State) -> _State:
        """Tries the next point, and keeps it if it is better."""
        x = s.x + s.level - s.back * s.length
        worst, back, level = look(x)
        better = worst < s.worst
        move, turn = x - s.x, back - s.back
        curved = move.dot(turn)
        guess = jnp.where(curved > 0, move.dot(move) / jnp.where(curved > 0, curved, 1), 2 * s.length)
        guess = jnp.where(jnp.isfinite(s.worst), guess, 0.25 * s.length)
        length = jnp.where(better, jnp.clip(guess, 0.1 * s.length, 10 * s.length), 0.25 * s.length)
        now = _State(
            x.where(better, s.x),
            jnp.where(better, worst, s.worst),
            back.where(better, s.back),
            level.where(better, s.level),
            jnp.minimum(length, longest),
            s.touch,
            s.touched,
        )
        near = now.level.dot(now.level) <= 1e-4 * longest * longest
        new = ~s.touched & near & (now.worst < bound)
        return now._replace(touch=now.x.where(new, s.touch), touched=s.touched | new)

    shape = jnp.broadcast_shapes(*(c.shape for c in x), longest.shape)
    x = Vec(*(jnp.broadcast_to(c, shape) for c in x))
    still = Vec(*(jnp.zeros_like(c) for c in x))
    length = jnp.broadcast_to(longest, shape)
    # the first step goes nowhere: it looks at the starting point
    start = _State(x, jnp.full_like(length, jnp.inf), still, still, length, x, jnp.zeros(shape, bool))
    end = lax.fori_loop(0, 1 + _ROUNDS * iterations[0], step, start)
    return end.x, end.touch.where(end.touched, end.x)


def spread(x: Vec, value: Array, valid: Array, count: int, apart: Array) -> tuple[Array, Array]:
    """Chooses points: the least value, then each time the one farthest from those chosen.

    Args:
      x: points, components (npair, k, W).
      value: of each.
      valid: which may be chosen.
      count: how many at most.
      apart: least distance of the chosen points, m (npair, 1 or W).

    Returns:
      which points (npair, count, W), and whether each is one.
    """

    def choose(gap: Array, rank: Array) -> tuple[Array, tuple[Array, Array]]:
        """The point of greatest rank, and how far all others are from it at most."""
        index = first_largest(rank)
        there = Vec(*(entry_at(c, index) for c in x))
        offset = x - there.lifted()
        return jnp.minimum(gap, offset.dot(offset)), (index, entry_at(valid & (rank > -jnp.inf), index))

    gap, (index, filled) = choose(
        jnp.full(value.shape, jnp.inf, value.dtype), jnp.where(valid, -value, -jnp.inf)
    )
    square = jnp.square(apart)[:, None]

    def more(gap: Array, _: None) -> tuple[Array, tuple[Array, Array]]:
        return choose(gap, jnp.where(valid & (gap > square), gap, -jnp.inf))

    _, (rest, others) = lax.scan(more, gap, length=count - 1)
    rows = jnp.concatenate([index[None], rest]), jnp.concatenate([filled[None], others])
    return jnp.moveaxis(rows[0], 0, 1), jnp.moveaxis(rows[1], 0, 1)
