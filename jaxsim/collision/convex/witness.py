"""The shortest vector between two geoms from the features that touch: closed forms, differentiable.

With a, b the corners' shares, e1, e2 the support points of curved parts and n the unit normal, the nearest points are
x1 = a + e1(n) and x2 = b + e2(-n), and

    x1 - x2 = h n,   n . g = 0 for every edge g of a touching face,   distance = -h.

The search gives n nearly, one Newton step on these equations exactly, and the implicit function theorem its
derivatives, of any order. The distance obeys the envelope theorem by itself. Sources: G. van den Bergen (as of
`difference`); J. Nocedal and S. Wright, "Numerical Optimization", chapter 11.

A flat contact leaves the nearest points open. There they keep their places on one geom's face as it moves.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array, lax

from jaxsim.collision.convex.difference import Pair, of_asked, smooth_rows
from jaxsim.collision.convex.features import Corners, Features
from jaxsim.collision.convex.normal import exact_normal
from jaxsim.collision.convex.polish import FAR, Polish, acceptable, overlap_along, polished
from jaxsim.collision.convex.settle import settled
from jaxsim.collision.convex.solid import solid_of
from jaxsim.collision.convex.touching import (
    Choice,
    Core,
    Side,
    choose,
    exactly,
    frame_of,
    pick,
    points,
    sides_of,
)
from jaxsim.collision.points import Shape
from jaxsim.collision.vec import Vec
from jaxsim.math.one_kernel import where_it_fits_in_one_kernel
from jaxsim.math.stage import long_stage

__all__ = ["Held", "Witness", "hold", "shortest"]


class Witness(NamedTuple):
    """Nearest points, relative to the centre of geom 1, components (npair, W).

    Attributes:
      dist: signed distance, m.
      normal: unit normal from geom 1 to geom 2, world frame.
      first: point of geom 1, m, world frame.
      second: point of geom 2, m, world frame.
    """

    dist: Array
    normal: Vec
    first: Vec
    second: Vec


class Held(NamedTuple):
    """What is held fixed of each pair: found without derivative.

    Attributes:
      normal: the normal before a last Newton step, world frame, components (npair, W).
      corners: what touches.
      overlap: a bound of the overlap of curved geoms, m (npair, W); None: there are none.
      taken: whether the last step is taken, (npair, W); None: it is not known yet.
    """

    normal: Vec
    corners: Corners
    overlap: Array | None
    taken: Array | None = None


def hold(
    pairs: list[Pair],
    types: tuple[Sequence[int], Sequence[int]],
    shapes: tuple[Shape, Shape],
    features: Features,
) -> Held:
    """What is held fixed, with exact normals of curved geoms.

    Args:
      pairs: the cores as they were searched, kind by kind.
      types: types that geoms 1, and geoms 2, may have.
      shapes: geoms 1 and geoms 2.
      features: what touches.
    """
    base, corners, overlap = shapes[0].axes.to_world(features.normal), features.corners, None
    smooth = smooth_rows(pairs)
    if smooth is not None:

        def few(
            asked: Array, pairs: list[Pair], shapes: tuple[Shape, Shape], others: tuple[Corners, Vec]
        ) -> Polish:
            return polished(pairs, *_cores(types, shapes), *others, asked)

        wanted = smooth & ~features.far
        found = of_asked(few, wanted, pairs, types, shapes, (corners, base))
        base, overlap = found.normal.where(wanted, base), found.overlap
        corners = jax.tree.map(lambda new, old: jnp.where(wanted, new, old), found.corners, corners)
    return lax.stop_gradient(Held(base, corners, overlap))


def shortest(
    pairs: list[Pair] | None,
    types: tuple[Sequence[int], Sequence[int]],
    shapes: tuple[Shape, Shape],
    held: Held,
) -> tuple[Witness, Held]:
    """Distance, normal and nearest points of each pair.

    Args:
      pairs: the cores as they were searched, kind by kind; None: it is known whether the last step is taken.
      types: types that geoms 1, and geoms 2, may have.
      shapes: geoms 1 and geoms 2.
      held: what touches.

    Returns:
      and what is held fixed, all of it known.
    """
    core1, core2 = _cores(types, shapes)
    slack = jnp.asarray(exactly(held.normal.x), held.normal.x.dtype)
    choice = settled(choose(*lax.stop_gradient((core1, core2)), held.corners, held.normal, slack))
    return _evaluate(pairs, core1, core2, held, choice)


def _cores(types: tuple[Sequence[int], Sequence[int]], shapes: tuple[Shape, Shape]) -> tuple[Core, Core]:
    """Both geoms of each pair, of all types together."""
    one, other = (Core(shape.pose, solid_of(own, shape)) for own, shape in zip(types, shapes, strict=True))
    return one, other


@long_stage
def _evaluate(
    pairs: Sequence[Pair] | None, core1: Core, core2: Core, held: Held, choice: Choice
) -> tuple[Witness, Held]:
    """The last Newton step and what follows from its normal; the part that is differentiated."""
    base, smooth = held.normal, smooth_rows([Pair(core1.solid, core2.solid, core2.pose)])
    side1, side2 = _centred(core1, core2, *sides_of(core1, core2, held.corners, base, choice), base, choice)
    normal = exact_normal(core1, core2, side1, side2, base, choice, FAR)
    if smooth is not None:
        new = lax.stop_gradient(normal)
        if pairs is not None:
            args = (pairs, *lax.stop_gradient((core1, core2)), held, new, smooth)
            held = where_it_fits_in_one_kernel(_judged, "judged", new.x, *args)
        assert held.overlap is not None
        assert held.taken is not None
        # where the step is not taken, its derivative is
        normal = normal + (new.where(held.taken, base) - new)
    first, second = points(core1, core2, side1, side2, normal)
    gap = first - second
    height = gap.dot(normal)
    if smooth is not None:
        # to rounding the same, and the bound that holds whatever the features are worth
        assert held.overlap is not None
        height = height + lax.stop_gradient(jnp.where(smooth, held.overlap - height, 0.0))
    # how the nearest points slide along the edges so that nothing is left between them across the normal
    move1, move2 = _moves(
        side1, side2, choice, _shares(side1, side2, choice, normal, gap - normal * gap.dot(normal))
    )
    radius1, radius2 = core1.solid.ball, core2.solid.ball
    witness = Witness(
        -height - radius1 - radius2,
        normal,
        first + move1 + normal * radius1,
        second + move2 - normal * radius2,
    )
    return witness, held


def _judged(pairs: Sequence[Pair], core1: Core, core2: Core, held: Held, new: Vec, smooth: Array) -> Held:
    """Whether the step to a new normal is taken, and the bound of the overlap after that."""
    assert held.overlap is not None
    after, _ = overlap_along(pairs, core1, new)
    taken = acceptable(core1, core2, held.normal, held.overlap, new, after) | ~smooth
    return held._replace(overlap=jnp.where(taken, after, held.overlap), taken=taken)


def _centred(
    core1: Core,
    core2: Core,
    side1: Side,
    side2: Side,
    base: Vec,
    choice: Choice,
) -> tuple[Side, Side]:
    """Both cores with exact shares of the corners: the search's are so to its tolerance, and turn with the geom."""
    first, second = points(core1, core2, side1, side2, base)
    gap = first - second
    shares = lax.stop_gradient(_shares(side1, side2, choice, base, gap - base * gap.dot(base)))
    move1, move2 = _moves(side1, side2, choice, shares)
    return side1._replace(centre=side1.centre + move1), side2._replace(centre=side2.centre + move2)


