"""Sensors of the velocity of frames and subtrees."""

from __future__ import annotations

import numpy as np
from jax import Array

from jaxsim.data import Data
from jaxsim.enums import SensorType
from jaxsim.math.axis import concat, replace_rows, take
from jaxsim.math.vector import cross, matvec_transposed
from jaxsim.model import Model
from jaxsim.pipeline import objects
from jaxsim.pipeline.sensors.common import Compute, flat, in_reference, measured, reference, referred

__all__ = ["SENSORS"]

_ANGULAR, _LINEAR = slice(0, 3), slice(3, 6)


def _own(part: slice) -> Compute:
    """Velocity of an object in its own axes."""

    def sensor(m: Model, d: Data, i: np.ndarray) -> Array:
        v = objects.velocity(m, d, *measured(m, i))[:, part]
        return flat(matvec_transposed(objects.matrix(m, d, *measured(m, i)), v))

    return sensor


def _relative(part: slice) -> Compute:
    """Velocity against a reference frame, which may turn, in its axes; or in the world."""

    def sensor(m: Model, d: Data, i: np.ndarray) -> Array:
        """The part (3 n, W) of the velocities of n sensors."""
        v = objects.velocity(m, d, *measured(m, i))
        given = referred(m, i)
        if len(given):
            origin = objects.velocity(m, d, *reference(m, i[given]))
            apart = objects.position(m, d, *measured(m, i[given]))
            apart = apart - objects.position(m, d, *reference(m, i[given]))
            relative = take(v, given) - origin
            linear = relative[:, 3:] + cross(apart, origin[:, :3])
            v = replace_rows(v, given, concat([relative[:, :3], linear], axis=1))
        return flat(in_reference(m, d, i, v[:, part]))

    return sensor


SENSORS: dict[SensorType, Compute] = {
    SensorType.VELOCIMETER: _own(_LINEAR),
    SensorType.GYRO: _own(_ANGULAR),
    SensorType.FRAMELINVEL: _relative(_LINEAR),
    SensorType.FRAMEANGVEL: _relative(_ANGULAR),
    SensorType.SUBTREELINVEL: lambda m, d, i: flat(take(d.subtree_linvel, m.sensor_objid[i])),
    SensorType.SUBTREEANGMOM: lambda m, d, i: flat(take(d.subtree_angmom, m.sensor_objid[i])),
}
