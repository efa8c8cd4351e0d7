"""Environments as gymnasium knows them: many worlds in one compiled program, or one; numpy in, numpy out.

from jaxsim.envs.gymnasium import GymEnv, GymVectorEnv

Needs gymnasium 1.2 or newer, of the extra `train`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
from gymnasium.vector import AutoresetMode
from gymnasium.vector.utils import batch_space

from jaxsim.envs.base import Env, State
from jaxsim.envs.registry import load
from jaxsim.envs.wrappers import Episode, Randomise, Randomised, Vmap, Wrapper, choose
from jaxsim.viewer.pictures import render

__all__ = ["GymEnv", "GymVectorEnv"]


_RENDER_MODES = ("rgb_array",)


class _Worlds:
    """Worlds on the device, each with its own chain of random keys."""

    def __init__(self, env: Env | str, count: int, randomization_fn: Randomise | None) -> None:
        if not isinstance(count, int | np.integer):
            raise TypeError(f"num_envs is {count!r}; expected an integer")
        if count < 1:
            raise ValueError(f"num_envs is {count}; there is one world at least")
        env = load(env) if isinstance(env, str) else env
        if isinstance(env, type | Wrapper):
            raise TypeError(f"env is {env!r}; expected an environment that is not wrapped, or its name")
        self.one = env
        many = Vmap(env) if randomization_fn is None else Randomised(env, randomization_fn)
        self.env = Episode(many, env.config.episode_length)
        self.count = count
        self._restart = jax.jit(self._restarted)
        self._step = jax.jit(self.env.step)
        self._keys = jax.random.split(jax.random.key(0), count)
        self.state: State | None = None
        kind = jax.eval_shape(self.env.reset, self._keys).obs
        self.observation = _space(kind)
        self.action = gymnasium.spaces.Box(-1.0, 1.0, (env.action_size,), np.float32)

    def seed(self, seeds: Sequence[int], mask: np.ndarray) -> None:
        """New chains of keys where the mask says."""
        fresh = jax.vmap(jax.random.key)(jnp.asarray([seed % 2**32 for seed in seeds], jnp.uint32))
        self._keys = jax.random.wrap_key_data(
            jnp.where(mask[:, None], jax.random.key_data(fresh), jax.random.key_data(self._keys))
        )

    def restart(self, mask: np.ndarray) -> Any:
        """Starts new episodes where the mask says; observations of all worlds."""
        first = self.state is None
        every = np.ones_like(mask) if first else mask
        start: Any = jax.jit(self._first) if first else self._restart
        state, self._keys = start(self.state, self._keys, every)
        self.state = state
        return jax.tree.map(np.array, state.obs)

    def step(self, actions: Any) -> tuple[Any, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        """Observations, rewards, terminations, truncations and the parts of the reward."""
        if self.state is None:
            raise gymnasium.error.ResetNeeded("call reset before step")
        self.state = state = self._step(self.state, jnp.asarray(actions, self.state.reward.dtype))
        got = jax.device_get((state.obs, state.reward, state.done, state.info["truncation"], state.metrics))
        obs, reward, done, late, metrics = jax.tree.map(np.array, got)
        return obs, reward, (done > 0) & (late == 0), late > 0, metrics

    def pictures(self, mode: str | None, **how: Any) -> np.ndarray:
        """One of each world, (num_envs, height, width, 3), uint8."""
        if mode is None:
            raise gymnasium.error.Error(
                f"nothing is drawn: make the environment with render_mode={_RENDER_MODES[0]!r}"
            )
        if self.state is None:
            raise gymnasium.error.ResetNeeded("call reset before render")
        return render(self.one.model, self.state.data, **how)

    def _first(self, state: None, keys: jax.Array, mask: jax.Array) -> tuple[State, jax.Array]:
        keys, own = jax.vmap(jax.random.split, out_axes=1)(keys)
        return self.env.reset(own), keys

    def _restarted(self, state: State, keys: jax.Array, mask: jax.Array) -> tuple[State, jax.Array]:
        return choose(mask, self._first(None, keys, mask), (state, keys))


class GymVectorEnv(gymnasium.vector.VectorEnv):
    """`gymnasium.vector.VectorEnv` of many worlds.

    `reset(seed=s)` seeds world i with s + i, or takes a list of seeds; a world then starts as `GymEnv` does with that
    seed. `info` holds the parts of the reward by name, and under `_name` in which worlds they are meant.

    Args:
      env: an environment, or its name.
      num_envs: number of worlds.
      autoreset_mode: when an episode that is over starts again: `NEXT_STEP`, in the step after (its action is not
        used, its reward is 0); `SAME_STEP`, at once (its last observation is in `info["final_obs"]`); `DISABLED`, by
        `reset(options={"reset_mask": ...})`.
      randomization_fn: another model in each world; see `jaxsim.envs.randomise`.
      render_mode: `"rgb_array"`, or None: nothing is drawn.
      **picture: `camera`, `size` and `show` of `jaxsim.viewer.render`.

    Raises:
      KeyError: there is no environment of that name.
      ValueError: there is no world, or no such `autoreset_mode` or `render_mode`.
    """

    def __init__(
        self,
        env: Env | str,
        num_envs: int,
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
        randomization_fn: Randomise | None = None,
        render_mode: str | None = None,
        **picture: Any,
    ) -> None:
        self._worlds = _Worlds(env, num_envs, randomization_fn)
        modes = [mode.value for mode in AutoresetMode]
        if autoreset_mode not in (*AutoresetMode, *modes):
            raise ValueError(f"autoreset_mode is {autoreset_mode!r}; there are {', '.join(modes)}")
        self._mode = AutoresetMode(autoreset_mode)
        self.num_envs = num_envs
        self.metadata = {"autoreset_mode": self._mode, **_metadata(self._worlds)}
        self.render_mode, self._picture = _checked(render_mode), picture
        self.single_observation_space = self._worlds.observation
        self.single_action_space = self._worlds.action
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self._over = np.zeros(num_envs, bool)
        self._seeded = False

    def reset(
        self,
        *,
        seed: int | Sequence[int] | None = None,
        options: dict[str, Any] | None = None,
    ) -> tuple[Any, dict[str, Any]]:
        """Starts new episodes, in all worlds or where `options["reset_mask"]` says.

        Args:
          seed: of world 0, or one a world; default: random the first time, later the worlds' keys go on.
          options: `reset_mask`: bools, (num_envs,).

        Raises:
          ValueError: seeds or mask are not one a world, or no world is meant.
        """
        mask = _mask(options, self.num_envs)
        if isinstance(seed, int | np.integer):
            super().reset(seed=int(seed))
            seed = [int(seed) + i for i in range(self.num_envs)]
        if seed is None and not self._seeded:
            seed = [int(self.np_random.integers(2**31)) + i for i in range(self.num_envs)]
        if seed is not None:
            if len(seed) != self.num_envs:
                raise ValueError(f"{len(seed)} seeds for {self.num_envs} worlds")
            self._worlds.seed(seed, mask)
            self._seeded = True
        obs = self._worlds.restart(mask)
        self._over = self._over & ~mask
        return obs, {}

    def step(self, actions: Any) -> tuple[Any, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        """One action a world, (num_envs, action_size), each number in [-1, 1].

        Returns:
          Observations, rewards, terminations, truncations, info.

        Raises:
          ResetNeeded: there was no reset, or, without automatic resets, an episode is over.
        """
        if self._mode is AutoresetMode.DISABLED and self._over.any():
            raise gymnasium.error.ResetNeeded(f"episodes of worlds {np.flatnonzero(self._over)} are over")
        over = self._over
        obs, reward, ended, late, metrics = self._worlds.step(actions)
        if over.any():  # these worlds were not to step: NEXT_STEP
            obs = self._worlds.restart(over)
            reward[over], ended[over], late[over] = 0.0, False, False
        info = _info(metrics, ~over)
        self._over = ended | late
        if self._mode is AutoresetMode.SAME_STEP and self._over.any():
            final = np.full(self.num_envs, None, object)
            for i in np.flatnonzero(self._over):
                final[i] = _world(obs, i)
            info = {"final_obs": final, "_final_obs": self._over} | _info(metrics, ~self._over)
            info |= {"final_info": _info(metrics, self._over), "_final_info": self._over}
            obs = self._worlds.restart(self._over)
            self._over = np.zeros_like(self._over)
        return obs, reward, ended, late, info

    def render(self) -> tuple[np.ndarray, ...]:
        """Pictures of all worlds, each (height, width, 3), uint8; needs the extra `view`.

        Raises:
          Error: there is no `render_mode`, or there was no reset.
        """
        return tuple(self._worlds.pictures(self.render_mode, **self._picture))


class GymEnv(gymnasium.Env):
    """`gymnasium.Env` of one world; `info` holds the parts of the reward by name.

    Args:
      env: an environment, or its name.
      render_mode: `"rgb_array"`, or None: nothing is drawn.
      **picture: `camera`, `size` and `show` of `jaxsim.viewer.render`.

    Raises:
      KeyError: there is no environment of that name.
      ValueError: there is no such `render_mode`.
    """

    metadata: ClassVar[dict[str, Any]] = {"render_modes": list(_RENDER_MODES)}

    def __init__(self, env: Env | str, render_mode: str | None = None, **picture: Any) -> None:
        self._worlds = _Worlds(env, 1, None)
        self.metadata = _metadata(self._worlds)  # pyright: ignore  # as gymnasium's own environments do
        self.render_mode, self._picture = _checked(render_mode), picture
        self.observation_space, self.action_space = self._worlds.observation, self._worlds.action
        self._seeded = False

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Starts a new episode.

        Args:
          seed: of the first state; default: random the first time, later the world's keys go on.
          options: none are known.
        """
        super().reset(seed=seed)
        if seed is None and not self._seeded:
            seed = int(self.np_random.integers(2**31))
        mask = np.ones(1, bool)
        if seed is not None:
            self._worlds.seed([seed], mask)
            self._seeded = True
        return _world(self._worlds.restart(mask), 0), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """One action, (action_size,), each number in [-1, 1].

        Returns:
          Observation, reward, whether the episode is over, whether it was cut off, info.

        Raises:
          ResetNeeded: there was no reset.
        """
        obs, reward, ended, late, metrics = self._worlds.step(np.asarray(action)[None])
        info = {name: float(part[0]) for name, part in metrics.items()}
        return _world(obs, 0), float(reward[0]), bool(ended[0]), bool(late[0]), info

    def render(self) -> np.ndarray:
        """A picture, (height, width, 3), uint8; needs the extra `view`.

        Raises:
          Error: there is no `render_mode`, or there was no reset.
        """
        return self._worlds.pictures(self.render_mode, **self._picture)[0]


