"""Box against box: separating axis, then a clipped face or a pair of edges.

The axis of largest separation among the 15 candidates (three face normals a box, nine products of edge directions)
decides the kind of contact; faces win near-ties, because a face gives a patch of up to eight points. The choice
follows the C engine and carries no derivative; points, depth and normal are differentiated from the chosen features.

In the frame of box 1: R[i][j] is component i of axis j of box 2, `p21` the centre of box 2. A code names the axis:
0-2 faces of box 1, 3-5 faces of box 2, 6 + 3 i + j the product of edge i of box 1 and edge j of box 2, -1 apart.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import jax.numpy as jnp
from jax import Array, lax

from jaxsim.collision.box_face import clip_to_rectangle
from jaxsim.collision.points import Placed, Points, Shape
from jaxsim.collision.vec import Frame, Vec
from jaxsim.enums import GeomType
from jaxsim.math.constants import MINVAL
from jaxsim.math.stage import long_stage
from jaxsim.math.whole import quotient, remainder
from jaxsim.structure.colliders import collider

__all__ = ["box_box"]

_Matrix = tuple[Vec, Vec, Vec]

_EDGE_BIAS = 1e-6
"""Relative amount by which an edge axis must beat the best face axis."""
_ALIGNED = 0.99
"""Cosine above which an edge axis stands for the same contact as a face axis."""
_FACE_BONUS = 0.05
"""Share of the face's depth by which an aligned edge axis must be better to replace it."""


class _Rounding(NamedTuple):
    """Scales of rounding errors.

    Attributes:
      separation: of a separation, relative to the boxes' sizes.
      parallel: squared sine of the angle of edges that count as parallel.
      sign: component of a unit vector that has no sign.
    """

    separation: float
    parallel: float
    sign: float


def _rounding(dtype: jnp.dtype) -> _Rounding:
    return _Rounding(1e-13, 1e-16, 1e-9) if dtype == jnp.float64 else _Rounding(1e-6, 1e-7, 1e-5)


def _matrix(rows: Iterable[Vec]) -> _Matrix:
    first, second, third = rows
    return first, second, third


@collider(GeomType.BOX, GeomType.BOX, points=8, exhaustive=32)
def box_box(geom1: Shape, geom2: Shape, margin: Array) -> Points:
    """Box against box: up to eight points."""
    box1, box2 = geom1.apart(), geom2.apart()
    offset = box2.pos - box1.pos
    p21, p12 = box1.axes.to_local(offset), box2.axes.to_local(-offset)
    R: _Matrix = _matrix(Vec(*(a.dot(b) for b in box2.axes)) for a in box1.axes)
    slack = sum([*box1.size, *box2.size], start=jnp.zeros((), margin.dtype))
    rounding = _rounding(slack.dtype).separation * slack
    reach = margin + rounding
    code = _separating_axis(
        p21.stop(),
        p12.stop(),
        _matrix(r.stop() for r in R),
        box1.size.stop(),
        box2.size.stop(),
        reach,
        rounding,
    )
    edge = _edge_contact(code, R, p21, box1, box2)
    face = _face_contact(code, R, p21, p12, box1, box2, margin)
    by_edge = (code >= 6)[..., None, :]
    first = jnp.arange(face.dist.shape[-2])[:, None] == 0
    on_face = jnp.ones(face.dist.shape, bool) if face.valid is None else face.valid
    valid = jnp.where(by_edge, first & (edge.dist <= reach)[..., None, :], on_face)
    return Points(
        dist=jnp.where(by_edge, edge.dist[..., None, :], face.dist),
        pos=_widen(edge.pos).where(by_edge, face.pos),
        normal=_widen(edge.normal).where(by_edge, face.normal),
        valid=valid & (code >= 0)[..., None, :],
    )


def _widen(v: Vec) -> Vec:
    return Vec(*(c[..., None, :] for c in v))


