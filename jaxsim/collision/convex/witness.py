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

import functools
from collections.abc import Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array, lax

from jaxsim.collision.convex.curved import bend, curved_point, disk_point
from jaxsim.collision.convex.difference import Pair, Vertex, farthest, of_asked, smooth_rows
from jaxsim.collision.convex.features import Features
from jaxsim.collision.convex.settle import settled
from jaxsim.collision.convex.solid import Solid, corner_point, solid_of
from jaxsim.collision.points import Shape
from jaxsim.collision.vec import Pose, Vec
from jaxsim.math.asked import rounds_if_any
from jaxsim.math.stage import long_stage, stage

__all__ = ["Held", "Witness", "hold", "shortest"]

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


class Core(NamedTuple):
    """One geom of each pair in its place; components (npair, 1 or W).

    Attributes:
      pose: in the world frame.
      solid: its parts.
    """

    pose: Pose
    solid: Solid


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


class _Corners(NamedTuple):
    """Corners of both cores that touch, and their shares; see `Features`."""

    code1: Array
    code2: Array
    weights: Array


class _Polish(NamedTuple):
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
    corners: _Corners


class Held(NamedTuple):
    """What is held fixed of each pair: found without derivative.

    Attributes:
      normal: the normal before a last Newton step, world frame, components (npair, W).
      corners: what touches.
      overlap: a bound of the overlap of curved geoms, m (npair, W); None: there are none.
      taken: whether the last step is taken, (npair, W); None: it is not known yet.
    """

    normal: Vec
    corners: _Corners
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
    base, overlap = shapes[0].axes.to_world(features.normal), None
    corners = _Corners(features.code1, features.code2, features.weights)
    smooth = smooth_rows(pairs)
    if smooth is not None:

        def few(
            asked: Array, pairs: list[Pair], shapes: tuple[Shape, Shape], others: tuple[Features, Vec]
        ) -> _Polish:
            return _polished(pairs, *_cores(types, shapes), *others, asked)

        wanted = smooth & ~features.far
        found = of_asked(few, wanted, pairs, types, shapes, (features, base))
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
    slack = jnp.asarray(_exactly(held.normal.x), held.normal.x.dtype)
    choice = settled(_choose(*lax.stop_gradient((core1, core2)), held.corners, held.normal, slack))
    return _evaluate(pairs, core1, core2, held, choice)


def _cores(types: tuple[Sequence[int], Sequence[int]], shapes: tuple[Shape, Shape]) -> tuple[Core, Core]:
    """Both geoms of each pair, of all types together."""
    one, other = (Core(shape.pose, solid_of(own, shape)) for own, shape in zip(types, shapes, strict=True))
    return one, other


@stage
def _polished(
    pairs: Sequence[Pair], core1: Core, core2: Core, f: Features, normal: Vec, smooth: Array
) -> _Polish:
    """The exact normal of curved geoms, the overlap along it, and what touches.

    Newton's method from the search's normal, with steps that shorten the overlap or widen the distance. The axes of
    disks, where the equations have no derivative, are tried as they are. The last step is taken with the edges that are
    exactly across: what the overlap tells of the normal ends at the root of rounding errors, and derivatives are as
    exact as the normal. A step that is no better may be so because of a corner that the search did not come to: it is
    one of those that touch from there on.
    """
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
        height = _height(pairs, core1, new)[0]
        # of equal ones the axis, so that it is found exactly
        slack = jnp.where(value < jnp.inf, 8 * jnp.finfo(value.dtype).eps * jnp.abs(value), 0.0)
        better = allowed[count] & settled(_at_most(height, value + slack))
        return new.where(better, n), jnp.where(better, height, value)

    def step(count: Array, state: _Polish) -> _Polish:
        """A step; one that is no better is shortened."""
        n, value, share, corners = state
        last = count == _STEPS
        slack = jnp.where((count % 2 == 0) & ~last, _NEARLY, _exactly(value)).astype(value.dtype)
        choice = settled(_choose(core1, core2, corners, n, slack))
        full = _next(core1, core2, corners, n, choice)
        new = full.where(last, _unit(n + (full - n) * share))
        height, corner = _height(pairs, core1, new)
        kept, lower = settled((_kept(core1, core2, n, value, new, height), _at_most(height, value)))
        better = jnp.where(last, kept, lower) & smooth
        corners = _joined(corners, corner, smooth & ~lower & ~last)
        share = jnp.where(better, 1.0, 0.3 * share)
        return _Polish(new.where(better, n), jnp.where(better, height, value), share, corners)

    first = (normal, jnp.full_like(normal.x, jnp.inf))
    normal, value = lax.fori_loop(0, len(tried.x), attempt, first)
    steps, corners = rounds_if_any(smooth, _STEPS + 1), _Corners(f.code1, f.code2, f.weights)
    return lax.fori_loop(0, steps, step, _Polish(normal, value, jnp.ones_like(value), corners))


