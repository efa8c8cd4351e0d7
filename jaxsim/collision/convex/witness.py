"""The shortest vector between two geoms from the features that touch: closed forms, differentiable.

With a, b the corners' shares, e the support points of curved parts and n the unit normal, the nearest points are
x1 = a + e1(n) and x2 = b + e2(-n), and

    x1 - x2 = h n,   n . g = 0 for every edge g of a touching face,   distance = -h.

The search gives n nearly; one Newton step on these equations, differentiated with its matrix held fixed, gives the
exact derivative: the implicit function theorem. The distance obeys the envelope theorem by itself. Sources: G. van den
Bergen (as of `difference`); J. Nocedal and S. Wright, "Numerical Optimization", chapter 11.

A flat contact leaves the nearest points open. There they keep their places on the first geom's face as it moves.
"""

from __future__ import annotations

from typing import NamedTuple

import jax.numpy as jnp
from jax import Array, lax

from jaxsim.collision.convex.features import Features
from jaxsim.collision.convex.solid import Kind, box_corner, radius_of
from jaxsim.collision.points import Shape
from jaxsim.collision.vec import Vec
from jaxsim.math.stage import stage

__all__ = ["Witness", "shortest"]

_STEPS = 6
"""Newton steps from the search's normal to the exact one, for curved geoms."""
_FAR = 0.1
"""Length of a last Newton step (rad) that shows that there is no solution near: none is taken."""


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
    return _evaluate(shape1, shape2, features, base, kinds=kinds)


@stage
def _polished(shape1: Shape, shape2: Shape, f: Features, normal: Vec, *, kinds: tuple[Kind, Kind]) -> Vec:
    """The exact normal: Newton's method from the search's, with steps that shorten the overlap or widen the distance.

    The axes of disks, where the equations have no derivative, are tried as they are.
    """

    def step(_: Array, state: tuple[Vec, Array, Array]) -> tuple[Vec, Array, Array]:
        n, value, share = state
        full, *_ = _newton(kinds, shape1, shape2, f, n, 1.0)
        new = _unit(n + (full - n) * share)
        height = _height(kinds, shape1, shape2, new)
        better = height <= value
        return new.where(better, n), jnp.where(better, height, value), jnp.where(better, 1.0, 0.3 * share)

    value = _height(kinds, shape1, shape2, normal)
    for kind, axis in zip(kinds, (shape1.axes.z, shape2.axes.z), strict=True):
        if kind.round is not None and None in kind.round:
            axis = axis * jnp.where(axis.dot(normal) > 0, 1.0, -1.0).astype(value.dtype)
            height = _height(kinds, shape1, shape2, axis)
            # of equal ones the axis, so that it is found exactly
            better = height <= value + 8 * jnp.finfo(value.dtype).eps * jnp.abs(value)
            normal, value = axis.where(better, normal), jnp.where(better, height, value)
    return lax.fori_loop(0, _STEPS, step, (normal, value, jnp.ones_like(value)))[0]


def _height(kinds: tuple[Kind, Kind], shape1: Shape, shape2: Shape, n: Vec) -> Array:
    """The support function of the difference: the overlap along a direction."""
    return (
        _reach(kinds[0], shape1, n)
        + _reach(kinds[1], shape2, -n)
        - (shape2.pos - shape1.pos).dot(n)
    )


def _reach(kind: Kind, shape: Shape, direction: Vec) -> Array:
    d = shape.axes.to_local(direction)
    total = jnp.zeros_like(d.x)
    if kind.round is not None:
        parts = [shape.size[k] * c for k, c in zip(kind.round, d, strict=True) if k is not None]
        square = sum((p * p for p in parts), start=total)
        total = jnp.where(square > 0, jnp.sqrt(jnp.where(square > 0, square, 1.0)), 0.0)
    if kind.box is not None:
        for k, c in zip(kind.box, d, strict=True):
            total = total if k is None else total + shape.size[k] * jnp.abs(c)
    return total