@long_stage
def _separating_axis(
    p21: Vec, p12: Vec, R: _Matrix, s1: Vec, s2: Vec, reach: Array, rounding: Array
) -> Array:
    """The code of the axis of largest separation, -1 where one exceeds `reach`.

    Of faces that lie flat in each other, whose separations differ by `rounding` at most, the one with the longer
    outline counts: if the other lies within it, it is what separates them most however little one is tilted.
    """
    scale = _rounding(reach.dtype)
    size = [Vec(*map(jnp.abs, row)) for row in R]
    best = jnp.full(p21.x.shape, -jnp.inf, p21.x.dtype)
    code = jnp.zeros(best.shape, jnp.int32)
    apart = jnp.zeros(best.shape, bool)
    outline = jnp.zeros_like(best)
    for k in range(6):
        box = s1 if k < 3 else s2
        around = box[(k + 1) % 3] + box[(k + 2) % 3]
        if k < 3:
            separation = jnp.abs(p21[k]) - s1[k] - size[k].dot(s2)
            better = separation > best
        else:
            j = k - 3
            separation = jnp.abs(p12[j]) - s2[j] - Vec(*(row[j] for row in size)).dot(s1)
            facing = (code < 3) & (_pick([row[j] for row in size], code) > _ALIGNED)
            tied = facing & (jnp.abs(separation - best) <= rounding) & (best < -rounding)
            better = jnp.where(tied, around > outline, separation > best)
        apart = apart | (separation > reach)
        best, code = jnp.where(better, separation, best), jnp.where(better, k, code)
        outline = jnp.where(better, around, outline)
    face, face_code = best, code

    aligned = jnp.zeros_like(best)
    for i in range(3):
        for j in range(3):
            i1, i2, j1, j2 = (i + 1) % 3, (i + 2) % 3, (j + 1) % 3, (j + 2) % 3
            a1, a2 = -R[i2][j], R[i1][j]
            square = a1 * a1 + a2 * a2
            usable = square >= scale.parallel
            inverse = 1.0 / jnp.sqrt(jnp.where(usable, square, 1.0))
            a1, a2 = a1 * inverse, a2 * inverse
            radius1 = s1[i1] * jnp.abs(a1) + s1[i2] * jnp.abs(a2)
            # the same axis in the frame of box 2 has components b1, b2 only
            b1, b2 = a1 * R[i1][j1] + a2 * R[i2][j1], a1 * R[i1][j2] + a2 * R[i2][j2]
            radius2 = s2[j1] * jnp.abs(b1) + s2[j2] * jnp.abs(b2)
            separation = jnp.abs(a1 * p21[i1] + a2 * p21[i2]) - radius1 - radius2
            apart = apart | (usable & (separation > reach))
            better = usable & (separation - _EDGE_BIAS * jnp.abs(separation) > best) & (separation > face)
            best, code = jnp.where(better, separation, best), jnp.where(better, 6 + 3 * i + j, code)
            cosines = [jnp.zeros_like(a1)] * 6
            cosines[i1], cosines[i2], cosines[3 + j1], cosines[3 + j2] = a1, a2, b1, b2
            cosine = jnp.abs(_pick(cosines, face_code))
            aligned = jnp.where(better, cosine, aligned)
    doubled = (code >= 6) & (aligned > _ALIGNED) & (best < face + _FACE_BONUS * jnp.abs(face) + MINVAL)
    return jnp.where(apart, -1, jnp.where(doubled, face_code, code))


def _pick(options: list[Array], index: Array) -> Array:
    chosen = options[-1]
    for k in range(len(options) - 2, -1, -1):
        chosen = jnp.where(index == k, options[k], chosen)
    return chosen


def _cycle(v: Vec, first: Array) -> Vec:
    """Components first, first + 1, first + 2 (mod 3)."""
    zero, one = first == 0, first == 1
    return Vec(*(jnp.where(zero, v[k], jnp.where(one, v[(k + 1) % 3], v[(k + 2) % 3])) for k in range(3)))


def _cycle_rows(m: _Matrix | Frame, first: Array) -> _Matrix:
    columns = [_cycle(Vec(*column), first) for column in zip(*m, strict=True)]
    return tuple(Vec(*row) for row in zip(*columns, strict=True))  # pyright: ignore


class _Edges(NamedTuple):
    """Edges along axis 0 of two boxes, in the frame of box 1.

    Attributes:
      rows: orientation of box 2 by rows.
      p: centre of box 2, m.
      s1: half sizes of box 1, m.
      s2: half sizes of box 2, m.
      across: square of the sine of the angle between the edges.
    """

    rows: _Matrix
    p: Vec
    s1: Vec
    s2: Vec
    across: Array

    def nearest(self, u1: Array, v1: Array, u2: Array, v2: Array) -> tuple[Vec, Vec]:
        """Nearest points of the edges on the sides of these signs along axes 1 and 2."""
        along = Vec(*(row.x for row in self.rows))
        corner1 = Vec(jnp.zeros_like(u1), u1 * self.s1.y, v1 * self.s1.z)
        m, n = -u2 * self.s2.y, -v2 * self.s2.z
        corner2 = Vec(*(row.y * m + row.z * n + c for row, c in zip(self.rows, self.p, strict=True)))
        e = corner2 - corner1
        b, d1, d2 = along.x, e.x, along.dot(e)
        skew = self.across >= MINVAL
        s = jnp.where(skew, (d1 - b * d2) / jnp.where(skew, self.across, 1.0), 0.0)
        s = jnp.clip(s, -self.s1.x, self.s1.x)
        t = jnp.clip(b * s - d2, -self.s2.x, self.s2.x)
        s = jnp.clip(d1 + b * t, -self.s1.x, self.s1.x)
        return Vec(corner1.x + s, corner1.y, corner1.z), corner2 + along * t


