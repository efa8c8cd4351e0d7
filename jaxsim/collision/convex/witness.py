"""The shortest vector between two geoms from the features that touch: closed forms, differentiable.

With a, b the corners' shares, e1, e2 the support points of curved parts and n the unit normal, the nearest points are
x1 = a + e1(n) and x2 = b + e2(-n), and

    x1 - x2 = h n,   n . g = 0 for every edge g of a touching face,   distance = -h.

The search gives n nearly; one Newton step on these equations, differentiated with its matrix held fixed, gives the
exact derivative: the implicit function theorem. The distance obeys the envelope theorem by itself. Sources: G. van den
Bergen (as of `difference`); J. Nocedal and S. Wright, "Numerical Optimization", chapter 11.

A flat contact leaves the nearest points open. There they keep their places on one geom's face as it moves.
"""

from __future__ import annotations

from typing import NamedTuple

import jax.numpy as jnp
from jax import Array, lax

from jaxsim.collision.convex.curved import bend, curved_point, disk_point, height_along, is_disk
from jaxsim.collision.convex.features import Features
from jaxsim.collision.convex.settle import settled
from jaxsim.collision.convex.solid import Kind, corner_point, radius_of, solid_of
from jaxsim.collision.points import Shape
from jaxsim.collision.vec import Vec
from jaxsim.math.stage import stage

__all__ = ["Witness", "shortest"]

_STEPS = 8
"""Newton steps from the search's normal to the exact one, for curved geoms."""
_NEARLY = 2e-2
"""Sine of the angle between an edge and the plane across the search's normal up to which it may touch.

Steps with such edges and steps with only those that are exactly across take turns: an edge that touches
is across after a step, one that does not is let go.
"""
_FAR = 1e-2
"""Length of a last Newton step (rad) that shows that there is no solution near: none is taken."""
_PARALLEL = 1e-6
"""Squared sine of the angle of edges that count as one direction."""


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


class _Choice(NamedTuple):
    """What is held fixed, (npair, W).

    Attributes:
      flat1: whether geom 1 is a disk that touches with its face.
      flat2: the same of geom 2.
      one: the first edge of touching faces: 0, 1 of geom 1, 2, 3 of geom 2, -1 none.
      two: a second one, not parallel to the first.
    """

    flat1: Array
    flat2: Array
    one: Array
    two: Array


class _Side(NamedTuple):
    """One core, in the world frame; components (npair, W).

    Attributes:
      centre: the corners' shares, relative to the centre of geom 1, m.
      edges: two edges of the touching face, 0: none.
      fixed: where a disk touches with its face, its point, relative to the disk's centre.
      flat: whether it does.
    """

    centre: Vec
    edges: tuple[Vec, Vec]
    fixed: Vec
    flat: Array


def shortest(kinds: tuple[Kind, Kind], shape1: Shape, shape2: Shape, features: Features) -> Witness:
    """Distance, normal and nearest points of each pair."""
    held1, held2 = lax.stop_gradient((shape1, shape2))
    base = held1.axes.to_world(features.normal)
    if kinds[0].smooth or kinds[1].smooth:
        base = _polished(held1, held2, features, base, kinds=kinds)
    slack = jnp.asarray(_exactly(base.x), base.x.dtype)
    if kinds[0].smooth or kinds[1].smooth:
        # what the overlap tells of the normal ends at the root of rounding errors, and derivatives are as exact as it
        choice = settled(_choose(held1, held2, features, base, slack, kinds=kinds))
        base = _kept(
            held1, held2, base, _next(held1, held2, features, base, choice, kinds=kinds), kinds=kinds
        )
    choice = settled(_choose(held1, held2, features, base, slack, kinds=kinds))
    return _evaluate(shape1, shape2, features, base, choice, kinds=kinds)


