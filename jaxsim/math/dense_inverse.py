"""Inverses of joint-space inertias that may be singular, worlds first."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from jax import Array, lax

from jaxsim.math.constants import LEAST_PIVOT

__all__ = ["clamped_solve", "inverse", "product"]


def product(a: Array, b: Array) -> Array:
    """Matrix products (..., m, n) of (..., m, k) and (..., k, n), at full precision on every device."""
    return jnp.matmul(a, b, precision=lax.Precision.HIGHEST)


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
    found = product(jnp.swapaxes(root, -1, -2), root)
    return lax.cond(jnp.all(good), lambda: found, lambda: jnp.where(good, found, clamped_solve(M, eye)))


@inverse.defjvp
def _derivative(primals: tuple[Any], tangents: tuple[Any]) -> tuple[Array, Array]:
    found = inverse(*primals)
    return found, -product(product(found, tangents[0]), found)


def clamped_solve(M: Array, right: Array) -> Array:
    """Solves M x = right (..., n, m) by Gauss-Jordan elimination from the last row up, no pivot below the least."""
    n = M.shape[-1]
    order = jnp.arange(n)[:, None]

    def eliminate(i: Array, work: Array) -> Array:
        k = n - 1 - i
        row, column = work[..., k, None, :], work[..., :, k, None]
        row = row / jnp.maximum(column[..., k, None, :], LEAST_PIVOT)
        return jnp.where(order == k, row, work - column * row)

    return lax.fori_loop(0, n, eliminate, jnp.concatenate([M, right], axis=-1))[..., n:]
