"""Sensors: one table from type to the stage that knows the value and the function that computes it.

A function takes all sensors of its type at once and returns their outputs one after the other, (sum of dims, W). The
stages write their rows of `sensordata`; each output is then limited by its `cutoff`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable

import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxsim.data import Data
from jaxsim.enums import DataType, DisableBit, SensorType, Stage, TrnType
from jaxsim.math import quaternion as quat
from jaxsim.math.axis import add_rows, concat, take
from jaxsim.math.spatial import cross, matvec_transposed, shift_force
from jaxsim.model import Model
from jaxsim.pipeline import objects
from jaxsim.pipeline.energy import energy_pos, energy_vel
from jaxsim.pipeline.limit_sensor import joint_limit, tendon_limit
from jaxsim.pipeline.reaction import constraint_wrenches
from jaxsim.pipeline.region import contains
from jaxsim.pipeline.touch import touch
from jaxsim.pipeline.velocity import rne_postconstraint, subtree_vel
from jaxsim.pytree import Static

__all__ = ["SENSORS", "sensor_acc", "sensor_pos", "sensor_vel"]

_Ids = np.ndarray


def _flat(x: Array) -> Array:
    return x.reshape(-1, x.shape[-1])


def _object(m: Model, i: _Ids) -> tuple[np.ndarray, np.ndarray]:
    return m.sensor_objtype[i], m.sensor_objid[i]


def _reference(m: Model, i: _Ids) -> tuple[np.ndarray, np.ndarray]:
    return m.sensor_reftype[i], m.sensor_refid[i]


def _in_reference(m: Model, d: Data, i: _Ids, x: Array) -> Array:
    """World vectors (n, 3, W) in the axes of each sensor's reference frame, if it has one."""
    given = np.flatnonzero(m.sensor_refid[i] >= 0)
    if not len(given):
        return x
    turned = matvec_transposed(objects.matrix(m, d, *_reference(m, i[given])), take(x, given))
    return _replace(x, given, turned)


def _replace(x: Array, index: np.ndarray, rows: Array) -> Array:
    """Copy of x (n, ..., W) with some rows replaced."""
    where = np.arange(x.shape[0])
    where[index] = x.shape[0] + np.arange(len(index))
    return take(concat([x, rows]), where)


# --- position


def _frame_pos(m: Model, d: Data, i: _Ids) -> Array:
    x = objects.position(m, d, *_object(m, i))
    given = np.flatnonzero(m.sensor_refid[i] >= 0)
    if len(given):
        origin = objects.position(m, d, *_reference(m, i[given]))
        x = _replace(x, given, take(x, given) - origin)
    return _flat(_in_reference(m, d, i, x))


def _frame_axis(k: int) -> Callable[[Model, Data, _Ids], Array]:
    def axis(m: Model, d: Data, i: _Ids) -> Array:
        return _flat(_in_reference(m, d, i, objects.matrix(m, d, *_object(m, i))[:, :, k]))

    return axis


def _frame_quat(m: Model, d: Data, i: _Ids) -> Array:
    q = objects.orientation(m, d, *_object(m, i))
    given = np.flatnonzero(m.sensor_refid[i] >= 0)
    if len(given):
        reference = objects.orientation(m, d, *_reference(m, i[given]))
        q = _replace(q, given, quat.mul(quat.conjugate(reference), take(q, given)))
    return _flat(q)


def _magnetometer(m: Model, d: Data, i: _Ids) -> Array:
    return _flat(matvec_transposed(take(d.site_xmat, m.sensor_objid[i]), m.opt.magnetic[None]))


def _camera_projection(m: Model, d: Data, i: _Ids) -> Array:
    """Pixel coordinates of sites in the images of cameras."""
    camera = m.sensor_refid[i]
    size, intrinsic = take(m.cam_sensorsize, camera), take(m.cam_intrinsic, camera)
    pixels = jnp.asarray(m.cam_resolution[camera][:, :, None], d.qpos.dtype)
    measured = (size[:, :1] != 0) & (size[:, 1:] != 0)
    by_sensor = intrinsic[:, :2] / jnp.where(measured, size, 1) * pixels
    by_angle = 0.5 / jnp.tan(take(m.cam_fovy, camera) * (np.pi / 360))[:, None] * pixels[:, 1:]
    focal = jnp.where(measured, by_sensor, by_angle)
    offset = take(d.site_xpos, m.sensor_objid[i]) - take(d.cam_xpos, camera)
    local = matvec_transposed(take(d.cam_xmat, camera), offset)
    depth = local[:, 2:]
    least = jnp.where(depth < 0, -1e-15, 1e-15)
    depth = jnp.where(jnp.abs(depth) < 1e-15, least, depth)
    direction = jnp.asarray(np.array([-1.0, 1.0])[None, :, None], focal.dtype)
    return _flat(direction * focal * local[:, :2] / depth + 0.5 * pixels)


