"""Many general 6 by 6 systems at once, worlds on the last axis, by blocks of three.

A block of three is inverted by cross products of its columns, which needs no search for pivots; a free body's matrix
has its mass in the first block and its inertia in the second, so both are far from singular.
"""

from __future__ import annotations

import jax.numpy as jnp
from jax import Array, lax

from jaxsim.math.vector import cross, dot, matmul, matvec

__all__ = ["multiply6", "solve6"]

_LEAST = 1e-30
"""Least determinant of a block whose largest entry is 1; a smaller one counts as this."""


def multiply6(A: Array, x: Array) -> Array:
    """Products of matrices A (n, 6, 6, W) and vectors x (n, 6, W)."""
    total = A[:, :, 0] * x[:, None, 0]
    for k in range(1, 6):
        total = total + A[:, :, k] * x[:, None, k]
    return total


def solve6(A: Array, b: Array) -> Array:
    """Solves A x = b for general matrices A (n, 6, 6, W) and b (n, 6, W).

    Derivatives are those of the linear system: one more solution in forward and in reverse mode.
    """
    width = max(A.shape[-1], b.shape[-1])
    fixed = lax.stop_gradient(A)
    return lax.custom_linear_solve(
        lambda x: multiply6(A, x),
        jnp.broadcast_to(b, (*b.shape[:-1], width)),
        lambda _, r: _solve(fixed, r),
        transpose_solve=lambda _, r: _solve(jnp.swapaxes(fixed, 1, 2), r),
    )


def _solve(A: Array, b: Array) -> Array:
    """By the Schur complement of the first block."""
    first, between, below, second = A[:, :3, :3], A[:, :3, 3:], A[:, 3:, :3], A[:, 3:, 3:]
    top, bottom = b[:, :3], b[:, 3:]
    inverse = _inverse3(first)
    schur = second - matmul(below, matmul(inverse, between))
    turn = matvec(_inverse3(schur), bottom - matvec(below, matvec(inverse, top)))
    shift = matvec(inverse, top - matvec(between, turn))
    return jnp.concatenate([shift, turn], axis=1)


def _inverse3(A: Array) -> Array:
    """Inverses of (n, 3, 3, W)."""
    scale = jnp.max(jnp.abs(A), axis=(1, 2), keepdims=True)
    scale = jnp.where(scale > 0, scale, 1)
    x, y, z = (A[:, :, k] / scale[:, 0] for k in range(3))
    rows = jnp.stack([cross(y, z), cross(z, x), cross(x, y)], axis=1)
    determinant = dot(x, rows[:, 0])[:, None, None]
    determinant = jnp.where(jnp.abs(determinant) < _LEAST, _LEAST, determinant)
    return rows / (determinant * scale)
