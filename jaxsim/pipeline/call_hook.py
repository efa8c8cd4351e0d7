"""Calls a function of the user's in all worlds, and sees that it gives what it should."""

from __future__ import annotations

import jax.numpy as jnp
from jax import Array

from jaxsim import worlds
from jaxsim.data import Data
from jaxsim.model import Model

__all__ = ["call_hook"]


def call_hook(model: Model, data: Data, name: str, shape: tuple[int, ...]) -> Array:
    """What the function `(model, data)` of a name gives, (*shape, W).

    Raises:
      ValueError: the function gives something of another shape.
    """
    function = getattr(model.hooks, name)
    found = worlds.in_each(lambda m, d: jnp.asarray(function(m, d)), f"hook {name}")(
        model, data.replace(work=None)
    )
    if found.shape[:-1] != shape:
        raise ValueError(f"hook {name}: its function gives shape {found.shape[:-1]}, not {shape}")
    return found.astype(data.qpos.dtype)
