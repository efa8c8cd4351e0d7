"""Sensors of the acceleration of frames and of the forces between bodies; they read `cacc` and `cfrc_int`."""

from __future__ import annotations

import numpy as np
from jax import Array

from jaxsim.data import Data
from jaxsim.enums import SensorType
from jaxsim.math.axis import take
from jaxsim.math.spatial import shift_force
from jaxsim.math.vector import matvec_transposed
from jaxsim.model import Model
from jaxsim.pipeline import objects
from jaxsim.pipeline.sensors.common import Compute, flat, measured

__all__ = ["SENSORS"]

_ANGULAR, _LINEAR = slice(0, 3), slice(3, 6)


def _accelerometer(m: Model, d: Data, i: np.ndarray) -> Array:
    a = objects.acceleration(m, d, *measured(m, i))[:, 3:]
    return flat(matvec_transposed(objects.matrix(m, d, *measured(m, i)), a))


def _frame(part: slice) -> Compute:
    return lambda m, d, i: flat(objects.acceleration(m, d, *measured(m, i))[:, part])


def _interaction(part: slice) -> Compute:
    """Force or torque between the site's body and its parent, at the site in its axes."""

    def sensor(m: Model, d: Data, i: np.ndarray) -> Array:
        site = m.sensor_objid[i]
        body = m.site_bodyid[site]
        by = take(d.site_xpos, site) - take(d.subtree_com, m.body_rootid[body])
        wrench = shift_force(take(d.cfrc_int, body), by)[:, part]
        return flat(matvec_transposed(take(d.site_xmat, site), wrench))

    return sensor


SENSORS: dict[SensorType, Compute] = {
    SensorType.ACCELEROMETER: _accelerometer,
    SensorType.FORCE: _interaction(_LINEAR),
    SensorType.TORQUE: _interaction(_ANGULAR),
    SensorType.FRAMELINACC: _frame(_LINEAR),
    SensorType.FRAMEANGACC: _frame(_ANGULAR),
}