def _height(pairs: Sequence[Pair], core1: Core, n: Vec) -> tuple[Array, Vertex]:
    """The support function of the difference: the overlap along a direction, m; and the vertex that is so far."""
    direction = core1.pose.axes.to_local(n)
    vertex = farthest(pairs, direction)
    return vertex.point.dot(direction), vertex


@stage
def _joined(f: _Corners, corner: Vertex, some: Array) -> _Corners:
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
    return _Corners(put(f.code1, corner.code1), put(f.code2, corner.code2), shares)


@stage
def _at_most(one: Array, other: Array) -> Array:
    return one <= other


@stage
def _kept(core1: Core, core2: Core, old: Vec, before: Array, new: Vec, after: Array) -> Array:
    """Whether a step from one normal to another is short and does not make the overlap larger.

    It does where not all corners of a face that touches were found.
    """
    size = sum((jnp.abs(c) for c in core2.pose.pos - core1.pose.pos), start=jnp.abs(before))
    step = new - old
    return (after <= before + 64 * jnp.finfo(after.dtype).eps * size) & (step.dot(step) < _FAR * _FAR)


@stage
def _next(core1: Core, core2: Core, f: _Corners, n: Vec, choice: _Choice) -> Vec:
    return _newton(core1, core2, *_sides(core1, core2, f, n, choice), n, choice, 1.0)


@long_stage
def _evaluate(
    pairs: Sequence[Pair] | None, core1: Core, core2: Core, held: Held, choice: _Choice
) -> tuple[Witness, Held]:
    """The last Newton step and what follows from its normal; the part that is differentiated."""
    base, smooth = held.normal, smooth_rows([Pair(core1.solid, core2.solid, core2.pose)])
    side1, side2 = _centred(core1, core2, *_sides(core1, core2, held.corners, base, choice), base, choice)
    normal = _newton(core1, core2, side1, side2, base, choice, _FAR)
    if smooth is not None:
        new = lax.stop_gradient(normal)
        if pairs is not None:
            held = _judged(pairs, *lax.stop_gradient((core1, core2)), held, new, smooth)
        assert held.overlap is not None
        assert held.taken is not None
        # where the step is not taken, its derivative is
        normal = normal + (new.where(held.taken, base) - new)
    first, second = _points(core1, core2, side1, side2, normal)
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
    after, _ = _height(pairs, core1, new)
    taken = _kept(core1, core2, held.normal, held.overlap, new, after) | ~smooth
    return held._replace(overlap=jnp.where(taken, after, held.overlap), taken=taken)


# --- what is held fixed


@stage
def _choose(core1: Core, core2: Core, f: _Corners, base: Vec, slack: Array) -> _Choice:
    """The flat disks, the longest edge across the normal up to a sine of `slack`, and the one most across both."""
    flat1, flat2 = settled(_flats(core1, core2, base))
    edges = [*_edges(core1, f.code1, flat1), *_edges(core2, f.code2, flat2)]
    one = settled(_longest(edges, base, slack))
    return _Choice(flat1, flat2, one, _most_across(edges, one, base, slack))


@stage
def _flats(core1: Core, core2: Core, normal: Vec) -> tuple[Array, Array]:
    flats = []
    tiny = 1e-6 if normal.x.dtype == jnp.float64 else 1e-4
    for core in (core1, core2):
        tilt = normal.cross(core.pose.axes.z)
        flat = tilt.dot(tilt) < tiny * tiny
        flats.append(flat & (False if core.solid.disk is None else core.solid.disk))
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


def _edges(core: Core, codes: Array, flat: Array) -> tuple[Vec, Vec]:
    """Two edges of the face that touches, 0: none; of a disk two radii."""
    zero = jnp.zeros_like(core.pose.pos.x)
    none = Vec(zero, zero, zero)
    edges = (none, none)
    solid = core.solid
    if solid.cornered:
        corners = [core.pose.axes.to_world(corner_point(solid, codes[n])) for n in range(3)]
        # a corner that comes again may differ from itself by rounding, where it is computed twice
        one, two = ((corners[n] - corners[0]).where(codes[n] != codes[0], none) for n in (1, 2))
        edges = (one, two)
    if solid.disk is not None and solid.round is not None:
        radii = (core.pose.axes.x * solid.round.x, core.pose.axes.y * solid.round.x)
        edges = (radii[0].where(flat, edges[0]), radii[1].where(flat, edges[1]))
    return edges


