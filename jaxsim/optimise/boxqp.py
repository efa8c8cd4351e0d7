"""Small quadratic programs with limits."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import Array, lax

from jaxsim.math.dense_inverse import product

__all__ = ["box_qp", "solve_free"]

_ROUNDS = 50
"""Most rounds; two or three find the active set and show that nothing is left to gain."""

_STEPS = 8
"""Halvings that the line search tries, all at once."""


def box_qp(H: Array, g: Array, lower: Array, upper: Array) -> tuple[Array, Array]:
    """Minimises x^T H x / 2 + g^T x over lower <= x <= upper.

    A round descends along every coordinate, which converges from anywhere and finds out what the limits hold, then
    takes a projected Newton step in what is free, which is the answer once that is right.

    Source: Bertsekas 1982; Tassa, Mansard, Todorov 2014, "Control-limited differential dynamic programming".

    Args:
      H: symmetric, positive definite, (n, n).
      g: (n,).
      lower: (n,), at most `upper`, -inf for no limit.
      upper: (n,).

    Returns:
      The minimiser (n,), and which of its numbers no limit holds, (n,), bool.
    """

    def held(x: Array) -> Array:
        slope = product(H, x) + g
        return ((x <= lower) & (slope > 0)) | ((x >= upper) & (slope < 0))

    def value(x: Array) -> Array:
        return jnp.sum(x * (product(H, x) / 2 + g))

    def descend(k: Array, x: Array) -> Array:
        best = x[k] - (product(H[k], x) + g[k]) / H[k, k]
        return x.at[k].set(jnp.clip(best, lower[k], upper[k]))

    def going(carry: tuple[Array, Array, Array]) -> Array:
        _, change, k = carry
        return (change > 10 * jnp.finfo(g.dtype).eps) & (k < _ROUNDS)

    def body(carry: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
        old, _, k = carry
        x = lax.fori_loop(0, len(g), descend, old)
        newton = -solve_free(H, product(H, x) + g, ~held(x))
        lengths = jnp.concatenate([0.5 ** jnp.arange(_STEPS, dtype=x.dtype), jnp.zeros(1, x.dtype)])
        tries = jnp.clip(x + lengths[:, None] * newton, lower, upper)
        x = tries[jnp.argmin(jax.vmap(value)(tries))]
        return x, jnp.max(jnp.abs(x - old)) / (1 + jnp.max(jnp.abs(x))), k + 1

    begin = jnp.clip(jnp.zeros_like(g), lower, upper), jnp.asarray(jnp.inf, g.dtype), jnp.asarray(0)
    x, _, _ = lax.while_loop(going, body, begin)
    return x, ~held(x)


def solve_free(H: Array, b: Array, free: Array) -> Array:
    """Solves H x = b, (n,) or (n, k), in the free numbers (n,); the others are zero."""
    both = free[:, None] & free[None]
    inner = jnp.where(both, H, jnp.eye(len(H), dtype=H.dtype))
    mask = free[:, None] if b.ndim == 2 else free
    factor = jax.scipy.linalg.cho_factor(inner, lower=True)
    return jax.scipy.linalg.cho_solve(factor, jnp.where(mask, b, 0.0))