@stage
def _polished(shape1: Shape, shape2: Shape, f: Features, normal: Vec, *, kinds: tuple[Kind, Kind]) -> Vec:
    """The exact normal: Newton's method from the search's, with steps that shorten the overlap or widen the distance.

    The axes of disks, where the equations have no derivative, are tried as they are.
    """

    def step(count: Array, state: tuple[Vec, Array, Array]) -> tuple[Vec, Array, Array]:
        n, value, share = state
        slack = jnp.where(count % 2 == 0, _NEARLY, _exactly(value)).astype(value.dtype)
        choice = settled(_choose(shape1, shape2, f, n, slack, kinds=kinds))
        full = _next(shape1, shape2, f, n, choice, kinds=kinds)
        new = _unit(n + (full - n) * share)
        height = _height(shape1, shape2, new, kinds=kinds)
        better = height <= value
        return new.where(better, n), jnp.where(better, height, value), jnp.where(better, 1.0, 0.3 * share)

    value = _height(shape1, shape2, normal, kinds=kinds)
    for kind, axis in zip(kinds, (shape1.axes.z, shape2.axes.z), strict=True):
        if is_disk(kind):
            axis = axis * jnp.where(axis.dot(normal) > 0, 1.0, -1.0).astype(value.dtype)
            height = _height(shape1, shape2, axis, kinds=kinds)
            # of equal ones the axis, so that it is found exactly
            better = height <= value + 8 * jnp.finfo(value.dtype).eps * jnp.abs(value)
            normal, value = axis.where(better, normal), jnp.where(better, height, value)
    return lax.fori_loop(0, _STEPS, step, (normal, value, jnp.ones_like(value)))[0]


@stage
def _height(shape1: Shape, shape2: Shape, n: Vec, *, kinds: tuple[Kind, Kind]) -> Array:
    """The support function of the difference: the overlap along a direction, m."""
    reach = height_along(kinds[0], shape1, n) + height_along(kinds[1], shape2, -n)
    return reach - (shape2.pos - shape1.pos).dot(n)


@stage
def _kept(shape1: Shape, shape2: Shape, old: Vec, new: Vec, *, kinds: tuple[Kind, Kind]) -> Vec:
    """A normal after a short step, or the old one where the step was long or made the overlap larger.

    It does where not all corners of a face that touches were found.
    """
    height = _height(shape1, shape2, old, kinds=kinds)
    slack = 64 * jnp.finfo(height.dtype).eps * (jnp.abs(height) + shape1.size.x + shape2.size.x)
    step = new - old
    better = _height(shape1, shape2, new, kinds=kinds) <= height + slack
    return new.where(better & (step.dot(step) < _FAR * _FAR), old)


@stage
def _next(
    shape1: Shape, shape2: Shape, f: Features, n: Vec, choice: _Choice, *, kinds: tuple[Kind, Kind]
) -> Vec:
    return _newton(kinds, shape1, shape2, *_sides(kinds, shape1, shape2, f, n, choice), n, choice, 1.0)


@stage
def _evaluate(
    shape1: Shape, shape2: Shape, f: Features, base: Vec, choice: _Choice, *, kinds: tuple[Kind, Kind]
) -> Witness:
    """The last Newton step and what follows from its normal; the part that is differentiated."""
    side1, side2 = _centred(
        kinds, shape1, shape2, *_sides(kinds, shape1, shape2, f, base, choice), base, choice
    )
    normal = _newton(kinds, shape1, shape2, side1, side2, base, choice, _FAR)
    if kinds[0].smooth or kinds[1].smooth:
        held1, held2, held = lax.stop_gradient((shape1, shape2, normal))
        # where the step is not taken, its derivative is
        normal = normal + (_kept(held1, held2, base, held, kinds=kinds) - held)
    first, second = _points(kinds, shape1, shape2, side1, side2, normal)
    gap = first - second
    height = gap.dot(normal)
    if kinds[0].smooth or kinds[1].smooth:
        # to rounding the same, and the bound that holds whatever the features are worth
        bound = _height(*lax.stop_gradient((shape1, shape2, normal)), kinds=kinds)
        height = height + lax.stop_gradient(bound - height)
    move1, move2 = _slides(side1, side2, choice, base, gap - normal * gap.dot(normal))
    radius1, radius2 = radius_of(kinds[0], shape1.size), radius_of(kinds[1], shape2.size)
    return Witness(
        -height - radius1 - radius2,
        normal,
        first + move1 + normal * radius1,
        second + move2 - normal * radius2,
    )


