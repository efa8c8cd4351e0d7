"""Potential and kinetic energy."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxsim.data import Data
from jaxsim.enums import DisableBit
from jaxsim.math import safe
from jaxsim.math.axis import take
from jaxsim.math.vector import dot
from jaxsim.model import Model
from jaxsim.pipeline.passive import polynomial, spring_stretch, tendon_stretch
from jaxsim.structure.trees import m_entries

__all__ = ["energy", "energy_pos", "energy_vel", "with_energies"]


def energy(model: Model, data: Data) -> Data:
    """Computes `energy`: potential and kinetic, J."""
    return with_energies(data, energy_pos(model, data), energy_vel(model, data))


def with_energies(data: Data, potential: Array, kinetic: Array) -> Data:
    """The data with these energies (W,), J."""
    return data.replace(energy=jnp.stack(jnp.broadcast_arrays(potential, kinetic)))


def energy_pos(model: Model, data: Data) -> Array:
    """Energy (W,) of gravity and of springs, J."""
    total = jnp.zeros((1,), data.qpos.dtype)
    if not model.opt.disableflags & DisableBit.GRAVITY:
        height = dot(data.xipos, model.opt.gravity[None])
        total = total - jnp.sum((model.body_mass * height)[1:], axis=0)
    if model.opt.disableflags & DisableBit.SPRING:
        return total
    for joints, _, x in spring_stretch(model, data):
        total = total + _stored(take(model.jnt_stiffness, joints), take(model.jnt_stiffnesspoly, joints), x)
    if model.ntendon:
        total = total + _stored(
            model.tendon_stiffness, model.tendon_stiffnesspoly, tendon_stretch(model, data)
        )
    return total


def _stored(linear: Array, poly: Array, x: Array) -> Array:
    """Sum (W,) of the integrals of x (linear + poly[0] x + ...) from 0 to x (n, W), or to the norms of x (n, 3, W)."""
    order = np.arange(poly.shape[1])[None, :, None] + 3
    size, square = (x, x * x) if x.ndim == 2 else (safe.norm(x), dot(x, x))
    return jnp.sum(square * polynomial(linear / 2, poly / jnp.asarray(order, poly.dtype), size), axis=0)


def energy_vel(model: Model, data: Data) -> Array:
    """Kinetic energy (W,), J."""
    rows, cols = m_entries(model.static)
    if not len(rows):
        return jnp.zeros((1,), data.qvel.dtype)
    weight = jnp.asarray(np.where(rows == cols, 0.5, 1.0)[:, None], data.qvel.dtype)
    return jnp.sum(weight * data.M * take(data.qvel, rows) * take(data.qvel, cols), axis=0)
