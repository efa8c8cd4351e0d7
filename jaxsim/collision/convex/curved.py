"""The curved part of a core, an ellipsoid or a disk: support points, their derivative, support function."""

from __future__ import annotations

import jax.numpy as jnp
from jax import Array, lax

from jaxsim.collision.convex.settle import settled
from jaxsim.collision.convex.solid import Solid, corner_numbers, corner_point
from jaxsim.collision.vec import Frame, Vec
from jaxsim.math.stage import stage

__all__ = ["bend", "curved_point", "disk_point", "height_along"]


def curved_point(solid: Solid, axes: Frame, direction: Vec, flat: Array, fixed: Vec) -> Vec:
    """Support point of the curved part in a direction, relative to its centre, world frame; `fixed` where `flat`."""
    if solid.round is None:
        return direction * 0.0
    scaled, length = _scaled(solid.round, axes, direction, flat)
    local = solid.round.scaled(scaled) * (1.0 / length)
    return fixed.where(flat, axes.to_world(local))


def bend(solid: Solid, axes: Frame, direction: Vec, v: Vec, flat: Array) -> Vec:
    """How the support point moves as the direction moves along `v`: the support function's Hessian; 0 where `flat`.

    With q = S^2 d / |S d| it is (S^2 v - q (q . v)) / |S d|.
    """
    semi = solid.round
    if semi is None:
        return v * 0.0
    scaled, length = _scaled(semi, axes, direction, flat)
    inverse = jnp.where(flat, 0.0, 1.0 / length)
    q = semi.scaled(scaled) * inverse
    w = axes.to_local(v)
    return axes.to_world((semi.scaled(semi.scaled(w)) - q * q.dot(w)) * inverse)


def disk_point(solid: Solid, axes: Frame, v: Vec) -> Vec:
    """The point of a disk nearest to a vector from its centre, world frame; it turns with the disk. 0 if no disk."""
    if solid.disk is None or solid.round is None:
        return v * 0.0
    x, y = (lax.stop_gradient(axis.dot(v)) for axis in (axes.x, axes.y))
    radius = jnp.where(solid.disk, solid.round.x, 0.0)
    square = x * x + y * y
    outside = square > lax.stop_gradient(radius * radius)
    shrink = jnp.where(outside, radius / jnp.sqrt(jnp.where(outside, square, 1.0)), 1.0)
    return axes.x * (x * shrink) + axes.y * (y * shrink)


def height_along(solid: Solid, axes: Frame, direction: Vec) -> Array:
    """The support function of geoms of one type about their centres, m."""
    d = axes.to_local(direction)
    total = solid.ball + jnp.zeros_like(d.x)
    if solid.round is not None:
        scaled = solid.round.scaled(d)
        square = scaled.dot(scaled)
        total = total + jnp.where(square > 0, jnp.sqrt(jnp.where(square > 0, square, 1.0)), 0.0)
    if solid.box is not None:
        total = total + solid.box.dot(Vec(*map(jnp.abs, d)))
    if solid.hull is not None:
        total = total + d.dot(corner_point(solid, settled(_corner_number(solid, d))))
    return total


@stage
def _corner_number(solid: Solid, direction: Vec) -> Array:
    return corner_numbers([(solid, direction)])[0]


def _scaled(semi: Vec, axes: Frame, direction: Vec, flat: Array) -> tuple[Vec, Array]:
    """The direction in the geom's frame times its semi-axes, and the length of that, 1 where a disk is flat."""
    scaled = semi.scaled(axes.to_local(direction))
    square = scaled.dot(scaled)
    some = ~flat & (lax.stop_gradient(square) > 0)
    return scaled, jnp.sqrt(jnp.where(some, square, 1.0))
