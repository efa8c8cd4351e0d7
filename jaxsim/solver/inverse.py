"""Inverses of joint-space inertias that may be singular, worlds first."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

__all__ = ["LEAST_PIVOT", "inverse"]

LEAST_PIVOT = 1e-15
"""What a pivot that is not positive counts as, as in the C engine; then the inverse is huge but finite."""


@jax.custom_jvp
def inverse(M: Array) -> Array:
    """Inverses of symmetric matrices M (..., n, n).

    The derivative is `-M^-1 dM M^-1`, with the inverse that was found.
    """
    factor = lax.linalg.cholesky(M, symmetrize_input=False)
    good = jnp.all(jnp.isfinite(factor), axis=(-2, -1), keepdims=True)
    eye = jnp.broadcast_to(jnp.eye(M.shape[-1], dtype=M.dtype), M.shape)
    safe = jnp.where(good, factor, eye)
    root = lax.linalg.triangular_solve(safe, eye, left_side=True, lower=True)
    found = jnp.swapaxes(root, -1, -2) @ root
    return lax.cond(jnp.all(good), lambda: found, lambda: jnp.where(good, found, _clamped(M)))


@inverse.defjvp
def _derivative(primals: tuple[Any], tangents: tuple[Any]) -> tuple[Array, Array]:
    found = inverse(*primals)
    return found, -found @ tangents[0] @ found


def _clamped(M: Array) -> Array:
    """Inverses by elimination from the last row to the first, no pivot below the least."""
    order = np.arange(M.shape[-1], dtype=np.int32)
    eye = jnp.broadcast_to(jnp.eye(M.shape[-1], dtype=M.dtype), M.shape)

    def eliminate(work: Array, k: Array) -> tuple[Array, Array]:
        row = jnp.take(work, k, axis=-2)
        pivot = jnp.maximum(jnp.take(row, k, axis=-1), LEAST_PIVOT)[..., None]
        scaled = jnp.where(order < k, row / pivot, 0)
        work = work - scaled[..., :, None] * row[..., None, :]
        return work, jnp.where(order == k, 1, scaled) * jnp.sqrt(pivot)

    _, rows = lax.scan(eliminate, M, jnp.asarray(order[::-1]))
    lower = jnp.moveaxis(rows[::-1], 0, -2)
    root = lax.linalg.triangular_solve(lower, eye, left_side=True, lower=True)
    return root @ jnp.swapaxes(root, -1, -2)
