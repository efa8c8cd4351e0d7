"""An environment: a model, a task, and the two pure functions that reinforcement learning calls.

A task says how an episode starts, what an action does, what is observed, what is rewarded and when it is over; `reset`
and `step` are the same for all. Both are functions of one world: `jax.vmap` makes many of them.
"""

from __future__ import annotations

import abc
import copy
import dataclasses
from collections.abc import Mapping
from typing import Any, ClassVar, Self

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.typing import ArrayLike

from jaxsim.data import Data
from jaxsim.envs.checks import (
    check_rewards,
    checked_action,
    checked_memory,
    checked_observation,
    checked_over,
    checked_start,
    checked_weights,
)
from jaxsim.envs.config import Config
from jaxsim.interop.mujoco import make_data
from jaxsim.math import safe
from jaxsim.math.random import check_key
from jaxsim.model import Model
from jaxsim.pipeline.forward import forward, step
from jaxsim.results import is_lost
from jaxsim.structure.controls import control_range

__all__ = ["Env", "State"]


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class State:
    """A moment of an episode.

    Attributes:
      data: of the simulation; bits of `data.warning` stay until the next `reset` by hand.
      obs: what the agent sees, (observation_size,), or a mapping of arrays.
      reward: of the last action, a scalar.
      done: 1.0 if the episode is over, else 0.0.
      metrics: what each part of the reward gave, weighted, by name.
      info: what the task remembers, and what wrappers add.
    """

    data: Data
    obs: Any
    reward: Array
    done: Array
    metrics: dict[str, Array]
    info: dict[str, Any]

    def replace(self, **changes: Any) -> Self:
        """A copy with some fields changed."""
        return dataclasses.replace(self, **changes)


