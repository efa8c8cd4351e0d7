"""Capsule against box: up to two spheres on the capsule's segment against the box.

The first sphere sits at the point of the segment that is nearest to the box. The second, if the segment runs along
the box rather than into it, sits at the far end of the stretch of the segment that is above the box; it keeps a
capsule that lies on a box from rocking. The choice of both follows the C engine, so that contacts agree with it.

All in the box frame: segment `p + t h`, t in [-1, 1], with half axis h; box |x_k| <= s_k. A box edge along axis j is
the segment `corner + x s_j e_j`, x in [-1, 1].

Corners, and directions up to their length, are named by octant: a number whose bit k is set where component k is
positive. So the corner (+s_0, -s_1, +s_2) is octant 0b101, and the segment's own octant is that of h:

      6 ------- 7      Axis 0 points right, axis 1 up, axis 2 away from the reader. Corners that share an edge differ
    / |       / |      in one bit, opposite corners in all three.
   2 ------- 3  |
   |  4 -----|- 5      The *turn* is the exclusive or of the segment's octant and a corner's: the axes along which the
   | /       | /       + end of the segment goes from that corner back across the box. Turn 0b000: the segment leaves
   0 ------- 1         the box in the corner's own direction; 0b111: it runs straight into the box from there. With one
                       axis in the turn the + end goes across the box along it and outward along the two others; with
                       two axes in the turn the - end does so along the third.
"""

from __future__ import annotations

import enum
from typing import NamedTuple, TypeVar

import jax
import jax.numpy as jnp
from jax import Array, lax

from jaxsim.collision.ball import ball_box
from jaxsim.collision.points import Points, Shape, stack_points
from jaxsim.collision.vec import Vec, safe_divide
from jaxsim.enums import GeomType
from jaxsim.math import safe
from jaxsim.math.constants import MINVAL
from jaxsim.math.stage import long_stage
from jaxsim.structure.colliders import collider

__all__ = ["capsule_box"]

_T = TypeVar("_T", bound=NamedTuple)

_CORNERS = ((-1, -1), (1, -1), (-1, 1), (1, 1))
_OTHERS = ((1, 2), (0, 2), (0, 1))


class _Feature(enum.IntEnum):
    """Which part of the box is nearest to the segment."""

    NONE = 0
    INSIDE = 1
    """No surface: an end of the segment is inside the box."""
    FACE = 2
    CORNER = 3
    EDGE = 4


_OPPOSITE = 0b111
"""Turn between opposite octants; exclusive or with it turns an octant round."""


class _Nearest(NamedTuple):
    """The nearest feature of the box, arrays (npair, W).

    Attributes:
      square: squared distance to the segment.
      kind: its `_Feature`.
      axis: face: axis of its normal; edge and corner: axis of the edge.
      corner: octant of the corner, the lower one of an edge.
      t: place on the segment, if it is an end of it.
    """

    square: Array
    kind: Array
    axis: Array
    corner: Array
    t: Array


class _End(enum.IntEnum):
    """What ends the stretch of the segment that is above the box."""

    SEGMENT = 0
    WIDTH = 1
    """It has crossed the box from side to side."""
    PART = 2
    """It has gone half as far from a point of an edge."""
    SIDE = 3
    """It leaves the space above a face."""


class _Stretch(NamedTuple):
    """The stretch from the first sphere on, arrays (npair, W).

    Attributes:
      length: how long it is, in half axes of the segment.
      end: its `_End`.
      axis: the box axis along which that is.
      side: -1 or 1: there, on which side of the box; of a part, away from which end of the edge.
      sign: 1 or -1: towards the + or the - end of the segment.
    """

    length: Array
    end: Array
    axis: Array
    side: Array
    sign: Array

    @classmethod
    def to_end(cls, t: Array, sign: Array) -> _Stretch:
        """From a place on the segment to its end."""
        none = jnp.zeros(t.shape, jnp.int32)
        return cls(1.0 - sign * t, none + _End.SEGMENT, none, jnp.zeros_like(t), sign)

    def until(
        self, length: Array, end: _End, axis: Array | int, side: Array | float, when: Array | bool = True
    ) -> _Stretch:
        """The shorter of both."""
        other = self._replace(length=length, end=end, axis=axis, side=side)
        return _either((length < self.length) & when, other, self)


