"""A hand, palm up, that turns a cube about the vertical."""

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
from jaxsim.math import safe
from jaxsim.models import path

__all__ = ["CubeConfig", "CubeTurn"]


@dataclasses.dataclass(frozen=True)
class Weights:
    """Parts of the reward.

    Attributes:
      turn: the cube's turning rate about the vertical over the one that is asked, between -1 and 1.
      centre: in [0, 1]: the cube is within 1 cm of the palm's middle, a tenth at 3 cm beyond.
      jerk: squares of the action's change, averaged.
    """

    turn: float = 1.0
    centre: float = 0.2
    jerk: float = -0.05


@dataclasses.dataclass(frozen=True, kw_only=True)
class CubeConfig(Config):
    """Settings.

    Attributes:
      rate: turning rate that is asked, rad/s.
      weights: of the reward.
    """

    episode_length: int = 250
    rate: float = 1.0
    weights: Weights = Weights()


class CubeTurn(Env):
    """Observes joints, their velocities, the cube's place, axes and velocities, the last action: 51 numbers."""

    def __init__(self, config: CubeConfig) -> None:
        super().__init__(load_model(path("hand")), config)
        self._rate = config.rate
        self._cube = self.model.id("body", "cube")
        self._middle = jnp.asarray(self.model.key_qpos)[0, 12:15]

    def start(self, rng: Array) -> tuple[Array, Array, dict[str, Any]]:
        """The cube near the middle of the palm, turned a little."""
        place, turn, pose = jax.random.split(rng, 3)
        half = jax.random.uniform(turn, (), minval=-0.2, maxval=0.2)
        qpos = jnp.asarray(self.model.key_qpos)[0]
        qpos = qpos.at[:12].add(0.05 * jnp.abs(jax.random.normal(pose, (12,))))
        qpos = qpos.at[12:14].add(jax.random.uniform(place, (2,), minval=-0.005, maxval=0.005))
        qpos = qpos.at[15:].set(jnp.stack([jnp.cos(half), 0 * half, 0 * half, jnp.sin(half)]))
        return qpos, jnp.zeros(18), {}

    def observe(self, data: Data, info: dict[str, Any]) -> Array:
        """See the class."""
        axes = data.xmat[self._cube].reshape(9)[:6]
        place = 10 * (data.qpos[12:15] - self._middle)
        joints, rates = data.qpos[:12], 0.1 * data.qvel[:12]
        return jnp.concatenate([joints, rates, place, axes, data.qvel[12:], info["last_action"]])

    def rewards(self, data: Data, action: Array, info: dict[str, Any]) -> dict[str, Array]:
        """See `Weights`."""
        axes = data.xmat[self._cube].reshape(3, 3)
        turning = jnp.sum(axes[2] * data.qvel[15:])  # the free joint's rates are in the cube's frame
        off = safe.norm(data.qpos[12:14] - self._middle[:2], -1)
        return {
            "turn": safe.clamp(turning / self._rate, -1.0, 1.0),
            "centre": nearness(off, 0.0, 0.01, 0.03),
            "jerk": jnp.mean(jnp.square(action - info["last_action"])),
        }

    def over(self, data: Data, info: dict[str, Any]) -> Array:
        """The cube left the palm."""
        return (data.qpos[14] < 0.07) | (jnp.abs(data.qpos[12:14]) > 0.08).any()