def _metadata(worlds: _Worlds) -> dict[str, Any]:
    return {"render_modes": list(_RENDER_MODES), "render_fps": round(1 / worlds.one.dt)}


def _checked(render_mode: str | None) -> str | None:
    if render_mode is not None and render_mode not in _RENDER_MODES:
        raise ValueError(f"render_mode is {render_mode!r}; there is {_RENDER_MODES[0]!r}, or None")
    return render_mode


def _space(kind: Any) -> gymnasium.Space:
    """What an observation is of, of the shapes that many worlds have."""
    if isinstance(kind, Mapping):
        return gymnasium.spaces.Dict({name: _space(own) for name, own in kind.items()})
    return gymnasium.spaces.Box(-np.inf, np.inf, kind.shape[1:], kind.dtype)


def _world(obs: Any, i: int | np.integer) -> Any:
    """The observation of one world of many."""
    return jax.tree.map(lambda x: x[i], obs)


def _mask(options: dict[str, Any] | None, count: int) -> np.ndarray:
    """Which worlds a reset means."""
    if not options or "reset_mask" not in options:
        return np.ones(count, bool)
    mask = np.asarray(options["reset_mask"])
    if mask.shape != (count,) or mask.dtype != bool or not mask.any():
        raise ValueError(f"reset_mask: {count} bools, of which one at least is True; got {mask!r}")
    return mask


def _info(metrics: dict[str, np.ndarray], mask: np.ndarray) -> dict[str, Any]:
    """Numbers by name, and under `_name` in which worlds they are meant."""
    return {key: part for name, x in metrics.items() for key, part in ((name, x), (f"_{name}", mask))}
