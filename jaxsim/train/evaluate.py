"""What a policy earns."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array

from jaxsim.envs.base import Env, State

__all__ = ["evaluate", "summary"]


def evaluate(
    env: Env,
    act: Callable[[Any, Array], Array],
    policy: Any,
    key: Array,
    worlds: int,
    fields: tuple[str, ...] = (),
) -> dict[str, Array]:
    """One episode a world.

    Args:
      env: an environment, of one world.
      act: action (action_size,) of a policy's parameters and an observation.
      policy: these parameters.
      key: of the starts.
      worlds: how many.
      fields: of Data, to record as well, after every action.

    Returns:
      `reward` and `going` (1 while the episode lasts), (worlds, episode_length); `metrics`, likewise by name; the
      fields, (worlds, episode_length, ...).
    """

    def once(carry: tuple[State, Array], _: None) -> tuple[tuple[State, Array], dict[str, Any]]:
        state, going = carry
        state = jax.vmap(env.step)(state, jax.vmap(lambda obs: act(policy, obs))(state.obs))
        out = {"reward": going * state.reward, "going": going, "metrics": state.metrics}
        out |= {name: getattr(state.data, name) for name in fields}
        return (state, going * (1 - state.done)), out

    state = jax.vmap(env.reset)(jax.random.split(key, worlds))
    _, out = jax.lax.scan(once, (state, jnp.ones_like(state.reward)), None, length=env.config.episode_length)
    return jax.tree.map(lambda x: jnp.moveaxis(x, 0, 1), out)


def summary(episodes: dict[str, Any]) -> dict[str, Array]:
    """Mean return, its deviation over worlds, mean length, and what each part of the reward gave in the mean."""
    earned, going = jnp.sum(episodes["reward"], 1), episodes["going"]
    parts = {f"part_{name}": jnp.mean(jnp.sum(going * x, 1)) for name, x in episodes["metrics"].items()}
    length = jnp.mean(jnp.sum(going, 1))
    return {"return": jnp.mean(earned), "return_deviation": jnp.std(earned), "length": length, **parts}
