"""Arithmetic of positions, whose orientations are unit quaternions."""

from __future__ import annotations

from jax import Array
from jax.typing import ArrayLike

from jaxsim import worlds
from jaxsim.model import Model
from jaxsim.pipeline import integrate
from jaxsim.support.lifted import check_shape

__all__ = ["differentiate_pos", "integrate_pos"]

_integrate = worlds.lift(integrate.integrate_pos)
_difference = worlds.lift(integrate.difference_pos)


def integrate_pos(model: Model, qpos: ArrayLike, qvel: ArrayLike, dt: ArrayLike) -> Array:
    """Positions (nq,) after the time `dt`, s, at constant velocity `qvel` (nv,) from `qpos` (mj_integratePos)."""
    qpos = check_shape("integrate_pos: qpos", qpos, model.nq)
    return _integrate(model, qpos, check_shape("integrate_pos: qvel", qvel, model.nv), dt)


def differentiate_pos(model: Model, dt: ArrayLike, qpos1: ArrayLike, qpos2: ArrayLike) -> Array:
    """The constant velocity (nv,) that leads from `qpos1` to `qpos2` in the time `dt`, s (mj_differentiatePos)."""
    qpos1, qpos2 = (check_shape("differentiate_pos: qpos", q, model.nq) for q in (qpos1, qpos2))
    return _difference(model, qpos1, qpos2, dt)
