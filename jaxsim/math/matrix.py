"""Products of matrices with a worlds axis and vectors. Native layout.

Each is one operation for JAX whose transposes are the others, so that a derivative is as short as the product.
"""

from __future__ import annotations

import jax.numpy as jnp
from jax import Array

from jaxsim.math.axis import contract
from jaxsim.math.linear import bilinear
from jaxsim.math.stage import stage

__all__ = ["multiply", "multiply_transposed"]


def multiply(A: Array, x: Array) -> Array:
    """A x, `(m, W)`, for `A (m, n, W)` and `x (n, W)`."""
    return _multiply(A, x) if A.shape[1] else jnp.zeros((A.shape[0], x.shape[-1]), x.dtype)


def multiply_transposed(A: Array, f: Array) -> Array:
    """A^T f, `(n, W)`, for `A (m, n, W)` and `f (m, W)`."""
    return _multiply_transposed(A, f) if A.shape[0] else jnp.zeros((A.shape[1], f.shape[-1]), f.dtype)


def _outer(f: Array, x: Array) -> Array:
    return f[:, None] * x[None]


_multiply = bilinear(
    "multiply",
    stage(lambda A, x: contract(jnp.swapaxes(A, 0, 1), x[:, None])),
    _outer,
    lambda ct, A: multiply_transposed(A, ct),
)
_multiply_transposed = bilinear(
    "multiply_transposed",
    stage(lambda A, f: contract(A, f[:, None])),
    lambda ct, f: _outer(f, ct),
    lambda ct, A: multiply(A, ct),
)
