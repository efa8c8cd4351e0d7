"""Division of whole numbers that are not negative: one operation each, where `//` and `%` ask for signs with ten."""

from __future__ import annotations

from jax import Array, lax

__all__ = ["quotient", "remainder"]


def quotient(x: Array, by: int) -> Array:
    """`x // by`, of an array of integers in [0, inf)."""
    return lax.div(x, lax.full_like(x, by))


def remainder(x: Array, by: int) -> Array:
    """`x % by`, of an array of integers in [0, inf)."""
    return lax.rem(x, lax.full_like(x, by))