def _sides(core1: Core, core2: Core, f: _Corners, base: Vec, choice: _Choice) -> tuple[_Side, _Side]:
    """Both cores as they touch along a direction; the points of flat disks are those nearest to the other geom."""
    centre1 = _centre(core1, f.code1, f.weights)
    centre2 = _centre(core2, f.code2, f.weights) + (core2.pose.pos - core1.pose.pos)
    none = centre1 * 0.0
    fixed1 = fixed2 = none
    if core1.solid.disk is not None or core2.solid.disk is not None:
        gap = centre1 - centre2
        gap = gap + curved_point(core1.solid, core1.pose.axes, base, choice.flat1, none)
        gap = (gap - curved_point(core2.solid, core2.pose.axes, -base, choice.flat2, none)).stop()
        fixed1 = disk_point(core1.solid, core1.pose.axes, -gap)
        fixed2 = disk_point(core2.solid, core2.pose.axes, (gap + fixed1.where(choice.flat1, none)).stop())
    return (
        _Side(centre1, _edges(core1, f.code1, choice.flat1), fixed1, choice.flat1),
        _Side(centre2, _edges(core2, f.code2, choice.flat2), fixed2, choice.flat2),
    )


def _centre(core: Core, codes: Array, weights: Array) -> Vec:
    """The corners' shares, relative to the geom's centre."""
    if not core.solid.cornered:
        return core.pose.pos * 0.0
    parts = [core.pose.axes.to_world(corner_point(core.solid, codes[n])) * weights[n] for n in range(3)]
    return parts[0] + parts[1] + parts[2]


def _points(core1: Core, core2: Core, side1: _Side, side2: _Side, n: Vec) -> tuple[Vec, Vec]:
    """The points of both cores that are farthest along a unit vector, and against it."""
    first = side1.centre + curved_point(core1.solid, core1.pose.axes, n, side1.flat, side1.fixed)
    second = side2.centre + curved_point(core2.solid, core2.pose.axes, -n, side2.flat, side2.fixed)
    return first, second


def _frame(edges: list[Vec], choice: _Choice, base: Vec) -> tuple[Vec, Vec]:
    """Unit vectors across the normal: along the first edge, or any, and across both."""
    along = _pick(edges, choice.one)
    square = along.dot(along)
    some = square > 0
    along = along * jnp.where(some, 1.0 / jnp.sqrt(jnp.where(some, square, 1.0)), 0.0)
    one, zero = jnp.ones_like(square), jnp.zeros_like(square)
    steep = jnp.abs(base.x) < 0.6
    other = base.cross(Vec(jnp.where(steep, one, zero), jnp.where(steep, zero, one), zero))
    across = along.where(choice.one >= 0, other)
    across = _unit(across - base * base.dot(across))
    return across, base.cross(across)


_Sides = tuple[tuple[Core, _Side], tuple[Core, _Side]]


def _newton(
    core1: Core,
    core2: Core,
    side1: _Side,
    side2: _Side,
    base: Vec,
    choice: _Choice,
    longest: float,
) -> Vec:
    """The normal after one Newton step from the unit vector `base`, if that is not longer than `longest`.

    Its derivatives are those of the exact normal by the geoms.
    """
    # curves and their axes are all that the equations know of a core
    bare = (core._replace(solid=Solid(core.solid.ball, core.solid.round)) for core in (core1, core2))
    sides = tuple(zip(bare, (side1, side2), strict=True))
    return _exact_normal(longest, sides, base, choice)


@functools.partial(jax.custom_jvp, nondiff_argnums=(0,))
def _exact_normal(longest: float, sides: _Sides, base: Vec, choice: _Choice) -> Vec:
    gap, frame, errors = _missed(sides, base, choice)
    x, y = _solved(_slopes(sides, base, choice, gap, frame), errors, errors, longest)
    return _unit(base + frame[0] * x + frame[1] * y)


@_exact_normal.defjvp
def _exact_normal_jvp(longest: float, primals: tuple[Any, ...], tangents: tuple[Any, ...]) -> tuple[Vec, Vec]:
    """Where it does not exist, or is not near, the normal does not turn."""
    sides, _, choice = primals
    n = _exact_normal(longest, *primals)
    found, turned = jax.jvp(lambda sides: _missed(sides, n, choice), (sides,), (tangents[0],))
    gap, frame, errors = found
    x, y = _solved(_slopes(sides, n, choice, gap, frame), turned[-1], errors, longest)
    return n, frame[0] * x + frame[1] * y


def _missed(sides: _Sides, n: Vec, choice: _Choice) -> tuple[Vec, tuple[Vec, Vec], tuple[Array, Array]]:
    """The gap, the frame, and by how much the equations are missed: slopes of edges, or the gap across the normal."""
    (core1, side1), (core2, side2) = sides
    first, second = _points(core1, core2, side1, side2, n)
    gap, edges = first - second, [*side1.edges, *side2.edges]
    frame = _frame(edges, choice, n)
    one, two = (
        jnp.where(number >= 0, -_pick(edges, number).dot(n), -gap.dot(axis))
        for number, axis in zip((choice.one, choice.two), frame, strict=True)
    )
    return gap, frame, (one, two)


