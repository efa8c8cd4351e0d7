"""A robot dog that goes where a command says, on the flat or on rough terrain."""

from __future__ import annotations

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from scipy.ndimage import gaussian_filter

from jaxsim.compile.load import load_model
from jaxsim.data import Data
from jaxsim.envs.base import Env
from jaxsim.envs.config import Config
from jaxsim.envs.shaping import to_local
from jaxsim.model import Model
from jaxsim.models import path

__all__ = ["FLAT", "ROUGH", "Quadruped", "QuadrupedConfig"]

_FIELD = 64
"""Rows and columns of the terrain."""


@dataclasses.dataclass(frozen=True)
class Weights:
    """Parts of the reward.

    Attributes:
      track: in [0, 1]: how near the horizontal velocity is to the command, exp(-|error|^2 / 0.25).
      turn: in [0, 1]: the same of the turning rate.
      bounce: vertical velocity, squared, (m/s)^2.
      tumble: rolling and pitching rates, squared, (rad/s)^2.
      tilt: sine of the trunk's angle to the vertical, squared.
      effort: squares of the actuators' forces over their ranges, averaged.
      jerk: squares of the action's change, averaged.
      fall: 1 where the episode ends by a fall.
    """

    track: float = 1.0
    turn: float = 0.5
    bounce: float = -0.5
    tumble: float = -0.02
    tilt: float = -1.0
    effort: float = -0.1
    jerk: float = -0.1
    fall: float = -1.0


@dataclasses.dataclass(frozen=True, kw_only=True)
class QuadrupedConfig(Config):
    """Settings.

    Attributes:
      speed: largest commanded velocity forward, m/s; half of it backward and sideward.
      turning: largest commanded turning rate, rad/s.
      command_steps: steps after which there is a new command.
      roughness: height of the terrain's bumps, m; 0: a plane.
      weights: of the reward.
    """

    action_scale: float = 0.25
    speed: float = 1.0
    turning: float = 1.0
    command_steps: int = 250
    roughness: float = 0.0
    weights: Weights = Weights()


FLAT = QuadrupedConfig()
ROUGH = QuadrupedConfig(roughness=0.06)


class Quadruped(Env):
    """Observes what a robot's own sensors and estimator give, and the command: 48 numbers.

    Gravity's direction, velocity and turning rates in the trunk's frame (9), joints off their home and their
    velocities (24), the last action (12), and the command: forward, sideward, turning (3).
    """

    def __init__(self, config: QuadrupedConfig) -> None:
        super().__init__(_model(config.roughness), config)
        self._limits = np.array([config.speed, config.speed / 2, config.turning])
        self._least = np.array([-config.speed / 2, -config.speed / 2, -config.turning])
        self._every = config.command_steps
        self._lift = config.roughness / 2 + 0.01
        self._trunk = self.model.id("body", "trunk")
        self._most = np.asarray(self.model.actuator_forcerange)[:, 1]

    def start(self, rng: Array) -> tuple[Array, Array, dict[str, Any]]:
        """At home, in any direction, with a command."""
        turn, pose, speed, command = jax.random.split(rng, 4)
        half = jax.random.uniform(turn, (), minval=-jnp.pi / 2, maxval=jnp.pi / 2)
        qpos = jnp.asarray(self.model.key_qpos)[0]
        qpos = qpos.at[2].add(self._lift)
        qpos = qpos.at[3:7].set(jnp.stack([jnp.cos(half), 0 * half, 0 * half, jnp.sin(half)]))
        qpos = qpos.at[7:].add(0.05 * jax.random.normal(pose, (12,)))
        info = {"command": self._command(command), "age": jnp.zeros((), jnp.int32)}
        return qpos, 0.05 * jax.random.normal(speed, (18,)), info

    def _command(self, rng: Array) -> Array:
        """Forward and sideward velocity, m/s, and turning rate, rad/s; one in ten is to stand."""
        draw, rest = jax.random.split(rng)
        wanted = jax.random.uniform(draw, (3,), minval=self._least, maxval=self._limits)
        return jnp.where(jax.random.bernoulli(rest, 0.1), 0.0, wanted).astype(self._data.qpos.dtype)

    def _motion(self, data: Data) -> tuple[Array, Array, Array]:
        """Up-direction, velocity and turning rates in the trunk's frame."""
        axes = data.xmat[self._trunk].reshape(3, 3)
        return axes[2], to_local(axes, data.qvel[:3]), data.qvel[3:6]

    def observe(self, data: Data, info: dict[str, Any]) -> Array:
        """See the class."""
        up, velocity, rates = self._motion(data)
        joints = data.qpos[7:] - jnp.asarray(self.model.key_qpos)[0, 7:]
        return jnp.concatenate(
            [-up, velocity, 0.25 * rates, joints, 0.05 * data.qvel[6:], info["last_action"], info["command"]]
        )

    def rewards(self, data: Data, action: Array, info: dict[str, Any]) -> dict[str, Array]:
        """See `Weights`."""
        up, velocity, rates = self._motion(data)
        command = info["command"]
        return {
            "track": jnp.exp(-jnp.sum(jnp.square(command[:2] - velocity[:2])) / 0.25),
            "turn": jnp.exp(-jnp.square(command[2] - rates[2]) / 0.25),
            "bounce": jnp.square(velocity[2]),
            "tumble": jnp.sum(jnp.square(rates[:2])),
            "tilt": jnp.sum(jnp.square(up[:2])),
            "effort": jnp.mean(jnp.square(data.actuator_force / self._most)),
            "jerk": jnp.mean(jnp.square(action - info["last_action"])),
            "fall": self.over(data, info).astype(action.dtype),
        }

    def over(self, data: Data, info: dict[str, Any]) -> Array:
        """The trunk leans more than 60 degrees."""
        return self._motion(data)[0][2] < 0.5

    def proceed(self, data: Data, action: Array, info: dict[str, Any]) -> dict[str, Any]:
        """A new command, from time to time."""
        rng, key = jax.random.split(info["rng"])
        age = info["age"] + 1
        late = age >= self._every
        command = jnp.where(late, self._command(key), info["command"])
        return info | {"rng": rng, "command": command, "age": jnp.where(late, 0, age)}


def _model(roughness: float) -> Model:
    """The bundled quadruped on its plane, or on bumps of a height, m, drawn once and for all."""
    file = path("quadruped")
    if roughness == 0:
        return load_model(file)
    plane = '<geom name="floor" type="plane" size="0 0 0.1"'
    field = f'<hfield name="terrain" nrow="{_FIELD}" ncol="{_FIELD}" size="8 8 {roughness} 0.2"/>'
    xml = file.read_text()
    assert plane in xml
    xml = xml.replace(plane, '<geom name="floor" type="hfield" hfield="terrain"')
    model = load_model(xml.replace("<worldbody>", f"<asset>{field}</asset>\n<worldbody>", 1))
    bumps = gaussian_filter(np.random.default_rng(0).uniform(size=(_FIELD, _FIELD)), 0.8)
    bumps = (bumps - bumps.min()) / (bumps.max() - bumps.min())
    middle = slice(_FIELD // 2 - 2, _FIELD // 2 + 2)
    bumps[middle, middle] = 0.5
    return model.replace(hfield_data=bumps.reshape(np.shape(model.hfield_data)))