@long_stage
def _edge_contact(code: Array, R: _Matrix, p21: Vec, box1: Placed, box2: Placed) -> Points:
    """Midpoint of the nearest points of the two supporting edges, depth along the separating axis.

    Axes are cycled so that the edges run along axis 0 of their boxes. Where a component of the separating axis has no
    sign, both edges support it, and the nearer pair is taken.
    """
    tiny = _rounding(p21.x.dtype).sign
    code = jnp.maximum(code - 6, 0)
    i, j = quotient(code, 3), remainder(code, 3)
    rows = _matrix(_cycle(row, j) for row in _cycle_rows(R, i))
    axes, p = _cycle_rows(box1.axes, i), _cycle(p21, i)
    s1, s2 = _cycle(box1.size, i), _cycle(box2.size, j)

    along2 = Vec(*(row.x for row in rows))
    across = jnp.square(along2.y) + jnp.square(along2.z)
    inverse = 1.0 / jnp.sqrt(jnp.where(across > 0, across, 1.0))
    flip = jnp.where(along2.y * p.z - along2.z * p.y < 0, -inverse, inverse)
    a1, a2 = -along2.z * flip, along2.y * flip
    b1, b2 = a1 * rows[1].y + a2 * rows[2].y, a1 * rows[1].z + a2 * rows[2].z

    def signs(one: Array, two: Array) -> list[tuple[Array, Array, Array]]:
        """The supporting corner's signs, and with a sign-less component flipped, and whether that is needed."""
        u, v = (jnp.where(c >= 0, 1.0, -1.0).astype(c.dtype) for c in (one, two))
        loose1 = jnp.abs(one) < tiny
        loose2 = (jnp.abs(two) < tiny) & ~loose1
        return [
            (u, v, jnp.ones_like(loose1)),
            (jnp.where(loose1, -u, u), jnp.where(loose2, -v, v), loose1 | loose2),
        ]

    edges = _Edges(rows, p, s1, s2, across)
    held, least = lax.stop_gradient(edges), jnp.full(p.x.shape, jnp.inf, p.x.dtype)
    chosen = (least,) * 4
    for u1, v1, may1 in signs(a1, a2):
        for u2, v2, may2 in signs(b1, b2):
            near1, near2 = held.nearest(u1, v1, u2, v2)
            gap = near2 - near1
            square = gap.dot(gap)
            better = may1 & may2 & (square < least)
            least = jnp.where(better, square, least)
            chosen = tuple(jnp.where(better, x, old) for x, old in zip((u1, v1, u2, v2), chosen, strict=True))
    w1, w2 = edges.nearest(*chosen)
    gap = w2 - w1
    dist = gap.y * a1 + gap.z * a2
    normal = axes[1] * a1 + axes[2] * a2
    middle = (w1 + w2) * 0.5
    pos = box1.pos + axes[0] * middle.x + axes[1] * middle.y + axes[2] * middle.z
    return Points(dist, pos, normal)


@long_stage
def _face_contact(
    code: Array, R: _Matrix, p21: Vec, p12: Vec, box1: Placed, box2: Placed, margin: Array
) -> Points:
    """The face of the incident box, clipped to the reference face; points midway between the two.

    Reference axes are cycled to (x, y, normal).
    """
    first = (code < 3) | (code >= 6)
    a = remainder(jnp.maximum(code, 0), 3)
    transposed = tuple(Vec(*column) for column in zip(*R, strict=True))
    rinc = tuple(r.where(first, t) for r, t in zip(R, transposed, strict=True))
    side = remainder(a + 1, 3)
    rows = _cycle_rows(rinc, side)  # pyright: ignore
    centre = _cycle(p21.where(first, p12), side)
    half = _cycle(box1.size.where(first, box2.size), side)
    axes = _cycle_rows(Frame(*(u.where(first, v) for u, v in zip(box1.axes, box2.axes, strict=True))), side)
    inc = box2.size.where(first, box1.size)
    up = jnp.where(centre.z >= 0, 1.0, -1.0).astype(centre.z.dtype)

    steep = Vec(*map(jnp.abs, rows[2]))
    facing = jnp.where(steep.y > steep.x, 1, 0)
    facing = jnp.where(steep.z > jnp.where(facing == 1, steep.y, steep.x), 2, facing)
    rows = tuple(_cycle(row, facing) for row in rows)
    inc = _cycle(inc, facing)
    toward = jnp.where(up * rows[2].x > 0, -inc.x, inc.x)
    normals, us, vs = (Vec(*column) for column in zip(*rows, strict=True))
    middle, u, v = centre + normals * toward, us * inc.y, vs * inc.z
    middle = Vec(middle.x, middle.y, up * middle.z - half.z)
    u, v = Vec(u.x, u.y, up * u.z), Vec(v.x, v.y, up * v.z)
    patch, valid = clip_to_rectangle(middle, u, v, half.x, half.y, margin)

    height = _widen(Vec(half.z, up, up))
    lift = height.y * (height.x + 0.5 * patch.z)
    ax, ay, az = (_widen(axis) for axis in axes)
    pos = _widen(box1.pos.where(first, box2.pos)) + ax * patch.x + ay * patch.y + az * lift
    normal = axes[2] * jnp.where(first, up, -up)
    normal = Vec(*(jnp.broadcast_to(c, patch.z.shape) for c in _widen(normal)))
    return Points(patch.z, pos, normal, valid=valid)
