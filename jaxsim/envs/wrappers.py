"""Around an environment: many worlds, episodes of a length, starting again, another model in each world.

`wrap_for_training` puts them together in the order, and with the arguments, that brax's trainers ask for.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array
from jax.typing import ArrayLike

from jaxsim.data import Data
from jaxsim.envs.base import Env, State
from jaxsim.envs.checks import COUNTED
from jaxsim.hints import check_counts
from jaxsim.math.random import check_keys, is_key
from jaxsim.model import Model

__all__ = [
    "AutoReset",
    "Episode",
    "Randomise",
    "Randomised",
    "Vmap",
    "Wrapper",
    "choose",
    "wrap_for_training",
]

Randomise = Callable[[Model], tuple[Model, Model]]
"""From one model to a model of all worlds, and which of its leaves have a world axis (0) or not (None)."""


class Wrapper:
    """Passes everything on to the environment inside."""

    def __init__(self, env: Any) -> None:
        self.env = env

    def reset(self, rng: Array) -> State:
        """See `Env.reset`."""
        return self.env.reset(rng)

    def step(self, state: State, action: Array) -> State:
        """See `Env.step`."""
        return self.env.step(state, action)

    @property
    def unwrapped(self) -> Env:
        """The environment at the bottom."""
        return self.env.unwrapped

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self.env, name)


class Vmap(Wrapper):
    """Many worlds: keys, states and actions with a leading axis."""

    def reset(self, rng: Array) -> State:
        """Starts an episode a key.

        Raises:
          ValueError: there is one key for all worlds.
        """
        check_keys(rng)
        return jax.vmap(self.env.reset)(rng)

    def step(self, state: State, action: Array) -> State:
        """One action a world."""
        return jax.vmap(self.env.step)(state, action)

    def part(self, first: ArrayLike, worlds: int) -> Vmap:
        """Of these worlds alone, as a device steps them; all are alike."""
        return self


class Randomised(Wrapper):
    """Many worlds, each with a model of its own.

    Args:
      env: the environment.
      randomise: gives the model of all worlds, and which of its leaves have a world axis.

    Raises:
      TypeError: it gives something else.
    """

    def __init__(self, env: Env, randomise: Randomise) -> None:
        super().__init__(env)
        made = randomise(env.model)
        if not isinstance(made, tuple):
            raise TypeError(
                f"the function that randomises gave {type(made).__name__}, not (models, axes); axes is a Model that "
                "holds 0 where worlds differ, else None: see jaxsim.envs.randomise"
            )
        self.models, self.axes = made

    def reset(self, rng: Array) -> State:
        """Starts an episode a key.

        Raises:
          ValueError: there is one key for all worlds, or another number of keys than of models.
        """
        check_keys(rng)
        counts = self._each_drawn(lambda x: None, len)
        for count in jax.tree.leaves(counts):
            if count != len(rng):
                raise ValueError(f"keys of {len(rng)} worlds, but models of {count}")
        return jax.vmap(lambda m, key: self.env.with_model(m).reset(key), in_axes=(self.axes, 0))(
            self.models, rng
        )

    def step(self, state: State, action: Array) -> State:
        """One action a world."""
        one = jax.vmap(lambda m, s, a: self.env.with_model(m).step(s, a), in_axes=(self.axes, 0, 0))
        return one(self.models, state, action)

    def part(self, first: ArrayLike, worlds: int) -> Randomised:
        """Of so many worlds from the first on, as a device steps them; the first may be traced."""
        models = self._each_drawn(lambda x: x, lambda x: jax.lax.dynamic_slice_in_dim(x, first, worlds))
        return Randomised(self.env, lambda model: (models, self.axes))

    def _each_drawn(self, shared: Callable[[Any], Any], drawn: Callable[[Any], Any]) -> Any:
        """A tree of the models' leaves, after one function of those that worlds share, another of the others."""
        return jax.tree.map(
            lambda axis, x: (shared if axis is None else drawn)(x),
            self.axes,
            self.models,
            is_leaf=lambda axis: axis is None,
        )


