"""Parts of rewards: how near a number is to where it should be, and how a body moves in its own frame."""

from __future__ import annotations

import jax.numpy as jnp
from jax import Array

__all__ = ["nearness", "to_local"]


def nearness(x: Array, low: float, high: float, margin: float, at_margin: float = 0.1) -> Array:
    """How near x is to an interval: 1 inside, falling like a normal density outside.

    After the `tolerance` of the DeepMind Control Suite (Tassa et al. 2018, section 2.2).

    Args:
      x: numbers of any shape.
      low: lower end.
      high: upper end.
      margin: distance from the interval at which the result is `at_margin`; 0: nothing outside counts.
      at_margin: in (0, 1).

    Raises:
      ValueError: the interval is empty or the margin negative.
    """
    if low > high or margin < 0 or not 0 < at_margin < 1:
        raise ValueError(f"no interval, margin and share: {low}, {high}, {margin}, {at_margin}")
    beyond = jnp.maximum(jnp.maximum(low - x, x - high), 0.0)
    if margin == 0:
        return jnp.where(beyond > 0, 0.0, 1.0).astype(x.dtype)
    return at_margin ** jnp.square(beyond / margin)


def to_local(axes: Array, vector: Array) -> Array:
    """A world vector (3,) in a frame whose axes are the columns of (3, 3)."""
    return jnp.sum(axes * vector[:, None], axis=0)
