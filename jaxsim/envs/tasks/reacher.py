"""A two-joint arm whose tip reaches for a target."""

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

__all__ = ["Reacher", "ReacherConfig"]


@dataclasses.dataclass(frozen=True)
class Weights:
    """Parts of the reward.

    Attributes:
      reach: in [0, 1]: the tip is within 15 mm of the target, falling to a tenth at 0.1 m beyond.
      effort: squares of the action, summed.
    """

    reach: float = 1.0
    effort: float = -0.01


@dataclasses.dataclass(frozen=True, kw_only=True)
class ReacherConfig(Config):
    """Settings.

    Attributes:
      weights: of the reward.
    """

    episode_length: int = 250
    weights: Weights = Weights()


class Reacher(Env):
    """Observes cosines and sines of the joints, their velocities, and the way from tip to target: 8 numbers."""

    def __init__(self, config: ReacherConfig) -> None:
        super().__init__(load_model(path("reacher")), config)
        self._tip = self.model.id("site", "tip")

    def start(self, rng: Array) -> tuple[Array, Array, dict[str, Any]]:
        """Any pose; the target anywhere within reach."""
        pose, far, turn = jax.random.split(rng, 3)
        joints = jax.random.uniform(
            pose, (2,), minval=jnp.array([-jnp.pi, -2.5]), maxval=jnp.array([jnp.pi, 2.5])
        )
        radius = jax.random.uniform(far, (), minval=0.08, maxval=0.24)
        angle = jax.random.uniform(turn, (), minval=-jnp.pi, maxval=jnp.pi)
        target = jnp.stack([radius * jnp.cos(angle), radius * jnp.sin(angle), jnp.asarray(0.03)])
        return joints, jnp.zeros(2), {"target": target.astype(self._data.qpos.dtype)}

    def prepare(self, data: Data, info: dict[str, Any]) -> Data:
        """The mocap body that marks the target goes there."""
        return data.replace(mocap_pos=info["target"][None])

    def observe(self, data: Data, info: dict[str, Any]) -> Array:
        """See the class."""
        way = (info["target"] - data.site_xpos[self._tip])[:2]
        return jnp.concatenate([jnp.cos(data.qpos), jnp.sin(data.qpos), data.qvel, way])

    def rewards(self, data: Data, action: Array, info: dict[str, Any]) -> dict[str, Array]:
        """See `Weights`."""
        way = info["target"] - data.site_xpos[self._tip]
        distance = safe.norm(way, -1)
        return {"reach": nearness(distance, 0.0, 0.015, 0.1), "effort": jnp.sum(jnp.square(action))}