class Episode(Wrapper):
    """Counts steps, repeats actions and cuts episodes off; works on one world and on many.

    `info["steps"]` counts, `info["truncation"]` is 1 where an episode was cut off rather than over. As brax's trainers
    want it, `info["episode_done"]` is `done`, and `info["episode_metrics"]` adds up the metrics of an episode, with
    `sum_reward` and `length`.

    Args:
      env: the environment.
      length: steps of an episode, actions repeated among them.
      repeat: how often each action is applied; their rewards are added up.
    """

    def __init__(self, env: Any, length: int, repeat: int = 1) -> None:
        super().__init__(env)
        self.length, self.repeat = length, repeat

    @property
    def lasting(self) -> tuple[str, ...]:
        """See `Env`; what is counted here is among it, since it is started again here."""
        return (*getattr(self.env, "lasting", ()), *COUNTED)

    def reset(self, rng: Array) -> State:
        """Starts counting."""
        state = self.env.reset(rng)
        zero = jnp.zeros_like(state.done)
        sums = dict.fromkeys((*state.metrics, "sum_reward", "length"), zero)
        new = {"steps": zero, "truncation": zero, "episode_done": zero, "episode_metrics": sums}
        return state.replace(info={**state.info, **new})

    def step(self, state: State, action: Array) -> State:
        """One action, `repeat` times."""

        def once(state: State, _: None) -> tuple[State, Array]:
            after = self.env.step(state, action)
            return after, after.reward

        after, rewards = jax.lax.scan(once, state, None, length=self.repeat)
        steps = state.info["steps"] + self.repeat
        late = jnp.where(steps >= self.length, 1.0, 0.0).astype(steps.dtype)
        reward, done = jnp.sum(rewards, axis=0), jnp.maximum(after.done, late)
        going = 1 - state.info["episode_done"]
        parts = {**after.metrics, "sum_reward": reward, "length": self.repeat}
        sums = {name: going * before + parts[name] for name, before in state.info["episode_metrics"].items()}
        new = {
            "steps": steps,
            "truncation": late * (1 - after.done),
            "episode_done": done,
            "episode_metrics": sums,
        }
        return after.replace(reward=reward, done=done, info={**after.info, **new})


class AutoReset(Wrapper):
    """Worlds whose episode is over start again where they started first; works on one world and on many.

    The reward and `done` stay those of the last step; `obs` and `data` are already those of the new episode, and so is
    what the task remembers in `info`: all that was there when worlds first started, `last_action` for one. What goes on
    is random keys (each episode draws other numbers), what `Episode` counts, what is added around this wrapper, and
    what `Env.lasting` names. Bits of `data.warning` stay.
    """

    def reset(self, rng: Array) -> State:
        """Remembers the start."""
        state = self.env.reset(rng)
        lasting = getattr(self.env, "lasting", ())
        memory = {name: x for name, x in state.info.items() if name not in lasting}
        first = {"first_data": state.data, "first_obs": state.obs, "first_info": memory}
        return state.replace(info={**state.info, **first})

    def step(self, state: State, action: Array) -> State:
        """One action, after which what is over starts again."""
        info = dict(state.info)
        if "steps" in info:
            info["steps"] = jnp.where(state.done > 0, 0.0, info["steps"]).astype(info["steps"].dtype)
        after = self.env.step(state.replace(done=jnp.zeros_like(state.done), info=info), action)
        info = after.info
        memory = {name: info[name] for name in info["first_info"]}
        data = _restarted(after.done, info["first_data"], after.data)
        if isinstance(data, Data):
            data = data.replace(warning=data.warning | after.data.warning)
        return after.replace(
            data=data,
            obs=_restarted(after.done, info["first_obs"], after.obs),
            info={**info, **_restarted(after.done, info["first_info"], memory)},
        )


def _restarted(done: Array, first: Any, now: Any) -> Any:
    """A tree as it was first where an episode is over, else as it is now; random keys go on."""

    def leaf(first: Array, now: Array) -> Array:
        return now if is_key(now, done.ndim) else choose(done > 0, first, now)

    return jax.tree.map(leaf, first, now)


def choose(where: Array, new: Any, old: Any) -> Any:
    """In each world one tree or another of the same structure; `where` has the axes of worlds, if there are any."""

    def leaf(new: Array, old: Array) -> Array:
        return jnp.where(where.reshape(where.shape + (1,) * (jnp.ndim(old) - where.ndim)), new, old)

    return jax.tree.map(leaf, new, old)


def wrap_for_training(
    env: Env,
    episode_length: int | None = None,
    action_repeat: int = 1,
    randomization_fn: Randomise | None = None,
) -> Wrapper:
    """Many worlds that start again by themselves, as brax's trainers want them (`wrap_env_fn=`).

    Args:
      env: the environment.
      episode_length: steps of an episode; default: the config's.
      action_repeat: how often each action is applied.
      randomization_fn: another model in each world; see `jaxsim.envs.randomise`.

    Raises:
      ValueError: `episode_length` or `action_repeat` is no positive integer.
    """
    length = env.config.episode_length if episode_length is None else episode_length
    check_counts("wrap_for_training", episode_length=length, action_repeat=action_repeat)
    many = Vmap(env) if randomization_fn is None else Randomised(env, randomization_fn)
    return AutoReset(Episode(many, length, action_repeat))