# --- what is held fixed


@stage
def _choose(
    shape1: Shape, shape2: Shape, f: Features, base: Vec, slack: Array, *, kinds: tuple[Kind, Kind]
) -> _Choice:
    """The flat disks, the longest edge across the normal up to a sine of `slack`, and the one most across both."""
    flat1, flat2 = settled(_flats(shape1, shape2, base, kinds=kinds))
    edges = [
        *_edges(kinds[0], shape1, f.code1, flat1),
        *_edges(kinds[1], shape2, f.code2, flat2),
    ]
    one = settled(_longest(edges, base, slack))
    return _Choice(flat1, flat2, one, _most_across(edges, one, base, slack))


@stage
def _flats(shape1: Shape, shape2: Shape, normal: Vec, *, kinds: tuple[Kind, Kind]) -> tuple[Array, Array]:
    flats = []
    tiny = 1e-6 if normal.x.dtype == jnp.float64 else 1e-4
    for kind, shape in zip(kinds, (shape1, shape2), strict=True):
        tilt = normal.cross(shape.axes.z)
        flats.append(tilt.dot(tilt) < (tiny * tiny if is_disk(kind) else 0.0))
    return flats[0], flats[1]


def _exactly(x: Array) -> float:
    """Sine of the angle to the plane across an exact normal up to which an edge is in it, rounding errors apart."""
    return 1e-6 if x.dtype == jnp.float64 else 5e-3


def _level(edges: list[Vec], base: Vec, slack: Array) -> list[Array]:
    """Squared lengths of the edges that are across the normal; 0 of others, which belong to no face that touches."""
    squares = [c.dot(c) for c in edges]
    return [
        jnp.where(jnp.square(c.dot(base)) <= slack * slack * s, s, 0.0)
        for c, s in zip(edges, squares, strict=True)
    ]


@stage
def _longest(edges: list[Vec], base: Vec, slack: Array) -> Array:
    return _first_most(_level(edges, base, slack))


@stage
def _most_across(edges: list[Vec], one: Array, base: Vec, slack: Array) -> Array:
    aside = base.cross(_pick(edges, one))
    limit = _PARALLEL * aside.dot(aside)
    scores = []
    for c, s in zip(edges, _level(edges, base, slack), strict=True):
        far = jnp.square(c.dot(aside))
        scores.append(jnp.where(far > limit * s, jnp.where(s > 0, far, 0.0), 0.0))
    return _first_most(scores)


def _first_most(scores: list[Array]) -> Array:
    """The number of the largest score, -1 if none is positive."""
    best, number = scores[0], jnp.where(scores[0] > 0, 0, -1)
    for n in range(1, len(scores)):
        better = scores[n] > best
        best, number = jnp.where(better, scores[n], best), jnp.where(better, n, number)
    return number.astype(jnp.int32)


def _pick(edges: list[Vec], number: Array) -> Vec:
    """The edge of a number, 0 if it is -1."""
    chosen = edges[0] * jnp.where(number == 0, 1.0, 0.0).astype(edges[0].x.dtype)
    for n in range(1, len(edges)):
        chosen = edges[n].where(number == n, chosen)
    return chosen


# --- the equations


