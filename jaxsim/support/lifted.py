"""Native functions of a model's structure and some arrays, as functions of one world."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.core import Tracer

from jaxsim import worlds
from jaxsim.pytree import Static

__all__ = ["check_index", "check_shape", "lifted"]


@functools.lru_cache(maxsize=256)
def lifted(native: Callable[..., Any], static: Static) -> Callable[..., Any]:
    """`native(static, *arrays)`, with worlds last, as a function of arrays of one world."""
    return worlds.lift(functools.partial(native, static))


def check_index(what: str, index: Any, count: int) -> None:
    """Refuses a name, and an index that is known and out of range.

    Raises:
      IndexError: says which and what is there.
      TypeError: it is a name.
    """
    if isinstance(index, str):
        raise TypeError(
            f"{what} {index!r}: expected a number; views by name have it, as model.body('torso').id"
        )
    if isinstance(index, Tracer):
        return
    if np.any(np.asarray(index) < 0) or np.any(np.asarray(index) >= count):
        raise IndexError(f"{what} {index}: the model has {count}, numbered from 0")


def check_shape(what: str, x: Any, *shape: int) -> Array:
    """The array, if it has the shape.

    Raises:
      ValueError: says what has which.
    """
    x = jnp.asarray(x)
    if x.shape != shape:
        raise ValueError(f"{what} has shape {x.shape}; expected {shape}")
    return x
