"""An arm that picks a cube up and holds it at a place in the air."""

from __future__ import annotations

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array

from jaxsim.data import Data
from jaxsim.envs.config import Config
from jaxsim.envs.shaping import nearness
from jaxsim.envs.tasks.arm import Arm

__all__ = ["Pick", "PickConfig"]


@dataclasses.dataclass(frozen=True)
class Weights:
    """Parts of the reward.

    Attributes:
      reach: in [0, 1]: the gripper is within 1 cm of the cube, a tenth at 0.3 m beyond.
      grasp: 1 where both fingers press on something within 3 cm of the gripper.
      hold: in [0, 1]: the cube is within 2 cm of its target, a tenth at 0.2 m beyond.
      effort: squares of the action, averaged.
    """

    reach: float = 0.5
    grasp: float = 0.5
    hold: float = 2.0
    effort: float = -0.02


@dataclasses.dataclass(frozen=True, kw_only=True)
class PickConfig(Config):
    """Settings.

    Attributes:
      weights: of the reward.
    """

    episode_length: int = 250
    action_scale: float = 0.02
    weights: Weights = Weights()


class Pick(Arm):
    """See `Arm` for what is observed."""

    def __init__(self, config: PickConfig) -> None:
        super().__init__(config)
        self._touch = [
            int(self.model.sensor_adr[self.model.id("sensor", name)])
            for name in ("left_touch", "right_touch")
        ]

    def target(self, rng: Array) -> Array:
        """A place 15 to 30 cm above the table."""
        offset = jax.random.uniform(
            rng, (3,), minval=jnp.array([-0.1, -0.15, 0.15]), maxval=jnp.array([0.05, 0.15, 0.3])
        )
        return jnp.asarray(self.model.key_qpos)[0, 8:11] + offset

    def rewards(self, data: Data, action: Array, info: dict[str, Any]) -> dict[str, Array]:
        """See `Weights`."""
        reach, goal = self._distances(data, info)
        pressed = (data.sensordata[jnp.array(self._touch)] > 0).all() & (reach < 0.03)
        return {
            "reach": nearness(reach, 0.0, 0.01, 0.3),
            "grasp": pressed.astype(action.dtype),
            "hold": nearness(goal, 0.0, 0.02, 0.2),
            "effort": jnp.mean(jnp.square(action)),
        }
