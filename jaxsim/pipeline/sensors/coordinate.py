"""Sensors of joints, tendons and actuators: position, velocity and force along their own coordinates."""

from __future__ import annotations

import numpy as np
from jax import Array

from jaxsim.data import Data
from jaxsim.enums import SensorType, TrnType
from jaxsim.math import quaternion as quat
from jaxsim.math.axis import add_rows, take, take_blocks
from jaxsim.model import Model
from jaxsim.pipeline.actuation.group import outputs_of
from jaxsim.pipeline.sensors.common import Compute, flat

__all__ = ["SENSORS"]


def _ball_quat(m: Model, d: Data, i: np.ndarray) -> Array:
    return flat(quat.normalize(take_blocks(d.qpos, m.jnt_qposadr[m.sensor_objid[i]], 4)))


def _outputs(m: Model, x: Array, i: np.ndarray) -> Array:
    """Rows of x (nout, W) for all force outputs of the sensors' actuators."""
    return take(x, outputs_of(m.static, m.sensor_objid[i]))


def _tendon_actuator_force(m: Model, d: Data, i: np.ndarray) -> Array:
    """Sum of the forces of the actuators on each tendon."""
    on_tendon = np.flatnonzero(m.actuator_trntype == TrnType.TENDON)
    force = take(d.actuator_force, m.actuator_outadr[on_tendon])
    return take(add_rows(force, m.actuator_trnid[on_tendon, 0], m.ntendon), m.sensor_objid[i])


SENSORS: dict[SensorType, Compute] = {
    SensorType.JOINTPOS: lambda m, d, i: take(d.qpos, m.jnt_qposadr[m.sensor_objid[i]]),
    SensorType.JOINTVEL: lambda m, d, i: take(d.qvel, m.jnt_dofadr[m.sensor_objid[i]]),
    SensorType.JOINTACTFRC: lambda m, d, i: take(d.qfrc_actuator, m.jnt_dofadr[m.sensor_objid[i]]),
    SensorType.BALLQUAT: _ball_quat,
    SensorType.BALLANGVEL: lambda m, d, i: flat(take_blocks(d.qvel, m.jnt_dofadr[m.sensor_objid[i]], 3)),
    SensorType.TENDONPOS: lambda m, d, i: take(d.ten_length, m.sensor_objid[i]),
    SensorType.TENDONVEL: lambda m, d, i: take(d.ten_velocity, m.sensor_objid[i]),
    SensorType.TENDONACTFRC: _tendon_actuator_force,
    SensorType.ACTUATORPOS: lambda m, d, i: _outputs(m, d.actuator_length, i),
    SensorType.ACTUATORVEL: lambda m, d, i: _outputs(m, d.actuator_velocity, i),
    SensorType.ACTUATORFRC: lambda m, d, i: _outputs(m, d.actuator_force, i),
}