def _inside_site(m: Model, d: Data, i: _Ids) -> Array:
    site = m.sensor_refid[i]
    offset = objects.position(m, d, *_object(m, i)) - take(d.site_xpos, site)
    local = matvec_transposed(take(d.site_xmat, site), offset)
    size, kinds = take(m.site_size, site), m.site_type[site]
    parts, order = [], []
    for kind in np.unique(kinds):
        chosen = np.flatnonzero(kinds == kind)
        parts.append(contains(int(kind), take(size, chosen), take(local, chosen)))
        order.append(chosen)
    return take(concat(parts), np.argsort(np.concatenate(order))).astype(d.qpos.dtype)


def _joint_rows(x: Array, start: np.ndarray, size: int) -> Array:
    return take(x, (start[:, None] + np.arange(size)).reshape(-1))


def _ball_quat(m: Model, d: Data, i: _Ids) -> Array:
    q = _joint_rows(d.qpos, m.jnt_qposadr[m.sensor_objid[i]], 4)
    return _flat(quat.normalize(q.reshape(len(i), 4, -1)))


def _repeated(x: Array, n: int) -> Array:
    return jnp.broadcast_to(x[None], (n, *x.shape))


def _outputs(m: Model, x: Array, i: _Ids) -> Array:
    """Rows of x (nout, W) for all force outputs of the sensors' actuators."""
    rows = [np.arange(int(m.actuator_outnum[a])) + int(m.actuator_outadr[a]) for a in m.sensor_objid[i]]
    return take(x, np.concatenate(rows))


# --- velocity


def _local_velocity(part: slice) -> Callable[[Model, Data, _Ids], Array]:
    def sensor(m: Model, d: Data, i: _Ids) -> Array:
        v = objects.velocity(m, d, *_object(m, i))[:, part]
        return _flat(matvec_transposed(objects.matrix(m, d, *_object(m, i)), v))

    return sensor


def _frame_velocity(part: slice) -> Callable[[Model, Data, _Ids], Array]:
    """Velocity against a reference frame, which may turn, in its axes; or in the world."""

    def sensor(m: Model, d: Data, i: _Ids) -> Array:
        v = objects.velocity(m, d, *_object(m, i))
        given = np.flatnonzero(m.sensor_refid[i] >= 0)
        if len(given):
            reference = objects.velocity(m, d, *_reference(m, i[given]))
            apart = objects.position(m, d, *_object(m, i[given]))
            apart = apart - objects.position(m, d, *_reference(m, i[given]))
            relative = take(v, given) - reference
            linear = relative[:, 3:] + cross(apart, reference[:, :3])
            v = _replace(v, given, concat([relative[:, :3], linear], axis=1))
        return _flat(_in_reference(m, d, i, v[:, part]))

    return sensor


# --- acceleration


def _local_acceleration(m: Model, d: Data, i: _Ids) -> Array:
    a = objects.acceleration(m, d, *_object(m, i))[:, 3:]
    return _flat(matvec_transposed(objects.matrix(m, d, *_object(m, i)), a))


def _frame_acceleration(part: slice) -> Callable[[Model, Data, _Ids], Array]:
    return lambda m, d, i: _flat(objects.acceleration(m, d, *_object(m, i))[:, part])


def _interaction(part: slice) -> Callable[[Model, Data, _Ids], Array]:
    """Force or torque between the site's body and its parent, at the site in its axes."""

    def sensor(m: Model, d: Data, i: _Ids) -> Array:
        site = m.sensor_objid[i]
        body = m.site_bodyid[site]
        by = take(d.site_xpos, site) - take(d.subtree_com, m.body_rootid[body])
        wrench = shift_force(take(d.cfrc_int, body), by)[:, part]
        return _flat(matvec_transposed(take(d.site_xmat, site), wrench))

    return sensor


