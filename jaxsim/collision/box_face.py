"""Clipping a parallelogram to a rectangle: the contact patch of two faces."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from jaxsim.collision.vec import Vec
from jaxsim.math.stage import stage
from jaxsim.math.whole import quotient, remainder

__all__ = ["clip_to_rectangle"]

_POINTS = 8
"""Most corners of the common part of two quadrangles."""


_UNCUT, _CUT_X, _CUT_Y, _CUTS = range(4)
"""An edge that ends at its own end, at a side |x| = half_x, or at a side |y| = half_y; and how many cases these are."""


def clip_to_rectangle(
    centre: Vec, u: Vec, v: Vec, half_x: Array, half_y: Array, height: Array
) -> tuple[Vec, Array]:
    """Corners of the part of the parallelogram `centre + [-1, 1] u + [-1, 1] v` above a rectangle.

    They are the ends of its four edges, clipped, and the corners of the rectangle inside it; corners that coincide
    count once, those higher than `height` not at all. Which they are is chosen without derivatives.

    Args:
      centre: z is the height above the rectangle, m; components (npair, W), as all below.
      u: half edge.
      v: other half edge; not along `u` in the xy plane.
      half_x: half size of the rectangle |x| <= half_x, m.
      half_y: the same in y.
      height: largest height kept, m.

    Returns:
      eight points, components (npair, 8, W), and whether each is in use.
    """
    shape = centre, u, v, half_x, half_y
    codes, valid = _chosen(*lax.stop_gradient((*shape, height)))
    return _corner(codes, *shape), valid


@stage
def _chosen(centre: Vec, u: Vec, v: Vec, half_x: Array, half_y: Array, height: Array) -> tuple[Array, Array]:
    """Which corners there are, as codes of `_corner`, (npair, 8, W)."""
    eps = jnp.finfo(centre.x.dtype).eps
    scale = half_x + half_y
    # lengths below this are rounding errors of edges that lie on each other
    snap = (64 * eps * scale)[..., None, :]
    hx, hy = half_x[..., None, :], half_y[..., None, :]

    start = _rows([centre + u + v, centre - u + v, centre - u - v, centre + u - v])
    run = _rows([u * -2.0, v * -2.0, u * 2.0, v * 2.0])
    enter, leave = jnp.zeros_like(start.x), jnp.ones_like(start.x)
    enters = leaves = jnp.full(start.x.shape, _UNCUT, jnp.int32)
    on_side: list[Array] = []
    for cut, x, dx, place, limit in (
        (_CUT_X, start.x, run.x, centre.x, hx),
        (_CUT_Y, start.y, run.y, centre.y, hy),
    ):
        level = jnp.abs(dx) <= snap
        on_side.append(level & (jnp.abs(x - limit) <= snap) & (place[..., None, :] < limit))
        inverse = 1.0 / jnp.where(level, 1.0, dx)
        near = snap * jnp.abs(inverse)
        one, two = (_snapped((side - x) * inverse, near) for side in (-limit, limit))
        outside = jnp.abs(x) > limit + snap
        low = jnp.where(level, jnp.where(outside, jnp.inf, -jnp.inf), jnp.minimum(one, two))
        high = jnp.where(level, jnp.where(outside, -jnp.inf, jnp.inf), jnp.maximum(one, two))
        enters, leaves = jnp.where(low > enter, cut, enters), jnp.where(high < leave, cut, leaves)
        enter, leave = jnp.maximum(enter, low), jnp.minimum(leave, high)
    some = enter <= leave + 64 * eps
    whole = leave >= 1
    enter, leave = jnp.where(some, enter, 0.0), jnp.where(some, leave, 0.0)
    begin, end = start + run * enter, start + run * leave

    corner_x = jnp.concatenate([hx, -hx, -hx, hx], axis=-2)
    corner_y = jnp.concatenate([hy, hy, -hy, -hy], axis=-2)
    a, b = _solve(u.lifted(), v.lifted(), corner_x - centre.x[:, None], corner_y - centre.y[:, None])
    covered = (jnp.abs(a) <= 1 + 64 * eps) & (jnp.abs(b) <= 1 + 64 * eps)
    corner_z = centre.z[..., None, :] + a * u.z[..., None, :] + b * v.z[..., None, :]
    corner = Vec(*jnp.broadcast_arrays(corner_x, corner_y, corner_z))

    points = Vec(*(jnp.concatenate(c, axis=-2) for c in zip(begin, end, corner, strict=True)))
    valid = jnp.concatenate([some, some & ~whole, covered], axis=-2)
    valid = valid & (points.z <= height[..., None, :])
    radius = 1e-14 if eps < 1e-10 else 1e-10
    valid = _distinct(points, valid, radius * (half_x * half_x + half_y * half_y)[..., None, :])
    return _compact(_codes(points, enters, leaves, *on_side), valid)


def _snapped(place: Array, near: Array) -> Array:
    """Places on edges, from 0 to 1; an end that is near is met."""
    return jnp.where(jnp.abs(place) <= near, 0.0, jnp.where(jnp.abs(place - 1) <= near, 1.0, place))


def _codes(points: Vec, enters: Array, leaves: Array, on_x: Array, on_y: Array) -> Array:
    """Codes of the twelve points, where edges on sides are taken for outside: (npair, 12, W).

    Where two faces of one size are on each other, corners of either are the same points, but each of one geom only. So
    ties are broken as if the parallelogram were a little aside, by dx > 0 and dy > 0: edges on the sides x = half_x and
    y = half_y no longer bound the common part, and what they met is now where the side meets it.

    Args:
      points: beginnings of the edges, their ends and the corners of the rectangle.
      enters: where the edges begin, (npair, 4, W).
      leaves: where they end.
      on_x: which of them are on the side x = half_x.
      on_y: and on y = half_y.
    """
    before_x, before_y = jnp.roll(on_x, 1, axis=-2), jnp.roll(on_y, 1, axis=-2)
    corner = 8 + jnp.where(points.y > 0, jnp.where(points.x > 0, 0, 1), jnp.where(points.x > 0, 3, 2))

    def ended(number: np.ndarray, cut: Array, at: Array) -> Array:
        of_rectangle = ((cut == _CUT_X) & on_y) | ((cut == _CUT_Y) & on_x)
        return jnp.where(of_rectangle, _CUTS * at, _CUTS * number + cut)

    number = np.arange(4, dtype=np.int32)[:, None]
    # an edge that begins where it does meets the edge before it there, of which one may be on a side
    uncut = enters == _UNCUT
    own, before = _CUTS * number, _CUTS * (4 + (number + 3) % 4)
    by_own = jnp.where(before_x, own + _CUT_X, jnp.where(before_y, own + _CUT_Y, own))
    by_before = jnp.where(on_x, before + _CUT_X, before + _CUT_Y)
    both = (on_x & before_y) | (on_y & before_x)
    begin = jnp.where(both, _CUTS * corner[..., :4, :], jnp.where(on_x | on_y, by_before, by_own))
    begin = jnp.where(uncut, begin, ended(number, enters, corner[..., :4, :]))
    end = ended(4 + number, leaves, corner[..., 4:8, :])
    rest = jnp.broadcast_to(_CUTS * np.arange(8, 12, dtype=np.int32)[:, None], begin.shape)
    return jnp.concatenate([begin, end, rest], axis=-2).astype(jnp.int32)


@stage
def _corner(code: Array, centre: Vec, u: Vec, v: Vec, half_x: Array, half_y: Array) -> Vec:
    """Corners by their codes, each `centre + a u + b v`.

    A code says where an edge ends, and which: 0-3 beginnings of the edges, 4-7 their ends, 8-11 corners of the
    rectangle. Edge k runs from corner k to the next: ++, -+, --, +-.
    """
    number, cut = quotient(code, _CUTS), remainder(code, _CUTS)
    edge = remainder(number, 4)
    on_edge, begins, along_u = number < 8, number < 4, remainder(edge, 2) == 0
    sign_u = jnp.where((edge == 0) | (edge == 3), 1.0, -1.0).astype(centre.x.dtype)
    sign_v = jnp.where(edge < 2, 1.0, -1.0).astype(centre.x.dtype)
    c, u, v, hx, hy = centre.lifted(), u.lifted(), v.lifted(), half_x[:, None], half_y[:, None]

    # along the coordinate that is cut: half edge that is walked, the other, centre and side
    by_y = cut == _CUT_Y
    one_u, one_v, place, half = (
        jnp.where(by_y, q, p) for p, q in ((u.x, u.y), (v.x, v.y), (c.x, c.y), (hx, hy))
    )
    walked, other = jnp.where(along_u, one_u, one_v), jnp.where(along_u, one_v, one_u)
    begin_at, fixed = jnp.where(along_u, sign_u, sign_v), jnp.where(along_u, sign_v, sign_u)
    # an edge is walked from `begin_at` to its opposite, so it enters by the side on which it begins
    side = jnp.where((begin_at * walked > 0) == begins, half, -half)
    is_cut = on_edge & (cut != _UNCUT)
    met = (side - place - fixed * other) / jnp.where(is_cut, walked, 1.0)
    at = jnp.where(is_cut, met, jnp.where(begins, begin_at, -begin_at))

    a, b = _solve(u, v, sign_u * hx - c.x, sign_v * hy - c.y)
    a = jnp.where(on_edge, jnp.where(along_u, at, fixed), a)
    b = jnp.where(on_edge, jnp.where(along_u, fixed, at), b)
    return c + u * a + v * b


def _solve(u: Vec, v: Vec, dx: Array, dy: Array) -> tuple[Array, Array]:
    """Coefficients of u and v whose sum is (dx, dy) in the xy plane."""
    inverse = 1.0 / (u.x * v.y - u.y * v.x)
    return dx * (v.y * inverse) - dy * (v.x * inverse), dy * (u.x * inverse) - dx * (u.y * inverse)


def _rows(vectors: list[Vec]) -> Vec:
    """Stacks on the point axis."""
    return Vec(*(jnp.stack(c, axis=-2) for c in zip(*vectors, strict=True)))


@stage
def _distinct(points: Vec, valid: Array, square: Array) -> Array:
    """Valid points with no earlier valid point nearer than the root of `square` in the xy plane."""
    n = valid.shape[-2]
    keep = valid
    for shift in range(1, n):
        later, earlier = (
            (points.x[..., shift:, :], points.y[..., shift:, :]),
            (
                points.x[..., : n - shift, :],
                points.y[..., : n - shift, :],
            ),
        )
        dx, dy = later[0] - earlier[0], later[1] - earlier[1]
        double = (dx * dx + dy * dy < square) & valid[..., : n - shift, :]
        clear = jnp.ones((*double.shape[:-2], shift, double.shape[-1]), bool)
        keep = keep & jnp.concatenate([clear, ~double], axis=-2)
    return keep


@stage
def _compact(numbers: Array, valid: Array) -> tuple[Array, Array]:
    """Moves the valid numbers to the front, in order, and keeps eight."""
    slot = jnp.arange(1, _POINTS + 1)[:, None]
    rank = jnp.zeros((*valid.shape[:-2], 1, valid.shape[-1]), jnp.int32)
    chosen = jnp.zeros((*valid.shape[:-2], _POINTS, valid.shape[-1]), numbers.dtype)
    for k in range(valid.shape[-2]):
        own = valid[..., k : k + 1, :]
        rank = rank + own.astype(jnp.int32)
        chosen = jnp.where(own & (rank == slot), numbers[..., k : k + 1, :], chosen)
    return chosen, slot <= rank
