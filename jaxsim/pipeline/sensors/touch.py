"""Touch sensors: the sum of normal forces of contacts whose force line meets the sensor's site."""

from __future__ import annotations

import functools

import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxsim.data import Data
from jaxsim.enums import SensorType
from jaxsim.math.axis import add_rows, take
from jaxsim.math.vector import matvec_transposed
from jaxsim.model import Model
from jaxsim.pipeline.reaction import contact_force
from jaxsim.pipeline.sensors.common import Compute
from jaxsim.pipeline.sensors.region import meets
from jaxsim.pytree import Static
from jaxsim.structure.slots import SlotLayout, slot_layout

__all__ = ["SENSORS"]


@functools.lru_cache(maxsize=64)
def _pairs(static: Static, layout: SlotLayout, sensors: tuple[int, ...]) -> np.ndarray:
    """Rows (sensor, slot, side, known): contacts that may touch the body of a sensor's site, as geom 1 or 2.

    `known` is 0 where the slot's geoms differ between worlds.
    """
    pairs = []
    for n, i in enumerate(sensors):
        body = static.site_bodyid[static.sensor_objid[i]]
        for group in layout.groups:
            for k in range(group.count):
                for side, bodies in enumerate((group.body1, group.body2)):
                    if bodies is None or bodies[k] == body:
                        pairs.append((n, group.start + k, side, bodies is not None))
    return np.array(pairs, int).reshape(-1, 4)


def _touch(model: Model, data: Data, ids: np.ndarray) -> Array:
    """Outputs (n, W) of touch sensors, N."""
    pairs = _pairs(model.static, slot_layout(model), tuple(int(i) for i in ids))
    if not len(pairs):
        return jnp.zeros((len(ids), 1), data.qpos.dtype)
    sites = model.sensor_objid[ids]
    total = jnp.zeros((len(ids), 1), data.qpos.dtype)
    normal = contact_force(model, data)[:, 0]
    for kind in np.unique(model.site_type[sites[pairs[:, 0]]]):
        sensor, slot, side, known = pairs[model.site_type[sites[pairs[:, 0]]] == kind].T
        site = sites[sensor]
        force = take(normal, slot)
        outward = jnp.asarray(np.where(side == 0, 1.0, -1.0)[:, None, None], force.dtype)
        ray = outward * take(data.contact.frame[:, 0], slot)
        axes = take(data.site_xmat, site)
        start = matvec_transposed(axes, take(data.contact.pos, slot) - take(data.site_xpos, site))
        felt = meets(int(kind), take(model.site_size, site), start, matvec_transposed(axes, ray))
        felt = felt & (force > 0) & (take(data.contact.efc_address, slot) >= 0)
        if not known.all():
            geom = take(data.contact.geom.reshape(-1, data.contact.geom.shape[-1]), 2 * slot + side)
            body = jnp.asarray(model.geom_bodyid)[jnp.maximum(geom, 0)]
            same = (geom >= 0) & (body == jnp.asarray(model.site_bodyid[site])[:, None])
            felt = felt & (same | jnp.asarray(known.astype(bool))[:, None])
        total = total + add_rows(jnp.where(felt, force, 0), sensor, len(ids))
    return total


SENSORS: dict[SensorType, Compute] = {SensorType.TOUCH: _touch}
