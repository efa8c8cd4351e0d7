"""A policy and a critic: perceptrons that see normalised observations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import flax.linen as nn  # pyright: ignore[reportMissingImports]
import jax.numpy as jnp
from jax import Array

__all__ = ["Critic", "Policy", "squash"]


class Perceptron(nn.Module):
    """Layers with ELU and layer normalisation between them, as in Xu et al. 2022, appendix A.

    Attributes:
      sizes: widths of the layers; the last is linear.
      last: scale of the last layer's initial weights.
    """

    sizes: Sequence[int]
    last: float = 1.0

    @nn.compact
    def __call__(self, x: Array) -> Array:
        """From (..., n) to (..., sizes[-1])."""
        for size in self.sizes[:-1]:
            x = nn.LayerNorm()(nn.elu(nn.Dense(size, kernel_init=nn.initializers.orthogonal(2**0.5))(x)))
        return nn.Dense(self.sizes[-1], kernel_init=nn.initializers.orthogonal(self.last))(x)


class Policy(nn.Module):
    """Mean and standard deviation of an action before `squash`.

    Attributes:
      hidden: widths of the hidden layers.
      actions: numbers of an action.
      deviation: initial standard deviation, of a learned number an action that no observation changes.
    """

    hidden: Sequence[int]
    actions: int
    deviation: float

    @nn.compact
    def __call__(self, obs: Array) -> tuple[Array, Array]:
        """From (..., observations) to a mean (..., actions) and a standard deviation (actions,)."""
        mean = Perceptron((*self.hidden, self.actions), last=0.1)(obs)
        log = self.param("log_deviation", nn.initializers.constant(jnp.log(self.deviation)), (self.actions,))
        return mean, jnp.exp(log)


class Critic(nn.Module):
    """What will be earned from here on.

    Attributes:
      hidden: widths of the hidden layers.
    """

    hidden: Sequence[int]

    @nn.compact
    def __call__(self, obs: Array) -> Array:
        """From (..., observations) to (...)."""
        return Perceptron((*self.hidden, 1))(obs)[..., 0]


def squash(mean: Array, deviation: Any = 0.0, noise: Any = 0.0) -> Array:
    """An action in (-1, 1): the hyperbolic tangent of a normal number."""
    return jnp.tanh(mean + deviation * noise)
