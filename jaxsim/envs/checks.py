"""What tasks, agents and trainers hand over: said in words, while a program is traced, where it does not fit."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array
from jax.typing import ArrayLike

from jaxsim.hints import hint

__all__ = [
    "COUNTED",
    "check_rewards",
    "checked_action",
    "checked_memory",
    "checked_observation",
    "checked_over",
    "checked_start",
    "checked_weights",
]

COUNTED = ("steps", "truncation", "episode_done", "episode_metrics")
"""Names in `info` that belong to `Episode`."""
_WRAPPERS = {*COUNTED, "first_data", "first_obs", "first_info"}
"""These and those of `AutoReset`."""


def checked_weights(config: Any) -> dict[str, float]:
    """Weights of a reward's parts by name.

    Raises:
      TypeError: the config has none, or they are no dataclass.
      ValueError: one is not finite.
    """
    weights = getattr(config, "weights", None)
    if not dataclasses.is_dataclass(weights) or isinstance(weights, type):
        raise TypeError(
            f"{type(config).__name__} has {'no' if weights is None else 'other'} weights: give it a field `weights`, a "
            "frozen dataclass with a number for each part of the reward"
        )
    found = dataclasses.asdict(weights)
    wrong = [f"{name} {x}" for name, x in found.items() if isinstance(x, float) and not math.isfinite(x)]
    if wrong:
        raise ValueError(f"weights: {', '.join(wrong)}; rewards would not be numbers")
    return found


def checked_start(start: Any) -> tuple[Any, Any, Mapping[str, Any]]:
    """What `Env.start` gave: qpos, qvel and what the task remembers.

    Raises:
      TypeError: it is not these three.
      ValueError: what it remembers has the name of something that `Episode` or `AutoReset` keep there.
    """
    if not isinstance(start, tuple | list) or len(start) != 3 or not isinstance(start[2], Mapping):
        raise TypeError(
            f"start gave {_kind(start)}, not (qpos, qvel, info): the last is a dict of what the task remembers, "
            "{} if nothing; what else a state starts with is set by `prepare`"
        )
    qpos, qvel, info = start
    taken = _WRAPPERS & info.keys()
    if taken:
        raise ValueError(
            f"start remembers {', '.join(map(repr, sorted(taken)))}, where wrappers keep what they count: choose "
            "another name"
        )
    return qpos, qvel, info


def checked_observation(obs: Any) -> Any:
    """What `Env.observe` gave: an array, or a mapping of arrays.

    Raises:
      TypeError: it is neither.
    """
    if not isinstance(obs, Mapping) and (not hasattr(obs, "shape") or obs.shape == ()):
        raise TypeError(
            f"observe gave {_kind(obs)}, not an array (observation_size,) or a mapping of arrays: "
            "join numbers by jnp.stack, vectors by jnp.concatenate"
        )
    return obs


def checked_memory(memory: Any, before: Mapping[str, Any]) -> dict[str, Any]:
    """What `Env.proceed` gave: new values of what the task remembers.

    Raises:
      KeyError: a name is new.
      TypeError: it is not a mapping, or a value has another structure, shape or type than before.
    """
    if not isinstance(memory, Mapping):
        raise TypeError(f"proceed gave {_kind(memory)}, not a dict of what the task remembers")
    for name in memory:
        if name not in before:
            raise KeyError(
                f"proceed gave {name!r}, which is not remembered so far{hint(name, before)}; "
                f"there are {', '.join(before)}: let `start` give it its first value"
            )
        was, now = (jax.tree.map(_type, x[name]) for x in (before, memory))
        if jax.tree.flatten(was) != jax.tree.flatten(now):
            raise TypeError(
                f"proceed gave {name!r} as {now}, which was {was}: what is remembered keeps its shape and type"
            )
    return dict(memory)


def _type(x: Any) -> str:
    """Type and shape in a few characters."""
    aval = jax.typeof(jnp.asarray(x))
    return f"{aval.dtype}[{','.join(map(str, aval.shape))}]"


def checked_action(action: ArrayLike, size: int) -> Array:
    """An action as an array, (size,).

    Raises:
      ValueError: it has another shape.
    """
    action = jnp.asarray(action)
    if action.shape != (size,):
        raise ValueError(
            f"action: shape {action.shape}, not ({size},): a world takes `action_size` numbers, here {size}; "
            "for many worlds use jax.vmap or jaxsim.envs.Vmap"
        )
    return action


def check_rewards(parts: Mapping[str, ArrayLike], weights: Mapping[str, float]) -> None:
    """Sees that the parts of a reward are scalars, one for each weight.

    Args:
      parts: what `Env.rewards` gave.
      weights: what `config.weights` holds.

    Raises:
      KeyError: a part has no weight, or a weight no part; the message names the nearest that there is.
      TypeError: there is no mapping of parts.
      ValueError: a part is not a scalar.
    """
    if not isinstance(parts, Mapping):
        raise TypeError(
            f"rewards gave {_kind(parts)}, not a dict of parts; config.weights holds {', '.join(weights) or 'none'}"
        )
    for name in parts:
        if name not in weights:
            raise KeyError(
                f"rewards gave {name!r}, which has no weight{hint(name, weights)}; config.weights holds "
                f"{', '.join(weights) or 'none'}: give it a weight there, or leave it out"
            )
    for name in weights:
        if name not in parts:
            raise KeyError(
                f"rewards did not give {name!r}, which config.weights holds; it gave "
                f"{', '.join(parts) or 'none'}: return it, or take its weight away"
            )
        if jnp.shape(parts[name]) != ():
            raise ValueError(
                f"rewards gave {name!r} of shape {jnp.shape(parts[name])}, not (): "
                "a part of the reward is one number; take an element, a sum or a mean"
            )


def checked_over(over: ArrayLike) -> Array:
    """Whether an episode ends, a scalar bool, of what `Env.over` gave: a bool, or a number that is 0 or 1.

    Raises:
      TypeError: it is nothing.
      ValueError: it is not a scalar.
    """
    if over is None:
        raise TypeError("over gave None, not one bool, or one number that is 0 or 1")
    if jnp.shape(over) != ():
        raise ValueError(
            f"over gave shape {jnp.shape(over)}, not (): one bool, or one number that is 0 or 1; "
            "join several by .any() or .all()"
        )
    return jnp.asarray(over).astype(bool)


def _kind(x: Any) -> str:
    """An object in words."""
    if isinstance(x, tuple | list):
        return f"{type(x).__name__} of ({', '.join(map(_kind, x))})"
    return f"array {x.shape}" if hasattr(x, "shape") else type(x).__name__
