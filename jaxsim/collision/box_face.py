"""Clipping a parallelogram to a rectangle: the contact patch of two faces."""

from __future__ import annotations

import jax.numpy as jnp
from jax import Array

from jaxsim.collision.vec import Vec
from jaxsim.math.stage import stage

__all__ = ["clip_to_rectangle"]

_POINTS = 8
"""Most corners of the common part of two quadrangles."""


@stage
def clip_to_rectangle(
    centre: Vec, u: Vec, v: Vec, half_x: Array, half_y: Array, height: Array
) -> tuple[Vec, Array]:
    """Corners of the part of the parallelogram `centre + [-1, 1] u + [-1, 1] v` above a rectangle.

    They are the ends of its four edges, clipped, and the corners of the rectangle inside it; corners that coincide
    count once, those higher than `height` not at all.

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
    eps = jnp.finfo(centre.x.dtype).eps
    scale = half_x + half_y
    # lengths below this are rounding errors of edges that lie on each other
    snap = (64 * eps * scale)[..., None, :]
    hx, hy = half_x[..., None, :], half_y[..., None, :]

    start = _rows([centre + u + v, centre - u + v, centre - u - v, centre + u - v])
    run = _rows([u * -2.0, v * -2.0, u * 2.0, v * 2.0])
    enter, leave = jnp.zeros_like(start.x), jnp.ones_like(start.x)
    for x, dx, limit in ((start.x, run.x, hx), (start.y, run.y, hy)):
        level = jnp.abs(dx) <= snap
        inverse = 1.0 / jnp.where(level, 1.0, dx)
        one, two = (-limit - x) * inverse, (limit - x) * inverse
        outside = jnp.abs(x) > limit + snap
        low = jnp.where(level, jnp.where(outside, jnp.inf, -jnp.inf), jnp.minimum(one, two))
        high = jnp.where(level, jnp.where(outside, -jnp.inf, jnp.inf), jnp.maximum(one, two))
        enter, leave = jnp.maximum(enter, low), jnp.minimum(leave, high)
    some = enter <= leave + 64 * eps
    whole = leave >= 1
    enter, leave = jnp.where(some, enter, 0.0), jnp.where(some, leave, 0.0)
    begin, end = start + run * enter, start + run * leave

    corner_x = jnp.concatenate([hx, -hx, -hx, hx], axis=-2)
    corner_y = jnp.concatenate([hy, hy, -hy, -hy], axis=-2)
    inverse = 1.0 / (u.x * v.y - u.y * v.x)
    dx, dy = corner_x - centre.x[..., None, :], corner_y - centre.y[..., None, :]
    a = (dx * (v.y * inverse)[..., None, :]) - dy * (v.x * inverse)[..., None, :]
    b = (dy * (u.x * inverse)[..., None, :]) - dx * (u.y * inverse)[..., None, :]
    covered = (jnp.abs(a) <= 1 + 64 * eps) & (jnp.abs(b) <= 1 + 64 * eps)
    corner_z = centre.z[..., None, :] + a * u.z[..., None, :] + b * v.z[..., None, :]
    corner = Vec(*jnp.broadcast_arrays(corner_x, corner_y, corner_z))

    points = Vec(*(jnp.concatenate(c, axis=-2) for c in zip(begin, end, corner, strict=True)))
    valid = jnp.concatenate([some, some & ~whole, covered], axis=-2)
    valid = valid & (points.z <= height[..., None, :])
    radius = 1e-14 if eps < 1e-10 else 1e-10
    valid = _distinct(points, valid, radius * (half_x * half_x + half_y * half_y)[..., None, :])
    return _compact(points, valid)


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
def _compact(points: Vec, valid: Array) -> tuple[Vec, Array]:
    """Moves the valid points to the front, in order, and keeps eight."""
    slot = jnp.arange(1, _POINTS + 1)[:, None]
    rank = jnp.zeros((*valid.shape[:-2], 1, valid.shape[-1]), jnp.int32)
    chosen = [jnp.zeros((*valid.shape[:-2], _POINTS, valid.shape[-1]), points.x.dtype)] * 3
    for k in range(valid.shape[-2]):
        own = valid[..., k : k + 1, :]
        rank = rank + own.astype(jnp.int32)
        here = own & (rank == slot)
        chosen = [jnp.where(here, c[..., k : k + 1, :], old) for c, old in zip(points, chosen, strict=True)]
    return Vec(*chosen), slot <= rank
