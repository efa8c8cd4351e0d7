"""What tasks, agents and trainers hand over: said in words, while a program is traced, where it does not fit."""

from __future__ import annotations

from collections.abc import Mapping

import jax
import jax.numpy as jnp
from jax import Array
from jax.typing import ArrayLike

from jaxsim.envs.config import hint

__all__ = ["check_keys", "check_rewards", "checked_action", "checked_over", "is_key"]


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
      ValueError: a part is not a scalar.
    """
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
      ValueError: it is not a scalar.
    """
    if jnp.shape(over) != ():
        raise ValueError(
            f"over gave shape {jnp.shape(over)}, not (): one bool, or one number that is 0 or 1; "
            "join several by .any() or .all()"
        )
    return jnp.asarray(over).astype(bool)


def check_keys(rng: Array) -> None:
    """Sees that there is a random key a world: (worlds,) typed, or (worlds, 2) raw.

    Raises:
      ValueError: there is one key, without an axis of worlds.
    """
    typed = jnp.issubdtype(rng.dtype, jax.dtypes.prng_key)
    if rng.ndim < (1 if typed else 2):
        raise ValueError(
            f"rng: shape {rng.shape} is one random key, where every world needs its own, (worlds,) typed or "
            "(worlds, 2) raw: jax.random.split(rng, worlds)"
        )


def is_key(x: ArrayLike, axes: int) -> bool:
    """Whether an array behind so many axes of worlds is random keys: typed ones, or the words of raw ones."""
    kind = jax.typeof(x)
    if kind.dtype != jnp.uint32:
        return jnp.issubdtype(kind.dtype, jax.dtypes.prng_key)
    raw = jax.eval_shape(lambda: jax.random.key_data(jax.random.key(0)))
    return kind.ndim > axes and kind.shape[-1:] == raw.shape
