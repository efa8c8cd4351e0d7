"""Sensors of cameras: where a site stands in the image."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxsim.data import Data
from jaxsim.enums import SensorType
from jaxsim.math.axis import take
from jaxsim.math.spatial import matvec_transposed
from jaxsim.model import Model
from jaxsim.pipeline.sensors.common import Compute, flat

__all__ = ["SENSORS"]

_LEAST_DEPTH = 1e-15
"""Depth below which a site counts as this far from the camera, m."""


def _projection(m: Model, d: Data, i: np.ndarray) -> Array:
    """Pixel coordinates of sites in the images of cameras."""
    camera = m.sensor_refid[i]
    size, intrinsic = take(m.cam_sensorsize, camera), take(m.cam_intrinsic, camera)
    pixels = jnp.asarray(m.cam_resolution[camera][:, :, None], d.qpos.dtype)
    sized = (size[:, :1] != 0) & (size[:, 1:] != 0)
    by_sensor = intrinsic[:, :2] / jnp.where(sized, size, 1) * pixels
    by_angle = 0.5 / jnp.tan(take(m.cam_fovy, camera) * (np.pi / 360))[:, None] * pixels[:, 1:]
    focal = jnp.where(sized, by_sensor, by_angle)
    offset = take(d.site_xpos, m.sensor_objid[i]) - take(d.cam_xpos, camera)
    local = matvec_transposed(take(d.cam_xmat, camera), offset)
    depth = local[:, 2:]
    least = jnp.where(depth < 0, -_LEAST_DEPTH, _LEAST_DEPTH)
    depth = jnp.where(jnp.abs(depth) < _LEAST_DEPTH, least, depth)
    direction = jnp.asarray(np.array([-1.0, 1.0])[None, :, None], focal.dtype)
    return flat(direction * focal * local[:, :2] / depth + 0.5 * pixels)


SENSORS: dict[SensorType, Compute] = {SensorType.CAMPROJECTION: _projection}
