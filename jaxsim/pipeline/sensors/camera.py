"""Cameras as sensors see them: pixels of points, rays through pixels."""

from __future__ import annotations

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from jaxsim.data import Data
from jaxsim.enums import SensorType
from jaxsim.math import safe
from jaxsim.math.axis import take
from jaxsim.math.constants import MINVAL
from jaxsim.math.vector import matvec, matvec_transposed
from jaxsim.model import Model
from jaxsim.pipeline.sensors.common import Compute, flat

__all__ = ["SENSORS", "pixel_rays"]

_ORTHOGRAPHIC = 1


class _Lens(NamedTuple):
    """Focal lengths and principal points of cameras, pixels, (n, 2, 1 or W)."""

    focal: Array
    centre: Array


def _lens(m: Model, camera: np.ndarray) -> _Lens:
    """Of perspective cameras: from their sensors where these have a size, else from the field of view."""
    size, intrinsic = take(m.cam_sensorsize, camera), take(m.cam_intrinsic, camera)
    pixels = jnp.asarray(m.cam_resolution[camera][:, :, None], size.dtype)
    sized = (size[:, :1] != 0) & (size[:, 1:] != 0)
    scale = pixels / jnp.where(sized, size, 1)
    by_angle = 0.5 / jnp.tan(take(m.cam_fovy, camera) * (np.pi / 360))[:, None] * pixels[:, 1:]
    focal = jnp.where(sized, intrinsic[:, :2] * scale, by_angle)
    return _Lens(focal, jnp.where(sized, intrinsic[:, 2:] * scale, 0.5 * pixels))


def _projection(m: Model, d: Data, i: np.ndarray) -> Array:
    """Pixel coordinates of sites in the images of cameras; the principal point is the middle of the image.

    In the plane of the camera, where they are without bounds, they do not move.
    """
    camera = m.sensor_refid[i]
    offset = take(d.site_xpos, m.sensor_objid[i]) - take(d.cam_xpos, camera)
    local = matvec_transposed(take(d.cam_xmat, camera), offset)
    depth = local[:, 2:]
    least, in_plane = jnp.where(depth < 0, -MINVAL, MINVAL), jnp.abs(depth) < MINVAL
    slope = local[:, :2] / jnp.where(in_plane, least, depth)
    slope = jnp.where(in_plane, lax.stop_gradient(slope), slope)
    focal = _lens(m, camera).focal
    direction = jnp.asarray(np.array([-1.0, 1.0])[None, :, None], focal.dtype)
    middle = jnp.asarray(0.5 * m.cam_resolution[camera][:, :, None], focal.dtype)
    return flat(direction * focal * slope + middle)


def pixel_rays(m: Model, d: Data, camera: int) -> tuple[Array, Array]:
    """Origins and unit directions (height * width, 3, W) of the rays of a camera's pixels, row by row from the top."""
    width, height = (int(k) for k in m.cam_resolution[camera])
    column, row = np.meshgrid(np.arange(width) + 0.5, np.arange(height) + 0.5)
    pixel = jnp.asarray(np.stack([column.reshape(-1), row.reshape(-1)], 1)[:, :, None], d.qpos.dtype)
    down = jnp.asarray(np.array([1.0, -1.0])[None, :, None], d.qpos.dtype)
    origin, axes = d.cam_xpos[camera][None], d.cam_xmat[camera][None]
    if m.cam_projection[camera] == _ORTHOGRAPHIC:
        half = jnp.asarray(np.array([width, height])[None, :, None] / 2, d.qpos.dtype)
        offset = down * (pixel / half - 1) * m.cam_fovy[camera] / 2
        offset = jnp.concatenate([offset, jnp.zeros_like(offset[:, :1])], axis=1)
        return origin + matvec(axes, offset), jnp.broadcast_to(
            -axes[:, :, 2], (len(pixel), 3, axes.shape[-1])
        )
    lens = _lens(m, np.array([camera]))
    across = down * (pixel - lens.centre) / lens.focal
    ray = matvec(axes, jnp.concatenate([across, -jnp.ones_like(across[:, :1])], axis=1))
    return jnp.broadcast_to(origin, ray.shape), safe.normalize(ray)[0]


SENSORS: dict[SensorType, Compute] = {SensorType.CAMPROJECTION: _projection}