def _either(condition: Array, one: _T, other: _T) -> _T:
    """`one` where the condition holds, else `other`; records of arrays."""
    return jax.tree.map(lambda a, b: jnp.where(condition, a, b), one, other)


@collider(GeomType.CAPSULE, GeomType.BOX, points=2, exhaustive=64)
@long_stage
def capsule_box(geom1: Shape, geom2: Shape, margin: Array) -> Points:
    """Capsule against box: up to two points.

    Which feature is nearest and what ends the stretch is chosen without derivatives.
    """
    capsule, box = geom1.apart(), geom2.apart()
    p = box.axes.to_local(capsule.pos - box.pos)
    axis = box.axes.to_local(capsule.axes.z)
    half, s = capsule.size.y, box.size
    h = axis * half
    held = p.stop(), h.stop(), s.stop()
    best = _nearest(*held, *lax.stop_gradient((margin + 2.0 * capsule.size.x, half)))
    t, x, best = _place(p, h, s, half, best)
    second, exists = _second(*held, axis.stop(), *lax.stop_gradient((t, x)), best)
    offset = jnp.where(exists, _offset(p, h, s, t, x, second), 0.0)
    points = []
    for at, valid in ((t, best.kind != _Feature.NONE), (t + offset, exists)):
        centre = capsule.pos + capsule.axes.z * (half * at)
        points.append(ball_box(centre, capsule.size.x, box)._replace(valid=valid))
    return stack_points(points)


def _nearest(p: Vec, h: Vec, s: Vec, reach: Array, half: Array) -> _Nearest:
    """The nearest feature of the box; edges are not told from their corners."""
    far = reach + 2.0 * (half + s.x + s.y + s.z) + 0.0 * p.x
    none = jnp.zeros(far.shape, jnp.int32)
    best = _Nearest(far * far, none + _Feature.NONE, none, none, jnp.zeros_like(far))
    return _nearest_edge(_edges(p, h, s, half), _nearest_face(p, h, s, best))


@long_stage
def _nearest_face(p: Vec, h: Vec, s: Vec, best: _Nearest) -> _Nearest:
    """Ends of the segment that lie above a face, or inside the box."""
    for t in (-1.0, 1.0):
        end = p + h * t
        outside = [jnp.abs(e) > size for e, size in zip(end, s, strict=True)]
        excess = Vec(*(e - jnp.clip(e, -size, size) for e, size in zip(end, s, strict=True)))
        count = sum(o.astype(jnp.int32) for o in outside)
        face = jnp.where(outside[2], 2, jnp.where(outside[1], 1, 0))
        kind = jnp.where(count == 0, _Feature.INSIDE, _Feature.FACE)
        square = excess.dot(excess)
        found = _Nearest(square, kind, face, jnp.zeros_like(face), jnp.full_like(square, t))
        best = _either((count <= 1) & (square < best.square), found, best)
    return best


@long_stage
def _edges(p: Vec, h: Vec, s: Vec, half: Array) -> Array:
    """Squared distances of the segment and the twelve edges, (npair, 3 edge axes, 4 edges, W)."""
    shape = jnp.broadcast_shapes(p.x.shape, h.x.shape, s.x.shape)

    def along(v: Vec, axes: tuple[int, ...]) -> Array:
        return jnp.stack([jnp.broadcast_to(v[k], shape) for k in axes], axis=-2)[..., None, :]

    own, low, high = (0, 1, 2), tuple(o[0] for o in _OTHERS), tuple(o[1] for o in _OTHERS)
    sj, hj, pj = (along(v, own) for v in (s, h, p))
    ha, hb = along(h, low), along(h, high)
    signs = jnp.asarray(_CORNERS, p.x.dtype).T[:, :, None]
    da = signs[0] * along(s, low) - along(p, low)
    db = signs[1] * along(s, high) - along(p, high)
    across = ha * ha + hb * hb
    t, x, _ = _nearest_places(sj, hj, pj, ha * da + hb * db, across, (half * half)[..., None, None, :])
    ea, eb, ej = da - ha * t, db - hb * t, sj * x - hj * t - pj
    return jnp.where(_skew(sj, across), ea * ea + eb * eb + ej * ej, jnp.inf)