@stage
def _evaluate(shape1: Shape, shape2: Shape, f: Features, base: Vec, *, kinds: tuple[Kind, Kind]) -> Witness:
    normal, side1, side2, edges = _newton(kinds, shape1, shape2, f, base, _FAR)
    e1, e2 = _curved(kinds[0], shape1, side1, normal), _curved(kinds[1], shape2, side2, -normal)
    first, second = side1.centre + e1, side2.centre + e2
    gap = first - second
    height = gap.dot(normal)
    if kinds[0].smooth or kinds[1].smooth:
        # to rounding the same, and the bound that holds whatever the features are worth
        height = height + lax.stop_gradient(_height(kinds, shape1, shape2, normal) - height)
    move1, move2 = _slides(edges, gap - normal * height)
    radius1, radius2 = radius_of(kinds[0], shape1.size), radius_of(kinds[1], shape2.size)
    return Witness(
        -height - radius1 - radius2,
        normal,
        first + move1 + normal * radius1,
        second + move2 - normal * radius2,
    )


class _Edges(NamedTuple):
    """Up to two independent edges of touching faces, and the frame they are seen in.

    Attributes:
      one: the first edge, 0: none.
      two: the second, 0: none.
      of_one: 1 where it is geom 1's, -1 where it is geom 2's.
      of_two: the same of the second.
      across: unit vector along the first edge, or any, across the normal.
      aside: normal x across.
    """

    one: Vec
    two: Vec
    of_one: Array
    of_two: Array
    across: Vec
    aside: Vec


def _newton(
    kinds: tuple[Kind, Kind], shape1: Shape, shape2: Shape, f: Features, base: Vec, longest: float
) -> tuple[Vec, _Side, _Side, _Edges]:
    """One Newton step, if not longer than `longest`, from the unit vector `base`.

    Returns:
      the new normal, and what it was found with.
    """
    offset = shape2.pos - shape1.pos
    side1 = _side(kinds[0], shape1, f.code1, f.weights, base)
    side2 = _side(kinds[1], shape2, f.code2, f.weights, -base)
    side2 = side2._replace(centre=side2.centre + offset)
    side1, side2 = _flat_points(kinds, shape1, shape2, side1, side2, base)
    edges = _independent(side1, side2, base, _level(kinds, base.x.dtype))

    gap = side1.centre + _curved(kinds[0], shape1, side1, base)
    gap = gap - side2.centre - _curved(kinds[1], shape2, side2, -base)
    height = lax.stop_gradient(gap.dot(base))
    t, u = edges.across, edges.aside
    bend_t, bend_u = (
        _bend(kinds[0], shape1, side1, base, v) + _bend(kinds[1], shape2, side2, -base, v) for v in (t, u)
    )
    some1, some2 = (lax.stop_gradient(e.dot(e)) > 0 for e in (edges.one, edges.two))
    rows = []
    for some, edge, axis, own in ((some1, edges.one, t, 1), (some2, edges.two, u, 0)):
        held = edge.stop()
        kt = bend_t.dot(axis) - (height if own else 0.0)
        ku = bend_u.dot(axis) - (0.0 if own else height)
        rows.append(
            (
                jnp.where(some, held.dot(t), kt),
                jnp.where(some, held.dot(u), ku),
                jnp.where(some, -edge.dot(base), -gap.dot(axis)),
            )
        )
    (a, b, p), (c, d, q) = rows
    a, b, c, d = lax.stop_gradient((a, b, c, d))
    det = a * d - b * c
    size = jnp.abs(a * d) + jnp.abs(b * c)
    regular = jnp.abs(det) > 1e3 * jnp.finfo(det.dtype).eps * size
    inverse = jnp.where(regular, 1.0 / jnp.where(regular, det, 1.0), 0.0)
    x, y = (d * p - b * q) * inverse, (a * q - c * p) * inverse
    near = lax.stop_gradient(x * x + y * y) < longest * longest
    x, y = jnp.where(near, x, 0.0), jnp.where(near, y, 0.0)
    return _unit(base + t * x + u * y), side1, side2, edges


def _unit(v: Vec) -> Vec:
    return v * (1.0 / jnp.sqrt(v.dot(v)))


