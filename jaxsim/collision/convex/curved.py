"""The curved part of a core, an ellipsoid or a disk: support points, their derivative, support function."""

from __future__ import annotations

import jax.numpy as jnp
from jax import Array, lax

from jaxsim.collision.convex.settle import settled
from jaxsim.collision.convex.solid import Kind, Solid, corner_number, corner_point, solid_of
from jaxsim.collision.points import Shape
from jaxsim.collision.vec import Vec
from jaxsim.math.stage import stage

__all__ = ["bend", "curved_point", "disk_point", "height_along", "is_disk"]


def is_disk(kind: Kind) -> bool:
    """Whether the curved part is a flat disk about the z axis."""
    return kind.round is not None and None in kind.round


def curved_point(kind: Kind, shape: Shape, direction: Vec, flat: Array, fixed: Vec) -> Vec:
    """Support point of the curved part in a direction, relative to its centre, world frame; `fixed` where `flat`."""
    if kind.round is None:
        return Vec(*(jnp.zeros_like(c) for c in direction))
    scaled, length = _scaled(kind, shape, direction, flat)
    inverse = 1.0 / length
    local = Vec(*(s * c * inverse for s, c in zip(_semi(kind, shape), scaled, strict=True)))
    return fixed.where(flat, shape.axes.to_world(local))


def bend(kind: Kind, shape: Shape, direction: Vec, v: Vec, flat: Array) -> Vec:
    """How the support point moves as the direction moves along `v`: the support function's Hessian; 0 where `flat`.

    With q = S^2 d / |S d| it is (S^2 v - q (q . v)) / |S d|.
    """
    if kind.round is None:
        return Vec(*(jnp.zeros_like(c) for c in v))
    semi = _semi(kind, shape)
    scaled, length = _scaled(kind, shape, direction, flat)
    inverse = jnp.where(flat, 0.0, 1.0 / length)
    q = Vec(*(s * c * inverse for s, c in zip(semi, scaled, strict=True)))
    w = shape.axes.to_local(v)
    return shape.axes.to_world(
        Vec(*((s * s * x - y * q.dot(w)) * inverse for s, x, y in zip(semi, w, q, strict=True)))
    )


def disk_point(kind: Kind, shape: Shape, v: Vec) -> Vec:
    """The point of a disk nearest to a vector from its centre, world frame; it turns with the disk. 0 if no disk."""
    if not is_disk(kind):
        return Vec(*(jnp.zeros_like(c) for c in v))
    x, y = (lax.stop_gradient(axis.dot(v)) for axis in (shape.axes.x, shape.axes.y))
    radius = shape.size.x
    square = x * x + y * y
    outside = square > lax.stop_gradient(radius * radius)
    shrink = jnp.where(outside, radius / jnp.sqrt(jnp.where(outside, square, 1.0)), 1.0)
    return shape.axes.x * (x * shrink) + shape.axes.y * (y * shrink)


def height_along(kind: Kind, shape: Shape, direction: Vec) -> Array:
    """The support function of a core about its centre, m."""
    d = shape.axes.to_local(direction)
    total = jnp.zeros_like(d.x)
    if kind.round is not None:
        scaled = Vec(*(s * c for s, c in zip(_semi(kind, shape), d, strict=True)))
        square = scaled.dot(scaled)
        total = jnp.where(square > 0, jnp.sqrt(jnp.where(square > 0, square, 1.0)), 0.0)
    if kind.box is not None:
        for k, c in zip(kind.box, d, strict=True):
            total = total if k is None else total + shape.size[k] * jnp.abs(c)
    if kind.mesh:
        solid = solid_of(kind, shape)
        total = total + d.dot(corner_point(kind, solid, settled(_corner_number(solid, d, kind=kind))))
    return total


@stage
def _corner_number(solid: Solid, direction: Vec, *, kind: Kind) -> Array:
    return corner_number(kind, solid, direction)


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
