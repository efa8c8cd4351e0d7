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
from typing import NamedTuple

import jax.numpy as jnp
from jax import Array, lax

from jaxsim.collision.ball import ball_box
from jaxsim.collision.points import Points, Shape, stack_points
from jaxsim.collision.vec import Vec, safe_divide
from jaxsim.enums import GeomType
from jaxsim.math.constants import MINVAL
from jaxsim.math.stage import stage
from jaxsim.structure.colliders import collider

__all__ = ["capsule_box"]

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
      t: place on the segment.
      kind: its `_Feature`.
      axis: face: axis of its normal; edge and corner: axis of the edge.
      corner: octant of the corner, the lower one of an edge.
      x: place on the edge.
    """

    square: Array
    t: Array
    kind: Array
    axis: Array
    corner: Array
    x: Array

    def unless(self, better: Array, other: _Nearest) -> _Nearest:
        """`other` where `better`."""
        return _Nearest(*(jnp.where(better, b, a) for a, b in zip(self, other, strict=True)))


@collider(GeomType.CAPSULE, GeomType.BOX, points=2, exhaustive=64)
@stage
def capsule_box(capsule: Shape, box: Shape, margin: Array) -> Points:
    """Capsule against box: up to two points."""
    p = box.axes.to_local(capsule.pos - box.pos)
    axis = box.axes.to_local(capsule.axes.z)
    h, s = axis * capsule.size.y, box.size
    half = capsule.size.y
    far = margin + 2.0 * (capsule.size.x + half + s.x + s.y + s.z) + 0.0 * p.x
    none = jnp.zeros(far.shape, jnp.int32)
    best = _Nearest(far * far, jnp.zeros_like(far), none + _Feature.NONE, none, none, jnp.zeros_like(far))
    best = _nearest_edge(*_edges(p, h, s, half), _nearest_face(p, h, s, best))

    second, exists = _second(p, h, s, axis, best)
    points = []
    for t, valid in ((best.t, best.kind != _Feature.NONE), (best.t + second, exists)):
        centre = capsule.pos + capsule.axes.z * (capsule.size.y * t)
        points.append(ball_box(centre, capsule.size.x, box)._replace(valid=valid))
    return stack_points(points)


@stage
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
        at = jnp.full_like(square, t)
        found = _Nearest(square, at, kind, face, jnp.zeros_like(face), jnp.zeros_like(square))
        best = best.unless((count <= 1) & (square < best.square), found)
    return best


@stage
def _edges(p: Vec, h: Vec, s: Vec, half: Array) -> tuple[Array, Array, Array, Array]:
    """Nearest points of the segment and the twelve edges.

    Returns:
      squared distance, place on the segment, place on the edge, and -1, 0 or 1: nearest to the edge's lower end, to
      its inside or to its upper end; all (npair, 3 edge axes, 4 edges, W).
    """

    def along(v: Vec, axes: tuple[int, ...]) -> Array:
        return jnp.stack([jnp.broadcast_to(v[k], p.x.shape) for k in axes], axis=-2)[..., None, :]

    own, low, high = (0, 1, 2), tuple(o[0] for o in _OTHERS), tuple(o[1] for o in _OTHERS)
    sj, hj, pj = (along(v, own) for v in (s, h, p))
    ha, hb = along(h, low), along(h, high)
    signs = jnp.asarray(_CORNERS, p.x.dtype).T[:, :, None]
    da = signs[0] * along(s, low) - along(p, low)
    db = signs[1] * along(s, high) - along(p, high)

    ma, mb, mc = sj * sj, -sj * hj, (half * half)[..., None, None, :]
    u, v = sj * pj, ha * da + hb * db - hj * pj
    across = ha * ha + hb * hb
    det = ma * across
    skew = det >= MINVAL
    inverse = 1.0 / jnp.where(skew, det, 1.0)
    x, t = (mc * u - mb * v) * inverse, (ma * v - mb * u) * inverse
    # the nearest place on nearly parallel lines is ill-conditioned, the distance is not
    loose = across < jnp.sqrt(jnp.finfo(det.dtype).eps) * mc
    x, t = (jnp.where(loose, lax.stop_gradient(w), w) for w in (x, t))
    line = lax.stop_gradient(x)
    t = jnp.where(x > 1, (v - mb) / mc, jnp.where(x < -1, (v + mb) / mc, t))
    x = jnp.where(t > 1, (u - mb) / ma, jnp.where(t < -1, (u + mb) / ma, x))
    # an edge whose line is nearest beyond its end counts as that corner, though the segment's end may be nearest within
    end = jnp.where(x > 1, 1, jnp.where(x < -1, -1, jnp.where(line > 1, 1, jnp.where(line < -1, -1, 0))))
    t, x = jnp.clip(t, -1, 1), jnp.clip(x, -1, 1)
    ea, eb, ej = da - ha * t, db - hb * t, sj * x - hj * t - pj
    square = jnp.where(skew, ea * ea + eb * eb + ej * ej, jnp.inf)
    return square, t, x, end.astype(jnp.int32)


@stage
def _nearest_edge(square: Array, t: Array, x: Array, end: Array, best: _Nearest) -> _Nearest:
    """The nearest of the edges, see `_edges`, if it is nearer than `best`."""
    for j, (a, b) in enumerate(_OTHERS):
        for k, (sa, sb) in enumerate(_CORNERS):
            lower = (sa > 0) << a | (sb > 0) << b
            at = end[..., j, k, :]
            corner = jnp.where(at > 0, lower | 1 << j, lower).astype(jnp.int32)
            kind = jnp.where(at == 0, _Feature.EDGE, _Feature.CORNER).astype(jnp.int32)
            axis = jnp.full_like(kind, j)
            found = _Nearest(square[..., j, k, :], t[..., j, k, :], kind, axis, corner, x[..., j, k, :])
            best = best.unless(found.square < best.square - MINVAL, found)
    return best


@stage
def _second(p: Vec, h: Vec, s: Vec, axis: Vec, best: _Nearest) -> tuple[Array, Array]:
    """Offset of the second sphere along the segment, and whether there is one."""
    x, y, z = ((c > 0).astype(jnp.int32) for c in h)
    octant = x | y << 1 | z << 2
    # lengths along the segment that cross the box from side to side
    across = Vec(*(safe_divide(2.0 * size, jnp.abs(c), jnp.inf) for size, c in zip(s, h, strict=True)))
    turn = octant ^ best.corner
    at_corner = _from_corner(axis, across, turn, best.t)
    at_edge = _from_edge(axis, across, turn, octant, best)
    at_face = _from_face(p, h, s, best)
    corner, edge, face = (best.kind == kind for kind in (_Feature.CORNER, _Feature.EDGE, _Feature.FACE))
    offset = jnp.where(corner, at_corner[0], jnp.where(edge, at_edge[0], at_face))
    exists = (corner & at_corner[1]) | (edge & at_edge[1]) | face
    return jnp.where(exists, offset, 0.0), exists


def _one_bit(octant: Array) -> Array:
    """Whether exactly one of the three bits is set."""
    return (octant == 0b001) | (octant == 0b010) | (octant == 0b100)


def _from_corner(axis: Vec, across: Vec, turn: Array, t: Array) -> tuple[Array, Array]:
    """From a corner the segment may run along an edge or over a face, unless it points straight at the corner."""
    forward = _one_bit(turn)
    single = jnp.where(forward, turn, _OPPOSITE - turn)
    k = jnp.where(single == 0b100, 2, single - 1)
    sign = jnp.where(forward, 1.0, -1.0).astype(t.dtype)
    ahead, behind = 1.0 - sign * t, 1.0 + sign * t
    limit = [across.pick((k + i) % 3) for i in range(3)]
    steep = axis.pick(k)
    along_edge = jnp.minimum(ahead, limit[0])
    over_face = -jnp.minimum(jnp.minimum(behind, limit[1]), limit[2])
    return sign * jnp.where(steep * steep > 0.5, along_edge, over_face), (turn != 0) & (turn != _OPPOSITE)


def _from_edge(axis: Vec, across: Vec, turn: Array, octant: Array, best: _Nearest) -> tuple[Array, Array]:
    """From an edge that the segment crosses, over the face it is less inclined to."""
    k = best.axis
    others = turn & (_OPPOSITE - (1 << k))
    one, two = (k + 1) % 3, (k + 2) % 3
    inclined = jnp.abs(axis.pick(one)) > jnp.abs(axis.pick(two))
    over = jnp.where(inclined, one, two)
    forward = (others >> over) & 1 == 1
    sign = jnp.where(forward, 1.0, -1.0).astype(best.t.dtype)
    same = ((octant >> k) & 1 == 1) == forward
    room = jnp.where(same, 1.0 - best.x, 1.0 + best.x)
    offset = jnp.minimum(1.0 - sign * best.t, across.pick(over))
    run = across.pick(k)
    level = jnp.isinf(run)
    offset = jnp.minimum(offset, jnp.where(level, jnp.inf, 0.5 * room * jnp.where(level, 1.0, run)))
    return sign * offset, _one_bit(others)


def _from_face(p: Vec, h: Vec, s: Vec, best: _Nearest) -> Array:
    """From an end above a face to where the segment leaves the space above it."""
    sign = -best.t
    end = p + h * best.t
    offset = jnp.full_like(best.t, 2.0)
    for i in range(3):
        for side in (s[i], -s[i]):
            # a segment along the side never crosses it, whichever end is nearest
            length = safe_divide((side - end[i]) * sign, h[i], jnp.inf)
            closer = (best.axis != i) & (length > 0) & (length < offset)
            offset = jnp.where(closer, length, offset)
    return sign * offset