def _side(kind: Kind, shape: Shape, codes: Array, weights: Array, outward: Vec) -> _Side:
    """A core's corners as they touch in a direction."""
    zero = jnp.zeros_like(outward.x)
    none = Vec(zero, zero, zero)
    centre, edges = none, (none, none)
    if kind.box is not None:
        corners = [shape.axes.to_world(box_corner(kind, shape.size, codes[n])) for n in range(3)]
        centre = corners[0] * weights[0] + corners[1] * weights[1] + corners[2] * weights[2]
        edges = (corners[1] - corners[0], corners[2] - corners[0])
    flat = zero > 1
    if kind.round is not None and None in kind.round:
        tilt = outward.cross(shape.axes.z).stop()
        tiny = 1e-6 if zero.dtype == jnp.float64 else 1e-4
        flat = tilt.dot(tilt) < tiny * tiny
        disk = (shape.axes.x * shape.size.x, shape.axes.y * shape.size.x)
        edges = (disk[0].where(flat, edges[0]), disk[1].where(flat, edges[1]))
    return _Side(centre, edges, none, flat)


def _flat_points(
    kinds: tuple[Kind, Kind], shape1: Shape, shape2: Shape, side1: _Side, side2: _Side, base: Vec
) -> tuple[_Side, _Side]:
    """Where disks touch with their faces: the points nearest to the other geom; they move with their geoms."""
    gap = side1.centre - side2.centre
    curved1, curved2 = (
        _curved(k, s, side, n)
        for k, s, side, n in ((kinds[0], shape1, side1, base), (kinds[1], shape2, side2, -base))
    )
    still1 = curved1.where(~side1.flat, curved1 * 0.0)
    still2 = curved2.where(~side2.flat, curved2 * 0.0)
    gap = (gap + still1 - still2).stop()
    point1 = _on_disk(kinds[0], shape1, -gap)
    side1 = side1._replace(fixed=point1)
    left = (gap + (point1 * 1.0).where(side1.flat, point1 * 0.0)).stop()
    return side1, side2._replace(fixed=_on_disk(kinds[1], shape2, left))


def _on_disk(kind: Kind, shape: Shape, v: Vec) -> Vec:
    """The point of a disk nearest to a vector from its centre; it turns with the disk."""
    if kind.round is None or None not in kind.round:
        return Vec(*(jnp.zeros_like(c) for c in v))
    x, y = (lax.stop_gradient(axis.dot(v)) for axis in (shape.axes.x, shape.axes.y))
    radius = shape.size.x
    square = x * x + y * y
    outside = square > lax.stop_gradient(radius * radius)
    shrink = jnp.where(outside, radius / jnp.sqrt(jnp.where(outside, square, 1.0)), 1.0)
    return shape.axes.x * (x * shrink) + shape.axes.y * (y * shrink)


def _level(kinds: tuple[Kind, Kind], dtype: jnp.dtype) -> float:
    """Cosine of the angle between a normal and an edge across it, as exactly as the search knows the normal."""
    smooth = kinds[0].smooth or kinds[1].smooth
    return 2e-2 if smooth or dtype != jnp.float64 else 1e-6


def _independent(side1: _Side, side2: _Side, base: Vec, slack: float) -> _Edges:
    """The longest edge across the normal, and the one most across both; choices carry no derivative."""
    candidates = [*side1.edges, *side2.edges]
    held = [c.stop() for c in candidates]
    squares = [c.dot(c) for c in held]
    # an edge that is not across the normal belongs to no face that touches
    level = [jnp.square(c.dot(base)) <= slack * slack * s for c, s in zip(held, squares, strict=True)]
    score = [jnp.where(ok, s, 0.0) for ok, s in zip(level, squares, strict=True)]
    one, of_one, square = _best(candidates, score)
    some = square > 0
    along = one.stop() * jnp.where(some, 1.0 / jnp.sqrt(jnp.where(some, square, 1.0)), 0.0)
    side = _any_across(base)
    across = along.where(some, side)
    across = across - base * base.dot(across)
    length = jnp.sqrt(across.dot(across))
    across = across * (1.0 / length)
    aside = base.cross(across)
    # edges that are nearly parallel give one direction
    score = [
        jnp.where(ok & some & (jnp.square(c.dot(aside)) > 1e-6 * s), jnp.square(c.dot(aside)), 0.0)
        for c, ok, s in zip(held, level, squares, strict=True)
    ]
    two, of_two, _ = _best(candidates, score)
    return _Edges(one, two, of_one, of_two, across, aside)


