"""What touches of two geoms: corners and their shares, edges of a face, a disk's face; and what of it is held fixed."""

from __future__ import annotations

from typing import NamedTuple

import jax.numpy as jnp
from jax import Array

from jaxsim.collision.convex.curved import curved_point, disk_point
from jaxsim.collision.convex.features import Corners
from jaxsim.collision.convex.settle import settled
from jaxsim.collision.convex.solid import Solid, corner_point
from jaxsim.collision.vec import Pose, Vec
from jaxsim.math.stage import stage

__all__ = [
    "Choice",
    "Core",
    "Side",
    "choose",
    "exactly",
    "frame_of",
    "pick",
    "points",
    "sides_of",
]

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


class Choice(NamedTuple):
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


class Side(NamedTuple):
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


# --- what is held fixed


@stage
def choose(core1: Core, core2: Core, f: Corners, base: Vec, slack: Array) -> Choice:
    """The flat disks, the longest edge across the normal up to a sine of `slack`, and the one most across both."""
    flat1, flat2 = settled(_flats(core1, core2, base))
    edges = [*_edges(core1, f.code1, flat1), *_edges(core2, f.code2, flat2)]
    one = settled(_longest(edges, base, slack))
    return Choice(flat1, flat2, one, _most_across(edges, one, base, slack))


@stage
def _flats(core1: Core, core2: Core, normal: Vec) -> tuple[Array, Array]:
    flats = []
    tiny = 1e-6 if normal.x.dtype == jnp.float64 else 1e-4
    for core in (core1, core2):
        tilt = normal.cross(core.pose.axes.z)
        flat = tilt.dot(tilt) < tiny * tiny
        flats.append(flat & (False if core.solid.disk is None else core.solid.disk))
    return flats[0], flats[1]


def exactly(x: Array) -> float:
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
    aside = base.cross(pick(edges, one))
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


def pick(edges: list[Vec], number: Array) -> Vec:
    """The edge of a number, 0 if it is -1."""
    chosen = edges[0] * jnp.where(number == 0, 1.0, 0.0).astype(edges[0].x.dtype)
    for n in range(1, len(edges)):
        chosen = edges[n].where(number == n, chosen)
    return chosen


# --- where it is


def sides_of(core1: Core, core2: Core, f: Corners, base: Vec, choice: Choice) -> tuple[Side, Side]:
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
        Side(centre1, _edges(core1, f.code1, choice.flat1), fixed1, choice.flat1),
        Side(centre2, _edges(core2, f.code2, choice.flat2), fixed2, choice.flat2),
    )


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


def _centre(core: Core, codes: Array, weights: Array) -> Vec:
    """The corners' shares, relative to the geom's centre."""
    if not core.solid.cornered:
        return core.pose.pos * 0.0
    parts = [core.pose.axes.to_world(corner_point(core.solid, codes[n])) * weights[n] for n in range(3)]
    return parts[0] + parts[1] + parts[2]


def points(core1: Core, core2: Core, side1: Side, side2: Side, n: Vec) -> tuple[Vec, Vec]:
    """The points of both cores that are farthest along a unit vector, and against it."""
    first = side1.centre + curved_point(core1.solid, core1.pose.axes, n, side1.flat, side1.fixed)
    second = side2.centre + curved_point(core2.solid, core2.pose.axes, -n, side2.flat, side2.fixed)
    return first, second


def frame_of(edges: list[Vec], choice: Choice, base: Vec) -> tuple[Vec, Vec]:
    """Unit vectors across the normal: along the first edge, or any, and across both."""
    along = pick(edges, choice.one)
    square = along.dot(along)
    some = square > 0
    along = along * jnp.where(some, 1.0 / jnp.sqrt(jnp.where(some, square, 1.0)), 0.0)
    one, zero = jnp.ones_like(square), jnp.zeros_like(square)
    steep = jnp.abs(base.x) < 0.6
    other = base.cross(Vec(jnp.where(steep, one, zero), jnp.where(steep, zero, one), zero))
    across = along.where(choice.one >= 0, other)
    across = (across - base * base.dot(across)).unit()
    return across, base.cross(across)