def _edges(kind: Kind, shape: Shape, codes: Array, flat: Array) -> tuple[Vec, Vec]:
    """Two edges of the face that touches, 0: none; of a disk two radii."""
    zero = jnp.zeros_like(shape.pos.x)
    none = Vec(zero, zero, zero)
    edges = (none, none)
    if kind.cornered:
        solid = solid_of(kind, shape)
        corners = [shape.axes.to_world(corner_point(kind, solid, codes[n])) for n in range(3)]
        edges = (corners[1] - corners[0], corners[2] - corners[0])
    if is_disk(kind):
        radii = (shape.axes.x * shape.size.x, shape.axes.y * shape.size.x)
        edges = (radii[0].where(flat, edges[0]), radii[1].where(flat, edges[1]))
    return edges


def _sides(
    kinds: tuple[Kind, Kind], shape1: Shape, shape2: Shape, f: Features, base: Vec, choice: _Choice
) -> tuple[_Side, _Side]:
    """Both cores as they touch along a direction; the points of flat disks are those nearest to the other geom."""
    centre1 = _centre(kinds[0], shape1, f.code1, f.weights)
    centre2 = _centre(kinds[1], shape2, f.code2, f.weights) + (shape2.pos - shape1.pos)
    none = centre1 * 0.0
    fixed1 = fixed2 = none
    if is_disk(kinds[0]) or is_disk(kinds[1]):
        gap = centre1 - centre2
        gap = gap + curved_point(kinds[0], shape1, base, choice.flat1, none)
        gap = (gap - curved_point(kinds[1], shape2, -base, choice.flat2, none)).stop()
        fixed1 = disk_point(kinds[0], shape1, -gap)
        fixed2 = disk_point(kinds[1], shape2, (gap + fixed1.where(choice.flat1, none)).stop())
    return (
        _Side(centre1, _edges(kinds[0], shape1, f.code1, choice.flat1), fixed1, choice.flat1),
        _Side(centre2, _edges(kinds[1], shape2, f.code2, choice.flat2), fixed2, choice.flat2),
    )


def _centre(kind: Kind, shape: Shape, codes: Array, weights: Array) -> Vec:
    """The corners' shares, relative to the geom's centre."""
    if not kind.cornered:
        return Vec(*(jnp.zeros_like(c) for c in shape.pos))
    solid = solid_of(kind, shape)
    parts = [shape.axes.to_world(corner_point(kind, solid, codes[n])) * weights[n] for n in range(3)]
    return parts[0] + parts[1] + parts[2]


def _points(
    kinds: tuple[Kind, Kind], shape1: Shape, shape2: Shape, side1: _Side, side2: _Side, n: Vec
) -> tuple[Vec, Vec]:
    """The points of both cores that are farthest along a unit vector, and against it."""
    first = side1.centre + curved_point(kinds[0], shape1, n, side1.flat, side1.fixed)
    second = side2.centre + curved_point(kinds[1], shape2, -n, side2.flat, side2.fixed)
    return first, second


def _frame(edges: list[Vec], choice: _Choice, base: Vec) -> tuple[Vec, Vec]:
    """Unit vectors across the normal: along the first edge, or any, and across both."""
    along = _pick([e.stop() for e in edges], choice.one)
    square = along.dot(along)
    some = square > 0
    along = along * jnp.where(some, 1.0 / jnp.sqrt(jnp.where(some, square, 1.0)), 0.0)
    one, zero = jnp.ones_like(square), jnp.zeros_like(square)
    steep = jnp.abs(base.x) < 0.6
    other = base.cross(Vec(jnp.where(steep, one, zero), jnp.where(steep, zero, one), zero))
    across = along.where(choice.one >= 0, other)
    across = _unit(across - base * base.dot(across))
    return across, base.cross(across)