def _shares(side1: Side, side2: Side, choice: Choice, base: Vec, off: Vec) -> tuple[Array, Array]:
    """Multiples of the two edges by which `off` is left between the nearest points across the normal."""
    edges = [*side1.edges, *side2.edges]
    # any frame does
    t, u = frame_of([e.stop() for e in edges], choice, base.stop())
    one, two = pick(edges, choice.one), pick(edges, choice.two)
    # edges of geom 2 move its point, and so the gap the other way
    one, two = one.where(choice.one < 2, -one), two.where(choice.two < 2, -two)
    some1, some2 = choice.one >= 0, choice.two >= 0
    a, b = jnp.where(some1, one.dot(t), 1.0), two.dot(t)
    c, d = one.dot(u), jnp.where(some2, two.dot(u), 1.0)
    p, q = jnp.where(some1, -off.dot(t), 0.0), jnp.where(some2, -off.dot(u), 0.0)
    inverse = 1.0 / (a * d - b * c)
    return (d * p - b * q) * inverse, (a * q - c * p) * inverse


def _moves(side1: Side, side2: Side, choice: Choice, shares: tuple[Array, Array]) -> tuple[Vec, Vec]:
    """The motions of both nearest points along the edges."""
    edges = [*side1.edges, *side2.edges]
    none = edges[0] * 0.0
    first, second = none, none
    for number, share in zip((choice.one, choice.two), shares, strict=True):
        move = pick(edges, number) * share
        first, second = first + move.where(number < 2, none), second + none.where(number < 2, move)
    return first, second