class Env(abc.ABC):
    """Base of all environments.

    Args:
      model: the model.
      config: settings; `config.weights` holds a number for each part of the reward.

    Attributes:
      model: the model.
      config: the settings.
      home: controls of the first keyframe, (nu,).
      lasting: names in `info` that outlast an episode, the level of a curriculum say: `AutoReset` starts again what
        else the task remembers, but for random keys.

    Raises:
      ValueError: `ctrl_dt` is not a multiple of the model's timestep, or episodes have no step.
    """

    lasting: ClassVar[tuple[str, ...]] = ()

    def __init__(self, model: Model, config: Config) -> None:
        self.model = model
        self.config = config
        timestep = float(model.opt.timestep)
        if config.episode_length < 1:
            raise ValueError(f"episode_length is {config.episode_length}; expected 1 or more")
        if not np.isfinite(config.ctrl_dt):
            raise ValueError(f"ctrl_dt is {config.ctrl_dt}; expected seconds")
        self._substeps = round(config.ctrl_dt / timestep)
        if self._substeps < 1 or not np.isclose(self._substeps * timestep, config.ctrl_dt, rtol=1e-4):
            raise ValueError(f"ctrl_dt {config.ctrl_dt} is not a multiple of the timestep {timestep:g}")
        data = make_data(model)
        self._data = data.replace(act=jnp.asarray(model.key_act)[0]) if model.nkey else data
        self._low, self._high = control_range(model)
        low, high = control_range(model, 1.0)
        self._half = (high - low) / 2 * config.action_scale
        self.home = np.asarray(model.key_ctrl)[0] if model.nkey else np.clip(0.0, self._low, self._high)

    # --- what a task says

    @abc.abstractmethod
    def start(self, rng: Array) -> tuple[Array, Array, dict[str, Any]]:
        """How an episode starts: qpos (nq,), qvel (nv,) and what the task remembers.

        `rng` (a key to go on with) and `last_action` are remembered beside it. The rest of a state is `prepare`'s.
        """

    @abc.abstractmethod
    def observe(self, data: Data, info: dict[str, Any]) -> Array | Mapping[str, Any]:
        """What the agent sees, (observation_size,), or a mapping of arrays."""

    @abc.abstractmethod
    def rewards(self, data: Data, action: Array, info: dict[str, Any]) -> dict[str, Array]:
        """Parts of the reward by their names in `config.weights`, unweighted scalars.

        Each weight has a part and each part a weight. Here and in `over`, `data.warning` has the bits of this step.
        """

    def over(self, data: Data, info: dict[str, Any]) -> Array:
        """Whether the episode ends here, a bool, or a number that is 0 or 1."""
        return jnp.zeros((), bool)

    def control(self, action: Array, data: Data, info: dict[str, Any]) -> Array:
        """Controls (nu,) of an action; by default around those of the first keyframe.

        An action of 1 is `config.action_scale` times half an actuator's range away; the range is kept.
        """
        return self._around(self.home, action).astype(data.ctrl.dtype)

    def prepare(self, data: Data, info: dict[str, Any]) -> Data:
        """What else an episode starts with: `act`, poses of mocap bodies, `eq_active`, ...

        Args:
          data: with qpos and qvel of `start`, `ctrl` of no action and `act` of the first keyframe; nothing is derived
            from them yet.
          info: what the task remembers.
        """
        return data

    def disturb(self, data: Data, info: dict[str, Any]) -> Data:
        """What else acts during an action, before it is simulated: pushes by `qvel` or `xfrc_applied`.

        `xfrc_applied` stays until it is set again.
        """
        return data

    def _around(self, centre: ArrayLike, action: Array) -> Array:
        """Controls that an action is away from others, within their range."""
        wanted = jnp.asarray(centre) + self._half * safe.clamp(action, -1.0, 1.0)
        return safe.clamp(wanted, jnp.asarray(self._low), jnp.asarray(self._high))

    def proceed(self, data: Data, action: Array, info: dict[str, Any]) -> dict[str, Any]:
        """What the task remembers after a step; names that are left out keep what they have."""
        return info

    # --- what an agent calls

    @property
    def action_size(self) -> int:
        """Numbers of an action, each in [-1, 1]."""
        return self.model.nu

    @property
    def observation_size(self) -> int | Mapping[str, Any]:
        """Numbers of an observation; where that is a mapping, the shapes of its arrays, as brax has it."""
        obs = jax.eval_shape(self.reset, jax.random.key(0)).obs
        return jax.tree.map(lambda x: x.shape, obs) if isinstance(obs, Mapping) else obs.shape[-1]

    @property
    def dt(self) -> float:
        """Seconds between two actions."""
        return self.config.ctrl_dt

    @property
    def unwrapped(self) -> Env:
        """This environment."""
        return self

    def with_model(self, model: Model) -> Self:
        """The same task with another model of the same structure, of a randomised domain say."""
        other = copy.copy(self)
        other.model = model
        return other

    def reset(self, rng: Array) -> State:
        """Starts an episode.

        Args:
          rng: random key.

        Raises:
          TypeError: `rng` is no random key, or a function of the task gave another kind of thing than it should.
        """
        check_key("rng", rng)
        rng, key = jax.random.split(rng)
        qpos, qvel, info = checked_start(self.start(key))
        dtype = self._data.qpos.dtype
        home = jnp.asarray(self.home, dtype)
        data = self._data.replace(qpos=jnp.asarray(qpos, dtype), qvel=jnp.asarray(qvel, dtype), ctrl=home)
        info = {"rng": rng, "last_action": jnp.zeros(self.action_size, dtype), **info}
        data = data.replace(ctrl=self.control(info["last_action"], data, info))
        data = forward(self.model, self.prepare(data, info))
        zero = jnp.zeros((), dtype)
        metrics = dict.fromkeys(self._weights, zero)
        obs = checked_observation(self.observe(data, info))
        return State(data, obs, zero, zero, metrics, info)

    def step(self, state: State, action: Array) -> State:
        """One action: `ctrl_dt` seconds of simulation and what they earn.

        Args:
          state: where the episode is.
          action: (action_size,), each in [-1, 1]; what is beyond counts as the end of the range.

        Raises:
          KeyError: a part of the reward has no weight, or a weight no part; `proceed` remembers what `start` did not.
          TypeError: a function of the task gave another kind of thing than it should.
          ValueError: the action, a part of the reward or what `over` gave has another shape.
        """
        action = checked_action(action, self.action_size)
        info = dict(state.info)
        before = state.data.warning
        ctrl = self.control(action, state.data, info)
        data = state.data.replace(ctrl=ctrl, warning=jnp.zeros_like(before))
        data = self.disturb(data, info)
        data = step(self.model, data, self._substeps)
        # bits of earlier episodes stay, and do not end this one
        broken = is_lost(data.warning) | (is_lost(before) & (state.done > 0))
        parts = self.rewards(data, action, info)
        check_rewards(parts, self._weights)
        # a world that flew apart was put back by the simulation: what it earned there is nothing
        earned = {
            name: jnp.where(broken, 0.0, weight * parts[name]) for name, weight in self._weights.items()
        }
        done = (checked_over(self.over(data, info)) | broken).astype(state.done.dtype)
        info |= checked_memory(self.proceed(data, action, info), info) | {"last_action": action}
        reward = sum(earned.values(), start=jnp.zeros_like(state.reward))
        metrics = state.metrics | earned
        obs = checked_observation(self.observe(data, info))
        return State(data.replace(warning=data.warning | before), obs, reward, done, metrics, info)

    @property
    def _weights(self) -> dict[str, float]:
        return checked_weights(self.config)
