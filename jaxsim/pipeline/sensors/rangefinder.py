"""Range finders: what the ray along a site's z axis, or those of a camera's pixels, meet first."""

from __future__ import annotations

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxsim.data import Data
from jaxsim.enums import ObjType, SensorType
from jaxsim.math.axis import concat
from jaxsim.math.vector import dot
from jaxsim.model import Model
from jaxsim.pipeline.ray.cast import Rays, cast, included, unseen
from jaxsim.pipeline.sensors.camera import pixel_rays
from jaxsim.pipeline.sensors.common import Compute, flat
from jaxsim.structure.sensors import RAY_DATA

__all__ = ["SENSORS", "refusal"]


class _Bundle(NamedTuple):
    """The rays of one sensor, (k, ..., W).

    Attributes:
      origin: origins.
      direction: unit directions.
      backward: the camera's backward axis, against which depth is measured; None: along each ray.
    """

    origin: Array
    direction: Array
    backward: Array | None


def _bundle(m: Model, d: Data, sensor: int) -> _Bundle:
    target = int(m.sensor_objid[sensor])
    if m.sensor_objtype[sensor] == ObjType.CAMERA:
        return _Bundle(*pixel_rays(m, d, target), d.cam_xmat[target][None, :, 2])
    return _Bundle(d.site_xpos[target][None], d.site_xmat[target][None, :, 2], None)


def _seen(m: Model, sensor: int) -> np.ndarray:
    """Geoms that a sensor sees (ngeom,): not those of the body that carries it."""
    target = m.sensor_objid[sensor]
    camera = m.sensor_objtype[sensor] == ObjType.CAMERA
    body = int(m.cam_bodyid[target] if camera else m.site_bodyid[target])
    return included(m.static, None, True, (body,))


def refusal(m: Model, sensor: int) -> str:
    """What a range finder should see but cannot; empty: nothing."""
    return "rays against geoms of type sdf without a distance function" * bool(
        len(unseen(m, _seen(m, sensor)[None]))
    )


def _range(m: Model, d: Data, i: np.ndarray) -> Array:
    """Outputs of range finders, ray after ray."""
    bundles = [_bundle(m, d, int(k)) for k in i]
    counts = [b.direction.shape[0] for b in bundles]
    seen = np.repeat([_seen(m, int(k)) for k in i], counts, axis=0)
    origin, direction = concat([b.origin for b in bundles]), concat([b.direction for b in bundles])
    rays = cast(m, d.geom_xpos, d.geom_xmat, origin, direction, seen)
    parts, start = [], 0
    for sensor, bundle, count in zip(i, bundles, counts, strict=True):
        mine = Rays(*(x[start : start + count] for x in rays))
        parts.append(_report(bundle, mine, int(m.sensor_intprm[sensor, 0])))
        start += count
    return concat(parts)


def _report(bundle: _Bundle, rays: Rays, spec: int) -> Array:
    """What a sensor says of its rays, (k * size, W); zeros, or -1 for lengths, where a ray meets nothing."""
    hit = (rays.geom >= 0)[:, None]
    dist = rays.dist[:, None]
    along = dist * bundle.direction
    depth = dist
    if bundle.backward is not None:  # rays begin in the plane of the camera
        depth = jnp.where(hit, -dot(along, bundle.backward)[:, None], -1)
    values = {
        "dist": dist,
        "dir": jnp.where(hit, bundle.direction, 0),
        "origin": bundle.origin,
        "point": jnp.where(hit, bundle.origin + along, 0),
        "normal": rays.normal,
        "depth": depth,
    }
    asked = [word for bit, word in enumerate(RAY_DATA) if spec >> bit & 1]
    return flat(concat([values[word] for word in asked], axis=1))


SENSORS: dict[SensorType, Compute] = {SensorType.RANGEFINDER: _range}
