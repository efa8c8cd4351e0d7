"""Integration of positions, velocities, activations and time."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxsim.data import Data
from jaxsim.enums import DisableBit, JointType
from jaxsim.math import quaternion as quat
from jaxsim.math.axis import stitch, take, take_blocks
from jaxsim.math.straight_kernel import straight
from jaxsim.model import Model
from jaxsim.pipeline.actuation import next_activation, rewrap_activations
from jaxsim.pipeline.history import later
from jaxsim.pipeline.record import record_history

__all__ = ["advance", "difference_pos", "integrate_pos"]


def _segments(model: Model) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Addresses of scalar coordinates and of quaternions: (qpos, dof) of the former, (qpos, dof) of the latter."""
    scalar_q, scalar_v, quat_q, quat_v = [], [], [], []
    for j in range(model.njnt):
        q, v, kind = int(model.jnt_qposadr[j]), int(model.jnt_dofadr[j]), model.jnt_type[j]
        if kind == JointType.FREE:
            scalar_q += [q, q + 1, q + 2]
            scalar_v += [v, v + 1, v + 2]
            q, v = q + 3, v + 3
        if kind in (JointType.FREE, JointType.BALL):
            quat_q.append(q)
            quat_v.append(v)
        else:
            scalar_q.append(q)
            scalar_v.append(v)
    return tuple(np.array(x, int) for x in (scalar_q, scalar_v, quat_q, quat_v))  # pyright: ignore


def integrate_pos(model: Model, qpos: Array, qvel: Array, dt: Array) -> Array:
    """Positions (nq, W) after `dt` (W or 1,), s, at constant velocity qvel (nv, W)."""
    scalar_q, scalar_v, quat_q, quat_v = _segments(model)
    parts, index = [], []
    if len(scalar_q):
        parts.append(take(qpos, scalar_q) + take(qvel, scalar_v) * dt)
        index.append(scalar_q)
    if len(quat_q):
        turned = quat.integrate(take_blocks(qpos, quat_q, 4), take_blocks(qvel, quat_v, 3), dt)
        parts.append(turned.reshape(-1, turned.shape[-1]))
        index.append((quat_q[:, None] + np.arange(4)).reshape(-1))
    return stitch(parts, index) if parts else qpos


def difference_pos(model: Model, start: Array, end: Array, dt: Array) -> Array:
    """The constant velocity (nv, W) that takes positions `start` to `end` (nq, W) in `dt`, s."""
    scalar_q, scalar_v, quat_q, quat_v = _segments(model)
    parts, index = [], []
    if len(scalar_q):
        parts.append(take(end, scalar_q) - take(start, scalar_q))
        index.append(scalar_v)
    if len(quat_q):
        turned = quat.subtract(take_blocks(end, quat_q, 4), take_blocks(start, quat_q, 4))
        parts.append(turned.reshape(-1, turned.shape[-1]))
        index.append((quat_v[:, None] + np.arange(3)).reshape(-1))
    if not parts:
        return jnp.zeros((0, start.shape[-1]), start.dtype)
    return stitch(parts, index) / dt


@straight
def advance(model: Model, data: Data, act_dot: Array, qacc: Array, qvel: Array | None = None) -> Data:
    """Advances activations, velocity, position and time by one timestep; `qacc` of the data is the next warm start.

    Args:
      model: the model.
      data: after `forward`.
      act_dot: derivatives of activations (na, W).
      qacc: acceleration (nv, W).
      qvel: velocity for the positions (nv, W); none: the new velocity (semi-implicit).
    """
    h = model.opt.timestep
    if model.na and not model.opt.disableflags & DisableBit.ACTUATION:
        act = rewrap_activations(model, data, next_activation(model, data, act_dot))
        data = data.replace(act=act)
    if model.nhistory:
        data = data.replace(history=record_history(model, data))
    velocity = data.qvel + h * qacc
    position = integrate_pos(model, data.qpos, velocity if qvel is None else qvel, h)
    return data.replace(qvel=velocity, qpos=position, time=later(data.time, h), qacc_warmstart=data.qacc)