def _best(candidates: list[Vec], scores: list[Array]) -> tuple[Vec, Array, Array]:
    """The candidate of highest score, 0 if none has one; 1 if it is among the first two, else -1; its score."""
    best = scores[0]
    chosen = candidates[0].where(best > 0, candidates[0] * 0.0)
    owner = jnp.ones_like(best)
    for n in range(1, len(candidates)):
        better = scores[n] > best
        chosen, best = candidates[n].where(better, chosen), jnp.where(better, scores[n], best)
        owner = jnp.where(better, 1.0 if n < 2 else -1.0, owner)
    return chosen, owner, best


def _any_across(n: Vec) -> Vec:
    """A vector across a unit vector."""
    one, zero = jnp.ones_like(n.x), jnp.zeros_like(n.x)
    pick = jnp.abs(n.x) < 0.6
    axis = Vec(jnp.where(pick, one, zero), jnp.where(pick, zero, one), zero)
    return n.cross(axis)


def _curved(kind: Kind, shape: Shape, side: _Side, direction: Vec) -> Vec:
    """Support point of the curved part, relative to its centre; of a disk that touches with its face its point."""
    if kind.round is None:
        return Vec(*(jnp.zeros_like(c) for c in direction))
    scaled, length = _scaled(kind, shape, direction, side.flat)
    inverse = 1.0 / length
    local = Vec(*(s * c * inverse for s, c in zip(_semi(kind, shape), scaled, strict=True)))
    point = shape.axes.to_world(local)
    return side.fixed.where(side.flat, point)


def _bend(kind: Kind, shape: Shape, side: _Side, direction: Vec, v: Vec) -> Vec:
    """How the support point of the curved part moves as the direction moves along v: the support function's Hessian.

    With q = S^2 d / |S d| it is (S^2 v - q (q . v)) / |S d|.
    """
    if kind.round is None:
        return Vec(*(jnp.zeros_like(c) for c in v))
    semi = _semi(kind, shape)
    scaled, length = _scaled(kind, shape, direction, side.flat)
    inverse = 1.0 / length
    q = Vec(*(s * c * inverse for s, c in zip(semi, scaled, strict=True)))
    w = shape.axes.to_local(v)
    local = Vec(*((s * s * x - y * q.dot(w)) * inverse for s, x, y in zip(semi, w, q, strict=True)))
    bent = shape.axes.to_world(local)
    return (bent * 0.0).where(side.flat, bent)


def _scaled(kind: Kind, shape: Shape, direction: Vec, flat: Array) -> tuple[Vec, Array]:
    """The direction in the geom's frame times its semi-axes, and the length of that, 1 where a disk is flat."""
    local = shape.axes.to_local(direction)
    scaled = Vec(*(s * c for s, c in zip(_semi(kind, shape), local, strict=True)))
    square = scaled.dot(scaled)
    some = ~flat & (lax.stop_gradient(square) > 0)
    return scaled, jnp.sqrt(jnp.where(some, square, 1.0))


def _semi(kind: Kind, shape: Shape) -> Vec:
    assert kind.round is not None
    zero = jnp.zeros_like(shape.size.x)
    return Vec(*(zero if k is None else shape.size[k] for k in kind.round))


def _slides(edges: _Edges, off: Vec) -> tuple[Vec, Vec]:
    """How the nearest points slide along the edges so that what is left between them across the normal vanishes."""
    t, u = edges.across, edges.aside
    one, two = edges.one.stop() * edges.of_one, edges.two.stop() * edges.of_two
    some1, some2 = one.dot(one) > 0, two.dot(two) > 0
    c2 = jnp.where(some2, -off.dot(u) / jnp.where(some2, two.dot(u), 1.0), 0.0)
    rest = off.dot(t) + c2 * two.dot(t)
    c1 = jnp.where(some1, -rest / jnp.where(some1, one.dot(t), 1.0), 0.0)
    move = one * c1, two * c2
    ours = edges.of_one > 0, edges.of_two > 0
    first = (move[0].where(ours[0], move[0] * 0.0)) + (move[1].where(ours[1], move[1] * 0.0))
    second = ((move[0] * 0.0).where(ours[0], move[0])) + ((move[1] * 0.0).where(ours[1], move[1]))
    return first, -second
