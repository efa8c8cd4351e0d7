"""Random keys that users hand over."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from jax import Array
from jax.typing import ArrayLike

__all__ = ["check_key", "check_keys", "is_key"]


def check_key(what: str, key: Any) -> None:
    """Sees that it is one random key, or keys.

    Raises:
      TypeError: it is something else, as a number.
    """
    if not hasattr(key, "dtype") or not is_key(key, 0):
        raise TypeError(f"{what}: {key!r} is no random key: jax.random.key({key!r})")


def check_keys(rng: Array) -> None:
    """Sees that there is a random key a world: (worlds,) typed, or (worlds, 2) raw.

    Raises:
      TypeError: it is no random key.
      ValueError: there is one key, without an axis of worlds.
    """
    if not hasattr(rng, "dtype"):
        raise TypeError(
            f"rng: {rng!r} is no random key; every world needs its own: jax.random.split(jax.random.key(0), worlds)"
        )
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
