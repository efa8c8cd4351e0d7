"""A humanoid that stands, or walks."""

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
from jaxsim.envs.shaping import nearness, to_local
from jaxsim.math import safe
from jaxsim.models import path

__all__ = ["STAND", "WALK", "Humanoid", "HumanoidConfig"]


@dataclasses.dataclass(frozen=True)
class Weights:
    """Parts of the reward.

    Attributes:
      task: in [0, 1]: the head is above 1.4 m and the torso upright, times how near the speed is to what is asked:
        at least it for walking, none for standing.
      effort: squares of the action, averaged.
      jerk: squares of its change, averaged.
    """

    task: float = 1.0
    effort: float = -0.05
    jerk: float = -0.05


@dataclasses.dataclass(frozen=True, kw_only=True)
class HumanoidConfig(Config):
    """Settings.

    Attributes:
      speed: horizontal speed that is asked, m/s; 0: stand.
      weights: of the reward.
    """

    action_scale: float = 0.7
    speed: float = 0.0
    weights: Weights = Weights()


STAND = HumanoidConfig()
WALK = HumanoidConfig(speed=1.0)


class Humanoid(Env):
    """Observes height and up-direction, velocities in the pelvis' frame, joints and their velocities, last action.

    These are 4 + 6 + 21 + 21 + 21 numbers.
    """

    def __init__(self, config: HumanoidConfig) -> None:
        super().__init__(load_model(path("humanoid")), config)
        self._speed = config.speed
        self._head = self.model.id("site", "head")
        self._torso = self.model.id("body", "torso")
        self._pelvis = self.model.id("body", "pelvis")

    def start(self, rng: Array) -> tuple[Array, Array, dict[str, Any]]:
        """Standing, a degree or two off."""
        pose, speed = jax.random.split(rng)
        qpos = jnp.asarray(self.model.key_qpos)[0].at[7:].add(0.03 * jax.random.normal(pose, (21,)))
        return qpos, 0.05 * jax.random.normal(speed, (27,)), {}

    def observe(self, data: Data, info: dict[str, Any]) -> Array:
        """See the class."""
        axes = data.xmat[self._pelvis].reshape(3, 3)
        velocity = to_local(axes, data.qvel[:3])
        height = data.site_xpos[self._head, 2:]
        return jnp.concatenate(
            [
                height,
                axes[2],
                velocity,
                data.qvel[3:6],
                data.qpos[7:],
                0.1 * data.qvel[6:],
                info["last_action"],
            ]
        )

    def rewards(self, data: Data, action: Array, info: dict[str, Any]) -> dict[str, Array]:
        """See `Weights`."""
        high = nearness(data.site_xpos[self._head, 2], 1.4, jnp.inf, 0.4)
        upright = nearness(data.xmat[self._torso].reshape(3, 3)[2, 2], 0.9, jnp.inf, 1.0)
        speed = safe.norm(data.qvel[:2], -1)
        asked = (self._speed, jnp.inf, self._speed) if self._speed > 0 else (0.0, 0.0, 1.0)
        return {
            "task": high * upright * (1 + 4 * nearness(speed, *asked)) / 5,
            "effort": jnp.mean(jnp.square(action)),
            "jerk": jnp.mean(jnp.square(action - info["last_action"])),
        }

    def over(self, data: Data, info: dict[str, Any]) -> Array:
        """The head is below 0.8 m."""
        return data.site_xpos[self._head, 2] < 0.8
