"""An arm that pushes a cube to a place on the table."""

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

__all__ = ["Push", "PushConfig"]


@dataclasses.dataclass(frozen=True)
class Weights:
    """Parts of the reward.

    Attributes:
      reach: in [0, 1]: the gripper is within 5 cm of the cube, a tenth at 0.3 m beyond.
      push: in [0, 1]: the cube is within 2 cm of its target, a tenth at 0.2 m beyond.
      effort: squares of the action, averaged.
    """

    reach: float = 0.2
    push: float = 1.0
    effort: float = -0.02


@dataclasses.dataclass(frozen=True, kw_only=True)
class PushConfig(Config):
    """Settings.

    Attributes:
      weights: of the reward.
    """

    episode_length: int = 250
    action_scale: float = 0.02
    weights: Weights = Weights()


class Push(Arm):
    """See `Arm` for what is observed."""

    def target(self, rng: Array) -> Array:
        """A place on the table, 10 to 25 cm beside where the cube starts, half as far in front of it."""
        far, turn = jax.random.split(rng)
        radius = jax.random.uniform(far, (), minval=0.1, maxval=0.25)
        angle = jax.random.uniform(turn, (), minval=-jnp.pi / 2, maxval=jnp.pi / 2)
        home = jnp.asarray(self.model.key_qpos)[0, 8:11]
        return home + jnp.stack([0.5 * radius * jnp.cos(angle), radius * jnp.sin(angle), 0 * radius])

    def rewards(self, data: Data, action: Array, info: dict[str, Any]) -> dict[str, Array]:
        """See `Weights`."""
        reach, goal = self._distances(data, info)
        return {
            "reach": nearness(reach, 0.0, 0.05, 0.3),
            "push": nearness(goal, 0.0, 0.02, 0.2),
            "effort": jnp.mean(jnp.square(action)),
        }