def _tendon_actuator_force(m: Model, d: Data, i: _Ids) -> Array:
    on_tendon = np.flatnonzero(m.actuator_trntype == TrnType.TENDON)
    force = take(d.actuator_force, m.actuator_outadr[on_tendon])
    return take(add_rows(force, m.actuator_trnid[on_tendon, 0], m.ntendon), m.sensor_objid[i])


_ANGULAR, _LINEAR = slice(0, 3), slice(3, 6)

SENSORS: dict[int, tuple[Stage, Callable[[Model, Data, _Ids], Array]]] = {
    SensorType.MAGNETOMETER: (Stage.POS, _magnetometer),
    SensorType.CAMPROJECTION: (Stage.POS, _camera_projection),
    SensorType.JOINTPOS: (Stage.POS, lambda m, d, i: take(d.qpos, m.jnt_qposadr[m.sensor_objid[i]])),
    SensorType.TENDONPOS: (Stage.POS, lambda m, d, i: take(d.ten_length, m.sensor_objid[i])),
    SensorType.ACTUATORPOS: (Stage.POS, lambda m, d, i: _outputs(m, d.actuator_length, i)),
    SensorType.BALLQUAT: (Stage.POS, _ball_quat),
    SensorType.JOINTLIMITPOS: (Stage.POS, functools.partial(joint_limit, "position")),
    SensorType.TENDONLIMITPOS: (Stage.POS, functools.partial(tendon_limit, "position")),
    SensorType.FRAMEPOS: (Stage.POS, _frame_pos),
    SensorType.FRAMEQUAT: (Stage.POS, _frame_quat),
    SensorType.FRAMEXAXIS: (Stage.POS, _frame_axis(0)),
    SensorType.FRAMEYAXIS: (Stage.POS, _frame_axis(1)),
    SensorType.FRAMEZAXIS: (Stage.POS, _frame_axis(2)),
    SensorType.SUBTREECOM: (Stage.POS, lambda m, d, i: _flat(take(d.subtree_com, m.sensor_objid[i]))),
    SensorType.INSIDESITE: (Stage.POS, _inside_site),
    SensorType.E_POTENTIAL: (Stage.POS, lambda m, d, i: _repeated(energy_pos(m, d), len(i))),
    SensorType.E_KINETIC: (Stage.POS, lambda m, d, i: _repeated(energy_vel(m, d), len(i))),
    SensorType.CLOCK: (Stage.POS, lambda m, d, i: _repeated(d.time, len(i))),
    SensorType.VELOCIMETER: (Stage.VEL, _local_velocity(_LINEAR)),
    SensorType.GYRO: (Stage.VEL, _local_velocity(_ANGULAR)),
    SensorType.JOINTVEL: (Stage.VEL, lambda m, d, i: take(d.qvel, m.jnt_dofadr[m.sensor_objid[i]])),
    SensorType.TENDONVEL: (Stage.VEL, lambda m, d, i: take(d.ten_velocity, m.sensor_objid[i])),
    SensorType.ACTUATORVEL: (Stage.VEL, lambda m, d, i: _outputs(m, d.actuator_velocity, i)),
    SensorType.BALLANGVEL: (
        Stage.VEL,
        lambda m, d, i: _joint_rows(d.qvel, m.jnt_dofadr[m.sensor_objid[i]], 3),
    ),
    SensorType.JOINTLIMITVEL: (Stage.VEL, functools.partial(joint_limit, "velocity")),
    SensorType.TENDONLIMITVEL: (Stage.VEL, functools.partial(tendon_limit, "velocity")),
    SensorType.FRAMELINVEL: (Stage.VEL, _frame_velocity(_LINEAR)),
    SensorType.FRAMEANGVEL: (Stage.VEL, _frame_velocity(_ANGULAR)),
    SensorType.SUBTREELINVEL: (Stage.VEL, lambda m, d, i: _flat(take(d.subtree_linvel, m.sensor_objid[i]))),
    SensorType.SUBTREEANGMOM: (Stage.VEL, lambda m, d, i: _flat(take(d.subtree_angmom, m.sensor_objid[i]))),
    SensorType.TOUCH: (Stage.ACC, touch),
    SensorType.ACCELEROMETER: (Stage.ACC, _local_acceleration),
    SensorType.FORCE: (Stage.ACC, _interaction(_LINEAR)),
    SensorType.TORQUE: (Stage.ACC, _interaction(_ANGULAR)),
    SensorType.ACTUATORFRC: (Stage.ACC, lambda m, d, i: _outputs(m, d.actuator_force, i)),
    SensorType.JOINTACTFRC: (
        Stage.ACC,
        lambda m, d, i: take(d.qfrc_actuator, m.jnt_dofadr[m.sensor_objid[i]]),
    ),
    SensorType.TENDONACTFRC: (Stage.ACC, _tendon_actuator_force),
    SensorType.JOINTLIMITFRC: (Stage.ACC, functools.partial(joint_limit, "force")),
    SensorType.TENDONLIMITFRC: (Stage.ACC, functools.partial(tendon_limit, "force")),
    SensorType.FRAMELINACC: (Stage.ACC, _frame_acceleration(_LINEAR)),
    SensorType.FRAMEANGACC: (Stage.ACC, _frame_acceleration(_ANGULAR)),
}
"""(stage, function) of every type of sensor that jaxsim computes."""