def _newton(
    kinds: tuple[Kind, Kind],
    shape1: Shape,
    shape2: Shape,
    side1: _Side,
    side2: _Side,
    base: Vec,
    choice: _Choice,
    longest: float,
) -> Vec:
    """The normal after one Newton step from the unit vector `base`, if that is not longer than `longest`."""
    first, second = _points(kinds, shape1, shape2, side1, side2, base)
    gap = first - second
    edges = [*side1.edges, *side2.edges]
    t, u = _frame(edges, choice, base)
    height = gap.dot(base)
    rows = []
    for number, axis in ((choice.one, t), (choice.two, u)):
        edge = _pick(edges, number)
        held, some = edge.stop(), number >= 0
        bent = bend(kinds[0], shape1, base, axis, side1.flat) + bend(
            kinds[1], shape2, -base, axis, side2.flat
        )
        bent = bent - axis * height
        row = (
            jnp.where(some, held.dot(t), bent.dot(t)),
            jnp.where(some, held.dot(u), bent.dot(u)),
        )
        rows.append((*lax.stop_gradient(row), jnp.where(some, -edge.dot(base), -gap.dot(axis))))
    (a, b, p), (c, d, q) = rows
    det = a * d - b * c
    size = jnp.abs(a * d) + jnp.abs(b * c)
    regular = jnp.abs(det) > 1e3 * jnp.finfo(det.dtype).eps * size
    inverse = jnp.where(regular, 1.0 / jnp.where(regular, det, 1.0), 0.0)
    x, y = (d * p - b * q) * inverse, (a * q - c * p) * inverse
    near = lax.stop_gradient(x * x + y * y) < longest * longest
    x, y = jnp.where(near, x, 0.0), jnp.where(near, y, 0.0)
    return _unit(base + t * x + u * y)


def _unit(v: Vec) -> Vec:
    return v * (1.0 / jnp.sqrt(v.dot(v)))


def _centred(
    kinds: tuple[Kind, Kind],
    shape1: Shape,
    shape2: Shape,
    side1: _Side,
    side2: _Side,
    base: Vec,
    choice: _Choice,
) -> tuple[_Side, _Side]:
    """Both cores with exact shares of the corners: the search's are so to its tolerance, and turn with the geom."""
    first, second = _points(kinds, shape1, shape2, side1, side2, base)
    gap = first - second
    shares = lax.stop_gradient(_shares(side1, side2, choice, base, gap - base * gap.dot(base)))
    move1, move2 = _moves(side1, side2, choice, shares)
    return side1._replace(centre=side1.centre + move1), side2._replace(centre=side2.centre + move2)


def _slides(side1: _Side, side2: _Side, choice: _Choice, base: Vec, off: Vec) -> tuple[Vec, Vec]:
    """How the nearest points slide along the edges so that what is left between them across the normal vanishes."""
    return _moves(*lax.stop_gradient((side1, side2)), choice, _shares(side1, side2, choice, base, off))


def _shares(side1: _Side, side2: _Side, choice: _Choice, base: Vec, off: Vec) -> tuple[Array, Array]:
    """Multiples of the two edges by which `off` is left between the nearest points across the normal."""
    edges = [*(e.stop() for e in side1.edges), *(e.stop() for e in side2.edges)]
    t, u = _frame(edges, choice, base)
    one, two = _pick(edges, choice.one), _pick(edges, choice.two)
    # edges of geom 2 move its point, and so the gap the other way
    one, two = one.where(choice.one < 2, -one), two.where(choice.two < 2, -two)
    some1, some2 = choice.one >= 0, choice.two >= 0
    c2 = jnp.where(some2, -off.dot(u) / jnp.where(some2, two.dot(u), 1.0), 0.0)
    rest = off.dot(t) + c2 * two.dot(t)
    return jnp.where(some1, -rest / jnp.where(some1, one.dot(t), 1.0), 0.0), c2


def _moves(side1: _Side, side2: _Side, choice: _Choice, shares: tuple[Array, Array]) -> tuple[Vec, Vec]:
    """The motions of both nearest points along the edges."""
    edges = [*side1.edges, *side2.edges]
    none = edges[0] * 0.0
    first, second = none, none
    for number, share in zip((choice.one, choice.two), shares, strict=True):
        move = _pick(edges, number) * share
        first, second = first + move.where(number < 2, none), second + none.where(number < 2, move)
    return first, second
