"""Actuators whose dynamics, gain or bias is a function of the user's (`Hooks.act_dyn`, `act_gain`, `act_bias`)."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
from jax import Array

from jaxsim import worlds
from jaxsim.math.axis import concat
from jaxsim.pipeline.actuation.group import Group

__all__ = ["user_bias", "user_gain", "user_rate"]


def user_rate(group: Group) -> Array:
    """Derivatives of activations, 1/s; without a function 0, as in C."""
    return _each(group, group.model.hooks.act_dyn, "act_dyn", group.model.actuator_actnum, 0.0)


def user_gain(group: Group) -> Array:
    """The gain times control or activation; without a function the gain is 1, as in C."""
    return (
        _each(group, group.model.hooks.act_gain, "act_gain", group.model.actuator_outnum, 1.0) * group.drive()
    )


def user_bias(group: Group) -> Array:
    """The bias; without a function 0, as in C."""
    return _each(group, group.model.hooks.act_bias, "act_bias", group.model.actuator_outnum, 0.0)


def _each(group: Group, function: Callable[..., Any] | None, name: str, count: Any, default: float) -> Array:
    """The numbers that a function gives for each actuator, `count` of them, one after the other.

    Raises:
      ValueError: the function gives something of another shape.
    """
    sizes = count[group.ids].tolist()
    dtype = group.data.qpos.dtype
    if function is None:
        return jnp.full((sum(sizes), 1), default, dtype)
    data = group.data.replace(work=None, act_dot=group.signals.act_dot)
    parts = []
    for actuator, size in zip(group.ids.tolist(), sizes, strict=True):
        whose = f"hook {name}, called for actuator {actuator}"
        found = worlds.in_each(functools.partial(_call, function, actuator), whose)(group.model, data)
        if found.shape[:-1] not in ((), (size,)) or (size != 1 and found.ndim == 1):
            wanted = "a number" if size == 1 else f"shape ({size},)"
            raise ValueError(
                f"hook {name}: its function gives shape {found.shape[:-1]} for actuator {actuator}, not {wanted}"
            )
        parts.append(jnp.reshape(found, (size, -1)).astype(dtype))
    return concat(parts)


def _call(function: Callable[..., Any], actuator: int, model: Any, data: Any) -> Array:
    return jnp.asarray(function(model, data, actuator))
