"""A planar robot with one leg that hops forward."""

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

__all__ = ["Hopper", "HopperConfig"]


@dataclasses.dataclass(frozen=True)
class Weights:
    """Parts of the reward.

    Attributes:
      hop: in [0, 1]: the torso is above 0.8 m, times how near the forward speed is to what is asked.
      upright: in [0, 1]: the torso leans less than 0.2 rad, a tenth at 1 rad.
      effort: squares of the action, averaged.
    """

    hop: float = 1.0
    upright: float = 0.2
    effort: float = -0.05


@dataclasses.dataclass(frozen=True, kw_only=True)
class HopperConfig(Config):
    """Settings.

    Attributes:
      speed: forward speed that is asked, m/s.
      weights: of the reward.
    """

    action_scale: float = 0.8
    speed: float = 1.0
    weights: Weights = Weights()


class Hopper(Env):
    """Observes all positions but x, and all velocities: 11 numbers."""

    def __init__(self, config: HopperConfig) -> None:
        super().__init__(load_model(path("hopper")), config)
        self._speed = config.speed

    def start(self, rng: Array) -> tuple[Array, Array, dict[str, Any]]:
        """Standing, a few degrees off."""
        pose, speed = jax.random.split(rng)
        qpos = jnp.asarray(self.model.key_qpos)[0].at[3:].add(0.05 * jax.random.normal(pose, (3,)))
        return qpos, 0.05 * jax.random.normal(speed, (6,)), {}

    def observe(self, data: Data, info: dict[str, Any]) -> Array:
        """See the class."""
        return jnp.concatenate([data.qpos[1:], data.qvel])

    def rewards(self, data: Data, action: Array, info: dict[str, Any]) -> dict[str, Array]:
        """See `Weights`."""
        high = nearness(1.045 + data.qpos[1], 0.8, jnp.inf, 0.3)
        moving = nearness(data.qvel[0], self._speed, jnp.inf, self._speed)
        return {
            "hop": high * moving,
            "upright": nearness(data.qpos[2], -0.2, 0.2, 0.8),
            "effort": jnp.mean(jnp.square(action)),
        }

    def over(self, data: Data, info: dict[str, Any]) -> Array:
        """The torso is below 0.6 m, or leans more than 1.2 rad."""
        return (data.qpos[1] < 0.6 - 1.045) | (jnp.abs(data.qpos[2]) > 1.2)