def _slopes(
    sides: _Sides, n: Vec, choice: _Choice, gap: Vec, frame: tuple[Vec, Vec]
) -> tuple[tuple[Array, Array], tuple[Array, Array], Array]:
    """How the equations change as the normal turns along the frame, and what counts as zero of their determinant."""
    (core1, side1), (core2, side2) = sides
    height, edges = gap.dot(n), [*side1.edges, *side2.edges]
    t, u = frame
    rows, size = [], 1.0
    for number, axis in ((choice.one, t), (choice.two, u)):
        edge, some = _pick(edges, number), number >= 0
        bent = bend(core1.solid, core1.pose.axes, n, axis, side1.flat)
        bent = bent + bend(core2.solid, core2.pose.axes, -n, axis, side2.flat)
        # where centres or axes coincide the two are equal, and all normals as good: what is left is rounding
        terms = jnp.abs(bent.dot(t)) + jnp.abs(bent.dot(u)) + jnp.abs(height)
        size = size * jnp.where(some, jnp.abs(edge.dot(t)) + jnp.abs(edge.dot(u)), terms)
        bent = bent - axis * height
        rows.append((jnp.where(some, edge.dot(t), bent.dot(t)), jnp.where(some, edge.dot(u), bent.dot(u))))
    return rows[0], rows[1], lax.stop_gradient(1e3 * jnp.finfo(height.dtype).eps * size)


def _solved(
    slopes: tuple[tuple[Array, Array], tuple[Array, Array], Array],
    asked: tuple[Array, Array],
    errors: tuple[Array, Array],
    longest: float,
) -> tuple[Array, Array]:
    """The step along the frame that changes the equations as asked; 0 where no short one solves them."""
    (a, b), (c, d), least = slopes
    det = a * d - b * c
    regular = jnp.abs(det) > least
    inverse = jnp.where(regular, 1.0 / jnp.where(regular, det, 1.0), 0.0)

    def step(p: Array, q: Array) -> tuple[Array, Array]:
        return (d * p - b * q) * inverse, (a * q - c * p) * inverse

    x, y = step(*errors)
    near = x * x + y * y < longest * longest
    x, y = step(*asked)
    return jnp.where(near, x, 0.0), jnp.where(near, y, 0.0)


def _unit(v: Vec) -> Vec:
    return v * (1.0 / jnp.sqrt(v.dot(v)))


def _centred(
    core1: Core,
    core2: Core,
    side1: _Side,
    side2: _Side,
    base: Vec,
    choice: _Choice,
) -> tuple[_Side, _Side]:
    """Both cores with exact shares of the corners: the search's are so to its tolerance, and turn with the geom."""
    first, second = _points(core1, core2, side1, side2, base)
    gap = first - second
    shares = lax.stop_gradient(_shares(side1, side2, choice, base, gap - base * gap.dot(base)))
    move1, move2 = _moves(side1, side2, choice, shares)
    return side1._replace(centre=side1.centre + move1), side2._replace(centre=side2.centre + move2)


def _shares(side1: _Side, side2: _Side, choice: _Choice, base: Vec, off: Vec) -> tuple[Array, Array]:
    """Multiples of the two edges by which `off` is left between the nearest points across the normal."""
    edges = [*side1.edges, *side2.edges]
    # any frame does
    t, u = _frame([e.stop() for e in edges], choice, base.stop())
    one, two = _pick(edges, choice.one), _pick(edges, choice.two)
    # edges of geom 2 move its point, and so the gap the other way
    one, two = one.where(choice.one < 2, -one), two.where(choice.two < 2, -two)
    some1, some2 = choice.one >= 0, choice.two >= 0
    a, b = jnp.where(some1, one.dot(t), 1.0), two.dot(t)
    c, d = one.dot(u), jnp.where(some2, two.dot(u), 1.0)
    p, q = jnp.where(some1, -off.dot(t), 0.0), jnp.where(some2, -off.dot(u), 0.0)
    inverse = 1.0 / (a * d - b * c)
    return (d * p - b * q) * inverse, (a * q - c * p) * inverse


def _moves(side1: _Side, side2: _Side, choice: _Choice, shares: tuple[Array, Array]) -> tuple[Vec, Vec]:
    """The motions of both nearest points along the edges."""
    edges = [*side1.edges, *side2.edges]
    none = edges[0] * 0.0
    first, second = none, none
    for number, share in zip((choice.one, choice.two), shares, strict=True):
        move = _pick(edges, number) * share
        first, second = first + move.where(number < 2, none), second + none.where(number < 2, move)
    return first, second
