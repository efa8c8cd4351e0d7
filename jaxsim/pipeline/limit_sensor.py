"""Sensors of joint and tendon limits: distance to the limit, its velocity and the force of its constraint."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxsim.data import Data
from jaxsim.enums import DisableBit, JointType
from jaxsim.math import quaternion as quat
from jaxsim.math import safe
from jaxsim.math.axis import concat, take
from jaxsim.math.spatial import dot
from jaxsim.model import Model
from jaxsim.structure.constraints import row_layout

__all__ = ["joint_limit", "tendon_limit"]


def joint_limit(quantity: str, model: Model, data: Data, ids: np.ndarray) -> Array:
    """Outputs (n, W) of sensors of joint limits; 0 where the limit is not active.

    Args:
      quantity: "position" (distance less margin), "velocity" or "force".
      model: the model.
      data: results of position and velocity; for forces, of the solver.
      ids: sensors.
    """
    return concat([_joint(quantity, model, data, int(j)) for j in model.sensor_objid[ids]])


def tendon_limit(quantity: str, model: Model, data: Data, ids: np.ndarray) -> Array:
    """Outputs (n, W) of sensors of tendon limits; as `joint_limit`."""
    parts = []
    for t in model.sensor_objid[ids]:
        at = slice(int(t), int(t) + 1)
        side = _sides(data.ten_length[at], data.ten_velocity[at], model.tendon_range[at])
        limited = bool(model.tendon_limited[t])
        rows = row_layout(model).tendon_limit_rows(int(t))
        parts.append(_select(quantity, model, data, limited, side, model.tendon_margin[at], rows))
    return concat(parts)


def _sides(x: Array, v: Array, limits: Array) -> list[tuple[Array, Array]]:
    """Distance (1, W) to the lower and to the upper limit, and their rates."""
    return [(x - limits[:, 0], v), (limits[:, 1] - x, -v)]


def _joint(quantity: str, model: Model, data: Data, joint: int) -> Array:
    at = slice(joint, joint + 1)
    q, v = int(model.jnt_qposadr[joint]), int(model.jnt_dofadr[joint])
    if model.jnt_type[joint] == JointType.BALL:
        rotation = quat.logarithm(quat.normalize(data.qpos[q : q + 4]))
        axis, angle = safe.normalize(rotation)
        limit = jnp.maximum(model.jnt_range[joint, 0], model.jnt_range[joint, 1])
        side = [(limit - angle, -dot(axis, data.qvel[v : v + 3])[None])]
    else:
        side = _sides(data.qpos[q : q + 1], data.qvel[v : v + 1], model.jnt_range[at])
    limited = bool(model.jnt_limited[joint])
    rows = row_layout(model).joint_limit_rows(joint)
    return _select(quantity, model, data, limited, side, model.jnt_margin[at], rows)


def _select(
    quantity: str,
    model: Model,
    data: Data,
    limited: bool,
    sides: list[tuple[Array, Array]],
    margin: Array,
    rows: tuple[int, ...],
) -> Array:
    """The quantity of the first active side, (1, W)."""
    found = jnp.zeros((1, 1), data.qpos.dtype)
    off = DisableBit.LIMIT | DisableBit.CONSTRAINT
    if not limited or model.opt.disableflags & off:
        return found
    for k in reversed(range(len(sides))):
        distance, rate = sides[k]
        value = {"position": distance - margin, "velocity": rate}.get(quantity)
        if value is None:
            value = take(data.efc_force, np.array([rows[k]]))
        found = jnp.where(distance < margin, value, found)
    return found
