"""A pole on a cart: keep it up, or swing it up first."""

from __future__ import annotations

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array

from jaxsim.compile.load import load_model
from jaxsim.data import Data
from jaxsim.envs.base import Env
from jaxsim.envs.config import Config
from jaxsim.envs.shaping import nearness
from jaxsim.models import path

__all__ = ["BALANCE", "SWINGUP", "Cartpole", "CartpoleConfig"]


@dataclasses.dataclass(frozen=True)
class Weights:
    """Parts of the reward, each in [0, 1].

    Attributes:
      upright: the pole stands: half of 1 + cos(angle), times what follows; times how near the cart is to the middle
        (within 2 m), how small the action, and how slow the pole (5 rad/s).
    """

    upright: float = 1.0


@dataclasses.dataclass(frozen=True, kw_only=True)
class CartpoleConfig(Config):
    """Settings.

    Attributes:
      hanging: whether episodes start with the pole down.
      weights: of the reward.
    """

    hanging: bool = False
    weights: Weights = Weights()


BALANCE = CartpoleConfig()
SWINGUP = CartpoleConfig(hanging=True)


class Cartpole(Env):
    """Observes the cart's position, the pole's cosine and sine, and both velocities: 5 numbers."""

    def __init__(self, config: CartpoleConfig) -> None:
        super().__init__(load_model(path("cartpole")), config)
        self._hanging = config.hanging

    def start(self, rng: Array) -> tuple[Array, Array, dict[str, Any]]:
        """The cart near the middle, the pole near where it starts."""
        place, speed = jax.random.split(rng)
        noise = 0.05 * jax.random.normal(place, (2,))
        angle = jnp.pi if self._hanging else 0.0
        return noise + jnp.array([0.0, angle]), 0.05 * jax.random.normal(speed, (2,)), {}

    def observe(self, data: Data, info: dict[str, Any]) -> Array:
        """See the class."""
        x, angle = data.qpos
        return jnp.stack([x, jnp.cos(angle), jnp.sin(angle), data.qvel[0], data.qvel[1]])

    def rewards(self, data: Data, action: Array, info: dict[str, Any]) -> dict[str, Array]:
        """See `Weights`."""
        x, angle = data.qpos
        upright = (1 + jnp.cos(angle)) / 2
        centred = (1 + nearness(x, 0.0, 0.0, 2.0)) / 2
        gentle = (4 + nearness(action[0], 0.0, 0.0, 1.0)) / 5
        slow = (1 + nearness(data.qvel[1], 0.0, 0.0, 5.0)) / 2
        return {"upright": upright * centred * gentle * slow}

    def over(self, data: Data, info: dict[str, Any]) -> Array:
        """The pole that was to be kept up leans more than 60 degrees."""
        return (jnp.cos(data.qpos[1]) < 0.5) & (not self._hanging)
