"""Running mean and variance of observations."""

from __future__ import annotations

import dataclasses
from typing import Self

import jax
import jax.numpy as jnp
from jax import Array

from jaxsim.math.safe import sqrt

__all__ = ["Statistics"]

_CLIP = 10.0
"""Most standard deviations that a network sees; what is beyond is seen as this."""


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class Statistics:
    """Of all observations so far.

    Attributes:
      count: how many.
      mean: of each number, (n,).
      variance: of each number, (n,).
    """

    count: Array
    mean: Array
    variance: Array

    @classmethod
    def start(cls, size: int) -> Self:
        """Nothing seen: observations pass as they are."""
        return cls(jnp.full((), 1e-4), jnp.zeros(size), jnp.ones(size))

    def update(self, obs: Array, axis: str | None = None) -> Self:
        """With more observations, (..., n), of all devices along an axis; Chan et al. 1979, equation 2.1."""
        obs = obs.reshape(-1, obs.shape[-1])
        mean, square = jnp.mean(obs, 0), jnp.mean(jnp.square(obs), 0)
        count = jnp.asarray(obs.shape[0], self.count.dtype)
        if axis is not None:
            mean, square, count = *jax.lax.pmean((mean, square), axis), jax.lax.psum(count, axis)
        variance = jnp.maximum(square - jnp.square(mean), 0.0)
        total = self.count + count
        share = count / total
        away = mean - self.mean
        spread = (1 - share) * self.variance + share * variance + share * (1 - share) * jnp.square(away)
        return type(self)(total, self.mean + share * away, spread)

    def __call__(self, obs: Array) -> Array:
        """Observations less their mean, in standard deviations."""
        scaled = (obs - self.mean) / sqrt(self.variance + 1e-5)
        return jnp.clip(scaled, -_CLIP, _CLIP)
