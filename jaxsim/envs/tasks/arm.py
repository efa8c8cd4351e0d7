"""What the arm's tasks share: its joints, its gripper, the cube; actions move the joints' targets."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from jax import Array

from jaxsim.compile.load import load_model
from jaxsim.data import Data
from jaxsim.envs.base import Env
from jaxsim.envs.config import Config
from jaxsim.math import safe
from jaxsim.models import path

__all__ = ["Arm"]

_CUBE = slice(8, 11)
"""Where the cube's position is in qpos."""


class Arm(Env):
    """Observes joints and their velocities, their targets, the cube, its way from the gripper and to the target.

    These are 8 + 8 + 8 + 3 + 3 + 3 + 3 numbers: the cube's position, and its up-direction.
    """

    def __init__(self, config: Config) -> None:
        super().__init__(load_model(path("arm")), config)
        self._grasp = self.model.id("site", "grasp")
        self._cube = self.model.id("body", "cube")

    def control(self, action: Array, data: Data, info: dict[str, Any]) -> Array:
        """Targets move from where they are, by at most `action_scale` of half their range a step."""
        return self._around(data.ctrl, action).astype(data.ctrl.dtype)

    def target(self, rng: Array) -> Array:
        """Where the cube has to go, (3,), m."""
        raise NotImplementedError

    def start(self, rng: Array) -> tuple[Array, Array, dict[str, Any]]:
        """The arm at home, the cube somewhere before it, and a target."""
        place, goal = jax.random.split(rng)
        offset = jax.random.uniform(place, (2,), minval=-0.06, maxval=0.06)
        qpos = jnp.asarray(self.model.key_qpos)[0].at[8:10].add(offset)
        return qpos, jnp.zeros(self.model.nv), {"target": self.target(goal).astype(self._data.qpos.dtype)}

    def _ways(self, data: Data, info: dict[str, Any]) -> tuple[Array, Array]:
        """From the gripper to the cube, and from the cube to its target, (3,), m."""
        cube = data.qpos[_CUBE]
        return cube - data.site_xpos[self._grasp], info["target"] - cube

    def _distances(self, data: Data, info: dict[str, Any]) -> tuple[Array, Array]:
        """The lengths of these ways, m."""
        reach, goal = safe.norm(jnp.stack(self._ways(data, info)), -1)
        return reach, goal

    def observe(self, data: Data, info: dict[str, Any]) -> Array:
        """See the class."""
        cube, up = data.qpos[_CUBE], data.xmat[self._cube].reshape(3, 3)[2]
        ways = self._ways(data, info)
        return jnp.concatenate([data.qpos[:8], 0.1 * data.qvel[:8], data.ctrl, cube, up, *ways])

    def over(self, data: Data, info: dict[str, Any]) -> Array:
        """The cube fell off the table."""
        return data.qpos[_CUBE][2] < 0.35