@long_stage
def _nearest_edge(square: Array, best: _Nearest) -> _Nearest:
    """The nearest of the edges, see `_edges`, if it is nearer than `best`."""
    least, number = best.square, jnp.full_like(best.kind, -1)
    for n in range(12):
        nearer = square[..., n // 4, n % 4, :] < least - MINVAL
        least = jnp.where(nearer, square[..., n // 4, n % 4, :], least)
        number = jnp.where(nearer, n, number)
    axis, signs = number >> 2, number & 3
    low, high = jnp.where(axis == 0, 1, 0), jnp.where(axis == 2, 1, 2)
    corner = (signs & 1) << low | (signs >> 1) << high
    edge = _Nearest(least, jnp.full_like(best.kind, _Feature.EDGE), axis, corner, jnp.zeros_like(least))
    return _either(number >= 0, edge, best)


def _nearest_places(
    sj: Array, hj: Array, pj: Array, ahead: Array, across: Array, mc: Array
) -> tuple[Array, Array, Array]:
    """Of a segment and an edge along axis j the nearest places on the segment and on the edge, up to their ends.

    Args:
      sj: half the edge's length.
      hj: component j of the half axis.
      pj: component j of the segment's centre.
      ahead: product of the half axis with the vector from the segment's centre to the edge, both across the edge.
      across: square of the half axis across the edge.
      mc: square of the half axis.

    Returns:
      places on the segment and on the edge, and which end of the edge is meant: -1, 0 for its inside, or 1.
    """
    ma, mb = sj * sj, -sj * hj
    u, v = sj * pj, ahead - hj * pj
    det = ma * across
    inverse = 1.0 / jnp.where(_skew(sj, across), det, 1.0)
    x, t = (mc * u - mb * v) * inverse, (ma * v - mb * u) * inverse
    # the nearest place on nearly parallel lines is ill-conditioned, the distance is not
    loose = across < jnp.sqrt(jnp.finfo(det.dtype).eps) * mc
    x, t = (jnp.where(loose, lax.stop_gradient(w), w) for w in (x, t))
    line = lax.stop_gradient(x)
    t = jnp.where(x > 1, (v - mb) / mc, jnp.where(x < -1, (v + mb) / mc, t))
    x = jnp.where(t > 1, (u - mb) / ma, jnp.where(t < -1, (u + mb) / ma, x))
    # an edge whose line is nearest beyond its end counts as that corner, though the segment's end may be nearest within
    end = jnp.where(x > 1, 1, jnp.where(x < -1, -1, jnp.where(line > 1, 1, jnp.where(line < -1, -1, 0))))
    return safe.clamp(t, -1, 1), safe.clamp(x, -1, 1), end.astype(jnp.int32)


def _skew(sj: Array, across: Array) -> Array:
    """Whether the segment is not along the edge."""
    return sj * sj * across >= MINVAL


@long_stage
def _place(p: Vec, h: Vec, s: Vec, half: Array, best: _Nearest) -> tuple[Array, Array, _Nearest]:
    """Places on the segment and on the edge that are nearest; and the feature, which may be a corner of the edge."""
    away = Vec(*(jnp.where((best.corner >> k) & 1 == 1, s[k], -s[k]) - p[k] for k in range(3)))
    away, across = (Vec(*(jnp.where(best.axis == k, 0.0, v[k]) for k in range(3))) for v in (away, h))
    j = best.axis
    t, x, end = _nearest_places(
        s.pick(j), h.pick(j), p.pick(j), across.dot(away), across.dot(across), half * half
    )
    edge = best.kind == _Feature.EDGE
    kind = jnp.where(edge & (end != 0), _Feature.CORNER, best.kind)
    corner = jnp.where(edge & (end > 0), best.corner | 1 << j, best.corner)
    t, x = jnp.where(edge, t, best.t), jnp.where(edge, x, 0.0)
    return t, x, best._replace(kind=kind, corner=corner)


@long_stage
def _second(p: Vec, h: Vec, s: Vec, axis: Vec, t: Array, x: Array, best: _Nearest) -> tuple[_Stretch, Array]:
    """The stretch up to the second sphere, and whether there is one; from the first, at `t`, and on its edge at `x`."""
    positive = [(c > 0).astype(jnp.int32) for c in h]
    octant = positive[0] | positive[1] << 1 | positive[2] << 2
    # lengths along the segment that cross the box from side to side
    across = Vec(*(safe_divide(2.0 * size, jnp.abs(c), jnp.inf) for size, c in zip(s, h, strict=True)))
    turn = octant ^ best.corner
    at_corner, from_corner = _from_corner(axis, across, turn, t)
    at_edge, from_edge = _from_edge(axis, across, turn, octant, t, x, best.axis)
    corner, edge, face = (best.kind == kind for kind in (_Feature.CORNER, _Feature.EDGE, _Feature.FACE))
    stretch = _either(corner, at_corner, _either(edge, at_edge, _from_face(p, h, s, t, best.axis)))
    return stretch, (corner & from_corner) | (edge & from_edge) | face


@long_stage
def _offset(p: Vec, h: Vec, s: Vec, t: Array, x: Array, stretch: _Stretch) -> Array:
    """A stretch with its sign and its derivatives."""
    k, side, sign = stretch.axis, stretch.side, stretch.sign
    run, size = h.pick(k), s.pick(k)
    to_side = (side * size - p.pick(k) - run * t) * jnp.where(run > 0, sign, -sign)
    end = stretch.end
    room = jnp.where(
        end == _End.WIDTH, 2.0 * size, jnp.where(end == _End.PART, (1.0 + side * x) * size, to_side)
    )
    moving = run != 0
    length = room / jnp.where(moving, jnp.abs(run), 1.0)
    return sign * jnp.where((end == _End.SEGMENT) | ~moving, 1.0 - sign * t, length)


def _one_bit(octant: Array) -> Array:
    """Whether exactly one of the three bits is set."""
    return (octant == 0b001) | (octant == 0b010) | (octant == 0b100)


def _from_corner(axis: Vec, across: Vec, turn: Array, t: Array) -> tuple[_Stretch, Array]:
    """From a corner the segment may run along an edge or over a face, unless it points straight at the corner."""
    forward = _one_bit(turn)
    single = jnp.where(forward, turn, _OPPOSITE - turn)
    k = jnp.where(single == 0b100, 2, single - 1)
    steep = axis.pick(k)
    along_edge = steep * steep > 0.5
    stretch = _Stretch.to_end(t, jnp.where(forward == along_edge, 1.0, -1.0).astype(t.dtype))
    for i in range(3):
        other = (k + i) % 3
        stretch = stretch.until(across.pick(other), _End.WIDTH, other, 0.0, along_edge == (i == 0))
    return stretch, (turn != 0) & (turn != _OPPOSITE)


def _from_edge(
    axis: Vec, across: Vec, turn: Array, octant: Array, t: Array, x: Array, k: Array
) -> tuple[_Stretch, Array]:
    """From an edge along k that the segment crosses, over the face it is less inclined to."""
    others = turn & (_OPPOSITE - (1 << k))
    one, two = (k + 1) % 3, (k + 2) % 3
    inclined = jnp.abs(axis.pick(one)) > jnp.abs(axis.pick(two))
    over = jnp.where(inclined, one, two)
    forward = (others >> over) & 1 == 1
    sign = jnp.where(forward, 1.0, -1.0).astype(t.dtype)
    same = ((octant >> k) & 1 == 1) == forward
    side = jnp.where(same, -1.0, 1.0).astype(t.dtype)
    stretch = _Stretch.to_end(t, sign).until(across.pick(over), _End.WIDTH, over, 0.0)
    run = across.pick(k)
    level = jnp.isinf(run)
    part = 0.5 * (1.0 + side * x) * jnp.where(level, 1.0, run)
    return stretch.until(part, _End.PART, k, side, ~level), _one_bit(others)


def _from_face(p: Vec, h: Vec, s: Vec, t: Array, normal: Array) -> _Stretch:
    """From an end above a face to where the segment leaves the space above it."""
    stretch = _Stretch.to_end(t, -t)
    end = p + h * t
    for i in range(3):
        for side in (1.0, -1.0):
            # a segment along the side never crosses it, whichever end is nearest
            length = safe_divide((side * s[i] - end[i]) * stretch.sign, h[i], jnp.inf)
            stretch = stretch.until(length, _End.SIDE, i, side, (normal != i) & (length > 0))
    return stretch
