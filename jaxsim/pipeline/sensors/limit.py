"""Sensors of joint and tendon limits: distance to the limit, its velocity and the force of its constraint."""

from __future__ import annotations

import functools
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxsim.data import Data
from jaxsim.enums import DisableBit, JointType, SensorType
from jaxsim.math import quaternion as quat
from jaxsim.math import safe
from jaxsim.math.axis import concat, take, take_blocks
from jaxsim.math.vector import dot
from jaxsim.model import Model
from jaxsim.pipeline.sensors.common import Compute
from jaxsim.structure.rows import row_layout

__all__ = ["SENSORS"]


class _Side(NamedTuple):
    """One side of n limits: distance to it, the rate of that (n, W), and its rows in `efc_force` (n,)."""

    distance: Array
    rate: Array
    rows: np.ndarray


def _scalar_sides(x: Array, v: Array, limits: Array, rows: list[np.ndarray]) -> list[_Side]:
    """Lower and upper sides of coordinates x (n, W) with velocities v."""
    low, high = (np.array([r[k] for r in rows], int) for k in range(2))
    return [_Side(x - limits[:, 0], v, low), _Side(limits[:, 1] - x, -v, high)]


def _ball_sides(q: Array, v: Array, limits: Array, rows: list[np.ndarray]) -> list[_Side]:
    """The one side of rotations q (n, 4, W) with angular velocities v (n, 3, W): a largest angle."""
    axis, angle = safe.normalize(quat.logarithm(quat.normalize(q)))
    limit = jnp.maximum(limits[:, 0], limits[:, 1])
    return [_Side(limit - angle[:, 0], -dot(axis, v), np.array([r[0] for r in rows], int))]


def _first_active(quantity: str, data: Data, sides: list[_Side], margin: Array) -> Array:
    """The quantity (n, W) of the first side within the margin, 0 if there is none."""
    found = jnp.zeros((1, 1), data.qpos.dtype)
    for side in reversed(sides):
        if quantity == "position":
            value = side.distance - margin
        else:
            value = side.rate if quantity == "velocity" else take(data.efc_force, side.rows)
        found = jnp.where(side.distance < margin, value, found)
    return found


def _spread(n: int, parts: list[tuple[np.ndarray, Array]], data: Data) -> Array:
    """Outputs (n, W) of sensors, of which each part has some; 0 of those in none."""
    where = np.zeros(n, int)
    numbers = np.concatenate([np.zeros(0, int), *(chosen for chosen, _ in parts)])
    where[numbers] = 1 + np.arange(len(numbers))
    return take(concat([jnp.zeros((1, 1), data.qpos.dtype), *(found for _, found in parts)]), where)


def _joint_limit(quantity: str, m: Model, d: Data, i: np.ndarray) -> Array:
    """Outputs (n, W) of sensors of joint limits.

    Args:
      quantity: "position" (distance less margin), "velocity" or "force".
      m: the model.
      d: results of position and velocity; for forces, of the solver.
      i: sensors.
    """
    joints = m.sensor_objid[i]
    classes = row_layout(m).classes
    ball = m.jnt_type[joints] == JointType.BALL
    kinds = np.where(ball, "ball_limit", "joint_limit")
    rows = [classes[kind].of(int(j)) for kind, j in zip(kinds, joints, strict=True)]
    parts: list[tuple[np.ndarray, Array]] = []
    for kind in (False, True):
        chosen = np.flatnonzero([len(r) > 0 and b == kind for r, b in zip(rows, ball, strict=True)])
        if not len(chosen):
            continue
        j = joints[chosen]
        own = [rows[k] for k in chosen]
        limits, q, v = take(m.jnt_range, j), m.jnt_qposadr[j], m.jnt_dofadr[j]
        if kind:
            sides = _ball_sides(take_blocks(d.qpos, q, 4), take_blocks(d.qvel, v, 3), limits, own)
        else:
            sides = _scalar_sides(take(d.qpos, q), take(d.qvel, v), limits, own)
        parts.append((chosen, _first_active(quantity, d, sides, take(m.jnt_margin, j))))
    return _spread(len(i), parts, d)


def _tendon_limit(quantity: str, m: Model, d: Data, i: np.ndarray) -> Array:
    """Outputs (n, W) of sensors of tendon limits; as `_joint_limit`."""
    t = m.sensor_objid[i]
    if m.opt.disableflags & (DisableBit.LIMIT | DisableBit.CONSTRAINT):
        return _spread(len(i), [], d)
    rows = [row_layout(m).classes["tendon_limit"].of(int(k)) for k in t]
    chosen = np.flatnonzero([len(r) > 0 for r in rows])  # tendons that nothing moves have none
    if not len(chosen):
        return _spread(len(i), [], d)
    own, k = [rows[n] for n in chosen], t[chosen]
    sides = _scalar_sides(take(d.ten_length, k), take(d.ten_velocity, k), take(m.tendon_range, k), own)
    return _spread(len(i), [(chosen, _first_active(quantity, d, sides, take(m.tendon_margin, k)))], d)


SENSORS: dict[SensorType, Compute] = {
    SensorType.JOINTLIMITPOS: functools.partial(_joint_limit, "position"),
    SensorType.JOINTLIMITVEL: functools.partial(_joint_limit, "velocity"),
    SensorType.JOINTLIMITFRC: functools.partial(_joint_limit, "force"),
    SensorType.TENDONLIMITPOS: functools.partial(_tendon_limit, "position"),
    SensorType.TENDONLIMITVEL: functools.partial(_tendon_limit, "velocity"),
    SensorType.TENDONLIMITFRC: functools.partial(_tendon_limit, "force"),
}
