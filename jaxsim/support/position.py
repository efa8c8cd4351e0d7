"""Arithmetic of positions, whose orientations are unit quaternions."""

from __future__ import annotations

import jax.numpy as jnp
from jax import Array
from jax.typing import ArrayLike

from jaxsim import worlds
from jaxsim.model import Model
from jaxsim.pipeline import integrate

__all__ = ["differentiate_pos", "integrate_pos"]

_integrate = worlds.lift(integrate.integrate_pos)
_difference = worlds.lift(integrate.difference_pos)


def integrate_pos(model: Model, qpos: ArrayLike, qvel: ArrayLike, dt: ArrayLike) -> Array:
    """Positions (nq,) after the time `dt`, s, at constant velocity `qvel` (nv,) from `qpos` (mj_integratePos)."""
    return _integrate(model, jnp.asarray(qpos), jnp.asarray(qvel), dt)


def differentiate_pos(model: Model, dt: ArrayLike, qpos1: ArrayLike, qpos2: ArrayLike) -> Array:
    """The constant velocity (nv,) that leads from `qpos1` to `qpos2` in the time `dt`, s (mj_differentiatePos)."""
    return _difference(model, jnp.asarray(qpos1), jnp.asarray(qpos2), dt)
