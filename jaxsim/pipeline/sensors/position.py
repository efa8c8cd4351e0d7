"""Sensors of position and orientation, of fields and energies."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxsim.data import Data
from jaxsim.enums import ObjType, SensorType
from jaxsim.math import quaternion as quat
from jaxsim.math.axis import replace_rows, stitch, take
from jaxsim.math.constants import MINVAL
from jaxsim.math.vector import matvec_transposed
from jaxsim.model import Model
from jaxsim.pipeline import objects
from jaxsim.pipeline.energy import energy_pos, energy_vel
from jaxsim.pipeline.sensors import region
from jaxsim.pipeline.sensors.common import Compute, flat, in_reference, measured, reference, referred

__all__ = ["SENSORS", "refusal"]


def _frame_pos(m: Model, d: Data, i: np.ndarray) -> Array:
    x = objects.position(m, d, *measured(m, i))
    given = referred(m, i)
    if len(given):
        origin = objects.position(m, d, *reference(m, i[given]))
        x = replace_rows(x, given, take(x, given) - origin)
    return flat(in_reference(m, d, i, x))


def _frame_axis(k: int) -> Compute:
    def axis(m: Model, d: Data, i: np.ndarray) -> Array:
        return flat(in_reference(m, d, i, objects.matrix(m, d, *measured(m, i))[:, :, k]))

    return axis


def _frame_quat(m: Model, d: Data, i: np.ndarray) -> Array:
    q = objects.orientation(m, d, *measured(m, i))
    given = referred(m, i)
    if len(given):
        origin = objects.orientation(m, d, *reference(m, i[given]))
        q = replace_rows(q, given, quat.mul(quat.conjugate(origin), take(q, given)))
    return flat(q)


def _magnetometer(m: Model, d: Data, i: np.ndarray) -> Array:
    return flat(matvec_transposed(take(d.site_xmat, m.sensor_objid[i]), m.opt.magnetic[None]))


def _place(m: Model, d: Data, i: np.ndarray) -> Array:
    """Positions (n, 3, W) of objects; of a body without mass that carries some, as in C, the centre of its subtree."""
    x = objects.position(m, d, *measured(m, i))
    bodies = np.flatnonzero((m.sensor_objtype[i] == ObjType.BODY) & (m.sensor_objid[i] > 0))
    if not len(bodies):
        return x
    ids = m.sensor_objid[i[bodies]]
    empty = (take(m.body_mass, ids) < MINVAL) & (take(m.body_subtreemass, ids) >= MINVAL)
    return replace_rows(x, bodies, jnp.where(empty[:, None], take(d.subtree_com, ids), take(x, bodies)))


def _inside_site(m: Model, d: Data, i: np.ndarray) -> Array:
    """1 where an object is inside a site, else 0."""
    site = m.sensor_refid[i]
    offset = _place(m, d, i) - take(d.site_xpos, site)
    local = matvec_transposed(take(d.site_xmat, site), offset)
    size, kinds = take(m.site_size, site), m.site_type[site]
    parts, order = [], []
    for kind in np.unique(kinds):
        chosen = np.flatnonzero(kinds == kind)
        parts.append(region.contains(int(kind), take(size, chosen), take(local, chosen)))
        order.append(chosen)
    return stitch(parts, order).astype(d.qpos.dtype)


def refusal(model: Model, sensor: int) -> str:
    """What of an `insidesite` sensor is not computed; empty: nothing."""
    whole = model.sensor_intprm[sensor, 0]
    if whole:
        return "insidesite with enclosed, how far all of an object is from being inside"
    return region.refusal(model, sensor)


def _repeated(x: Array, n: int) -> Array:
    return jnp.broadcast_to(x[None], (n, *x.shape))


SENSORS: dict[SensorType, Compute] = {
    SensorType.MAGNETOMETER: _magnetometer,
    SensorType.FRAMEPOS: _frame_pos,
    SensorType.FRAMEQUAT: _frame_quat,
    SensorType.FRAMEXAXIS: _frame_axis(0),
    SensorType.FRAMEYAXIS: _frame_axis(1),
    SensorType.FRAMEZAXIS: _frame_axis(2),
    SensorType.SUBTREECOM: lambda m, d, i: flat(take(d.subtree_com, m.sensor_objid[i])),
    SensorType.INSIDESITE: _inside_site,
    SensorType.E_POTENTIAL: lambda m, d, i: _repeated(energy_pos(m, d), len(i)),
    SensorType.E_KINETIC: lambda m, d, i: _repeated(energy_vel(m, d), len(i)),
    SensorType.CLOCK: lambda m, d, i: _repeated(d.time, len(i)),
}
