"""From the search's normal of curved geoms to the exact one: Newton steps that never make the overlap larger."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import jax.numpy as jnp
from jax import Array, lax

from jaxsim.collision.convex.difference import Pair, Vertex, farthest
from jaxsim.collision.convex.features import Corners
from jaxsim.collision.convex.normal import exact_normal
from jaxsim.collision.convex.settle import settled
from jaxsim.collision.convex.touching import Choice, Core, choose, exactly, sides_of
from jaxsim.collision.vec import Vec
from jaxsim.math.asked import rounds_if_any
from jaxsim.math.one_kernel import where_it_fits_in_one_kernel
from jaxsim.math.stage import stage

__all__ = ["FAR", "Polish", "acceptable", "overlap_along", "polished"]

_STEPS = 8
"""Newton steps from the search's normal to the exact one, for curved geoms."""
_NEARLY = 2e-2
"""Sine of the angle between an edge and the plane across the search's normal up to which it may touch.

Steps with such edges and steps with only those that are exactly across take turns: an edge that touches
is across after a step, one that does not is let go.
"""
FAR = 1e-2
"""Length of a last Newton step (rad) that shows that there is no solution near: none is taken."""


class Polish(NamedTuple):
    """Of the way to the exact normal of curved geoms, (npair, W).

    Attributes:
      normal: so far, world frame, components (npair, W).
      overlap: along it, m.
      share: of the next step that is taken.
      corners: what touches.
    """

    normal: Vec
    overlap: Array
    share: Array
    corners: Corners


def polished(
    pairs: Sequence[Pair], core1: Core, core2: Core, corners: Corners, normal: Vec, smooth: Array
) -> Polish:
    """The exact normal of curved geoms, the overlap along it, and what touches.

    Newton's method from the search's normal, with steps that shorten the overlap or widen the distance. The axes of
    disks, where the equations have no derivative, are tried as they are. The last step is taken with the edges that are
    exactly across: what the overlap tells of the normal ends at the root of rounding errors, and derivatives are as
    exact as the normal. A step that is no better may be so because of a corner that the search did not come to: it is
    one of those that touch from there on.
    """
    args = lax.stop_gradient((pairs, core1, core2, corners, normal, smooth))
    return where_it_fits_in_one_kernel(_polished, "polished", smooth, *args)


@stage
def _polished(
    pairs: Sequence[Pair], core1: Core, core2: Core, corners: Corners, normal: Vec, smooth: Array
) -> Polish:
    """The same, in the program at hand or in a kernel of lanes."""
    axes, allowed = [], [normal.x < jnp.inf]
    for core in (core1, core2):
        if core.solid.disk is not None:
            turn = jnp.where(core.pose.axes.z.dot(normal) > 0, 1.0, -1.0).astype(normal.x.dtype)
            axes.append(core.pose.axes.z * turn)
            allowed.append(core.solid.disk)
    tried = Vec(*(jnp.stack(jnp.broadcast_arrays(*c)) for c in zip(normal, *axes, strict=True)))
    allowed = jnp.stack(jnp.broadcast_arrays(*allowed))

    def attempt(count: Array, state: tuple[Vec, Array]) -> tuple[Vec, Array]:
        n, value = state
        new = Vec(*(c[count] for c in tried))
        height = overlap_along(pairs, core1, new)[0]
        # of equal ones the axis, so that it is found exactly
        slack = jnp.where(value < jnp.inf, 8 * jnp.finfo(value.dtype).eps * jnp.abs(value), 0.0)
        better = allowed[count] & settled(_at_most(height, value + slack))
        return new.where(better, n), jnp.where(better, height, value)

    def step(count: Array, state: Polish) -> Polish:
        """A step; one that is no better is shortened."""
        n, value, share, corners = state
        last = count == _STEPS
        slack = jnp.where((count % 2 == 0) & ~last, _NEARLY, exactly(value)).astype(value.dtype)
        choice = settled(choose(core1, core2, corners, n, slack))
        full = _next(core1, core2, corners, n, choice)
        new = full.where(last, (n + (full - n) * share).unit())
        height, corner = overlap_along(pairs, core1, new)
        kept, lower = settled((acceptable(core1, core2, n, value, new, height), _at_most(height, value)))
        better = jnp.where(last, kept, lower) & smooth
        corners = _joined(corners, corner, smooth & ~lower & ~last)
        share = jnp.where(better, 1.0, 0.3 * share)
        return Polish(new.where(better, n), jnp.where(better, height, value), share, corners)

    first = (normal, jnp.full_like(normal.x, jnp.inf))
    normal, value = lax.fori_loop(0, len(tried.x), attempt, first)
    start = Polish(normal, value, jnp.ones_like(value), corners)
    return lax.fori_loop(0, rounds_if_any(smooth, _STEPS + 1), step, start)


@stage
def _next(core1: Core, core2: Core, f: Corners, n: Vec, choice: Choice) -> Vec:
    return exact_normal(core1, core2, *sides_of(core1, core2, f, n, choice), n, choice, 1.0)


def overlap_along(pairs: Sequence[Pair], core1: Core, n: Vec) -> tuple[Array, Vertex]:
    """The support function of the difference: the overlap along a direction, m; and the vertex that is so far."""
    direction = core1.pose.axes.to_local(n)
    vertex = farthest(pairs, direction)
    return vertex.point.dot(direction), vertex


@stage
def _joined(f: Corners, corner: Vertex, some: Array) -> Corners:
    """With a vertex among those that touch, if there is room for it: one of the three that is another one again."""
    same = [[(f.code1[i] == f.code1[j]) & (f.code2[i] == f.code2[j]) for j in range(i)] for i in (1, 2)]
    new = some & ~((f.code1 == corner.code1) & (f.code2 == corner.code2)).any(axis=0)
    places = [new & same[0][0], new & ~same[0][0] & (same[1][0] | same[1][1])]
    a, b, c = f.weights
    first = a + jnp.where(places[0], b, jnp.where(places[1] & same[1][0], c, 0.0))
    second = jnp.where(places[0], 0.0, b + jnp.where(places[1] & ~same[1][0], c, 0.0))

    def put(codes: Array, code: Array) -> Array:
        return jnp.stack(
            [codes[0], *(jnp.where(p, code, old) for p, old in zip(places, codes[1:], strict=True))]
        )

    shares = jnp.stack([first, second, jnp.where(places[1], 0.0, c)])
    return Corners(put(f.code1, corner.code1), put(f.code2, corner.code2), shares)


@stage
def _at_most(one: Array, other: Array) -> Array:
    return one <= other


@stage
def acceptable(core1: Core, core2: Core, old: Vec, before: Array, new: Vec, after: Array) -> Array:
    """Whether a step from one normal to another is short and does not make the overlap larger.

    It does where not all corners of a face that touches were found.
    """
    size = sum((jnp.abs(c) for c in core2.pose.pos - core1.pose.pos), start=jnp.abs(before))
    step = new - old
    return (after <= before + 64 * jnp.finfo(after.dtype).eps * size) & (step.dot(step) < FAR * FAR)