_NEED_SUBTREES = (SensorType.SUBTREELINVEL, SensorType.SUBTREEANGMOM)
_NEED_ACCELERATIONS = (
    SensorType.ACCELEROMETER,
    SensorType.FORCE,
    SensorType.TORQUE,
    SensorType.FRAMELINACC,
    SensorType.FRAMEANGACC,
)


@functools.lru_cache(maxsize=64)
def _groups(static: Static, stage: Stage) -> tuple[tuple[tuple[int, np.ndarray], ...], np.ndarray]:
    """The sensors of a stage by type, and where each row of sensordata comes from: old rows, then new ones."""
    groups, where, offset = [], np.arange(static.nsensordata), static.nsensordata
    for kind in np.unique(static.sensor_type):
        if int(kind) not in SENSORS or SENSORS[int(kind)][0] != stage:
            continue
        ids = np.flatnonzero(static.sensor_type == kind)
        groups.append((int(kind), ids))
        for i in ids:
            first, count = int(static.sensor_adr[i]), int(static.sensor_dim[i])
            where[first : first + count] = offset + np.arange(count)
            offset += count
    return tuple(groups), where


def _run(model: Model, data: Data, stage: Stage) -> Data:
    groups, where = _groups(model.static, stage)
    if not groups or model.opt.disableflags & DisableBit.SENSOR:
        return data
    parts = [SENSORS[kind][1](model, data, ids) for kind, ids in groups]
    new = concat(parts)
    owner = np.concatenate([np.repeat(ids, model.sensor_dim[ids]) for _, ids in groups])
    cutoff = take(model.sensor_cutoff, owner)
    kind = model.sensor_datatype[owner]
    low = jnp.where(jnp.asarray(kind == DataType.REAL)[:, None] & (cutoff > 0), -cutoff, -jnp.inf)
    limited = jnp.asarray(np.isin(kind, (DataType.REAL, DataType.POSITIVE)))[:, None] & (cutoff > 0)
    high = jnp.where(limited, cutoff, jnp.inf)
    new = jnp.minimum(jnp.maximum(new, low), high)
    return data.replace(sensordata=take(concat([data.sensordata, new]), where))


def _any(model: Model, kinds: tuple[SensorType, ...]) -> bool:
    return bool(np.isin(model.sensor_type, kinds).any()) and not model.opt.disableflags & DisableBit.SENSOR


def sensor_pos(model: Model, data: Data) -> Data:
    """Outputs of the sensors that depend on position."""
    return _run(model, data, Stage.POS)


def sensor_vel(model: Model, data: Data) -> Data:
    """Outputs of the sensors that depend on velocity; computes subtree velocities if a sensor asks."""
    if _any(model, _NEED_SUBTREES):
        data = subtree_vel(model, data)
    return _run(model, data, Stage.VEL)


def sensor_acc(model: Model, data: Data) -> Data:
    """Outputs of the sensors that depend on acceleration and forces; computes body accelerations if one asks."""
    if _any(model, _NEED_ACCELERATIONS):
        data = rne_postconstraint(model, data, constraint_wrenches(model, data))
    return _run(model, data, Stage.ACC)
