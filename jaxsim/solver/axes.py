"""What moves bodies along and about the axes of contacts. Native layout."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import jax.numpy as jnp
from jax import Array

from jaxsim.collision.vec import Vec
from jaxsim.math.axis import components, concat, contract, stack
from jaxsim.math.linear import bilinear
from jaxsim.math.stage import stage

__all__ = ["along_axes", "along_axes_of_trees"]


@stage
def along_axes(pos: Array, frame: Array, moves: Array, sign: Array, *, dim: int) -> Array:
    """Velocity of body 2 against body 1 at contacts, along (and about) the axes of their frames, `(n, dim, k, W)`.

    Args:
      pos: of contacts, m.
      frame: their frames, `(n, 3, 3, W)`.
      moves: of each of k dofs `cdof` and the point that it refers to, `(k, 9, W)` or `(n, k, 9, W)`.
      sign: 1 where a dof moves body 2 alone, -1 where it moves body 1 alone, else 0, `(n, k, W)`.
      dim: dimension of the contacts.
    """
    numbers = components(moves)
    turn, slide, centre = (Vec(*numbers[i : i + 3]) for i in (0, 3, 6))
    linear = slide + turn.cross(Vec(*components(pos[:, None])) - centre)
    axes = [Vec(*components(axis[:, :, None], axis=1)) for axis in components(frame, axis=1)]
    rows = [linear.dot(axis) for axis in axes[:dim]] + [turn.dot(axis) for axis in axes[: max(0, dim - 3)]]
    return jnp.stack([row * sign for row in rows], axis=1)


def along_axes_of_trees(
    pos: Array, frame: Array, moves: Array, sign: Array, *, dim: int, trees: Sequence[int]
) -> Array:
    """As `along_axes`, where `moves (k, 9, W)` of all dofs of a tree refer to the same point, see `Movers`.

    Then an entry is a product of two vectors of six numbers, that of the dof and the wrench along (or about) the axis,
    and each derivative one more product of all.
    """
    products = []
    for start, stop in itertools.pairwise(trees):
        own = moves[start:stop]
        products.append(_screws(own[:, :6], _wrenches(pos, frame, own[:1, 6:], dim=dim)))
    return _signed(concat(products, axis=1), sign)


@stage
def _wrenches(pos: Array, frame: Array, centre: Array, *, dim: int) -> Array:
    """Unit forces along axes, and torques about them from the fourth on, around a point, `(n dim, 6, W)`."""
    arm = Vec(*components(pos)) - Vec(*components(centre))
    axes = [Vec(*components(axis, axis=1)) for axis in components(frame, axis=1)]
    zero = axes[0] * 0.0
    forces = [(*arm.cross(axis), *axis) for axis in axes[:dim]]
    torques = [(*axis, *zero) for axis in axes[: max(0, dim - 3)]]
    found = jnp.stack([stack(list(own)) for own in [*forces, *torques]], axis=1)
    return found.reshape(-1, *found.shape[2:])


@stage
def _signed(products: Array, sign: Array) -> Array:
    """Products `(n dim, k, W)` with the signs `(n, k, W)` of each contact, `(n, dim, k, W)`."""
    n, k = sign.shape[:2]
    return products.reshape(n, -1, k, products.shape[-1]) * sign[:, None]


_screws = bilinear(
    "screw_products",
    # (k, 6, W), (r, 6, W) to (r, k, W)
    stage(lambda m, w: contract(jnp.moveaxis(m, 1, 0)[:, None], jnp.moveaxis(w, 1, 0)[:, :, None])),
    stage(lambda ct, w: contract(ct[:, :, None], w[:, None])),
    stage(lambda ct, m: contract(jnp.moveaxis(ct, 1, 0)[:, :, None], m[:, None])),
)
