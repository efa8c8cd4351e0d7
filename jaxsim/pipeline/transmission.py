"""Fixed tendons and actuator transmissions: lengths, velocities and moment arms."""

from __future__ import annotations

import functools
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from jaxsim.data import Data
from jaxsim.enums import DisableBit, JointType, TrnType
from jaxsim.math import quaternion as quat
from jaxsim.math.axis import add_rows, concat, take
from jaxsim.model import Model
from jaxsim.pytree import Static
from jaxsim.structure.trees import actuated_dofs, moment_entries, tendon_entries

__all__ = ["actuator_forces_to_dofs", "tendon", "transmission", "transmission_velocity"]


@functools.lru_cache(maxsize=64)
def _tendon_of_wrap(static: Static) -> np.ndarray:
    wraps, _ = tendon_entries(static)
    return (np.searchsorted(static.tendon_adr, wraps, side="right") - 1).astype(np.int32)


def tendon(model: Model, data: Data) -> Data:
    """Computes ten_length and `work.ten_J` (ntendon, nv, 1 or W): fixed tendons are linear in joint positions."""
    if not model.ntendon:
        return data
    wraps, dofs = tendon_entries(model.static)
    owner = _tendon_of_wrap(model.static)
    coefficients = take(model.wrap_prm, wraps)
    joints = model.wrap_objid[wraps]
    terms = coefficients * take(data.qpos, model.jnt_qposadr[joints])
    length = add_rows(terms, owner, model.ntendon)
    J = add_rows(coefficients, owner * model.nv + dofs, model.ntendon * model.nv)
    return data.replace(
        ten_length=length, work=data.work.replace(ten_J=J.reshape(model.ntendon, model.nv, J.shape[-1]))
    )


def transmission(model: Model, data: Data) -> Data:
    """Computes actuator_length and `work.actuator_moment`, the entries of `trees.moment_entries`."""
    if not model.nactuator:
        return data
    scalar, jointed, tendons = _groups(model.static)
    lengths: list[Array] = []
    moments: list[Array] = []
    if len(scalar):
        gear = take(model.actuator_gear[:, 0], model.actuator_outadr[scalar])
        joints = model.actuator_trnid[scalar, 0]
        lengths.append(gear * take(data.qpos, model.jnt_qposadr[joints]))
        moments.append(gear)
    for i in jointed:
        length, moment = _wrench_on_joint(model, data, int(i))
        lengths.append(length)
        moments.append(moment)
    for i in tendons:
        gear = take(model.actuator_gear[:, 0], model.actuator_outadr[i : i + 1])
        target = int(model.actuator_trnid[i, 0])
        lengths.append(gear * data.ten_length[target : target + 1])
        moments.append(
            gear * take(data.work.ten_J[target], np.array(actuated_dofs(model.static, int(i)), int))
        )
    order = np.concatenate([scalar, jointed, tendons]).astype(int)
    counts = [len(actuated_dofs(model.static, int(i))) for i in order]
    starts = np.cumsum([0, *counts]).tolist()
    where = np.argsort(order)
    entries = np.concatenate([np.arange(starts[k], starts[k + 1]) for k in where])
    length = take(concat(lengths), where)
    moment = take(concat(moments), entries)
    return data.replace(actuator_length=length, work=data.work.replace(actuator_moment=moment))


@functools.lru_cache(maxsize=64)
def _groups(static: Static) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Actuators on slides and hinges, on ball and free joints, and on tendons."""
    on_joint = np.isin(static.actuator_trntype, (TrnType.JOINT, TrnType.JOINTINPARENT))
    kind = np.full(static.nactuator, -1)
    kind[on_joint] = static.jnt_type[static.actuator_trnid[on_joint, 0]]
    ids = np.arange(static.nactuator)
    scalar = ids[kind >= JointType.SLIDE]
    jointed = ids[(kind >= 0) & (kind <= JointType.BALL)]
    return scalar, jointed, ids[static.actuator_trntype == TrnType.TENDON]


def _wrench_on_joint(model: Model, data: Data, actuator: int) -> tuple[Array, Array]:
    """Length (1, W) and moment (3 or 6, 1 or W) of an actuator on a ball or free joint.

    A free joint has no length. With JOINTINPARENT the rotational gear is given in the parent's frame.
    """
    joint = int(model.actuator_trnid[actuator, 0])
    gear = model.actuator_gear[int(model.actuator_outadr[actuator])]
    free = model.jnt_type[joint] == JointType.FREE
    adr = int(model.jnt_qposadr[joint]) + (3 if free else 0)
    orientation = quat.normalize(lax.slice_in_dim(data.qpos, adr, adr + 4))
    axis = gear[3:6] if free else gear[0:3]
    if model.actuator_trntype[actuator] == TrnType.JOINTINPARENT:
        axis = quat.rotate_inverse(orientation, axis)
    if free:
        return jnp.zeros((1, 1), gear.dtype), concat([gear[:3], axis])
    length = jnp.sum(quat.logarithm(orientation) * axis, axis=0, keepdims=True)
    return length, axis


def transmission_velocity(model: Model, data: Data) -> Data:
    """Computes ten_velocity and actuator_velocity; the latter is 0 with actuation disabled."""
    if model.ntendon:
        data = data.replace(ten_velocity=jnp.sum(data.work.ten_J * data.qvel, axis=1))
    if not model.nactuator:
        return data
    if model.opt.disableflags & DisableBit.ACTUATION:
        return data.replace(actuator_velocity=jnp.zeros((model.nout, 1), data.qvel.dtype))
    rows, cols = moment_entries(model.static)
    terms: Any = data.work.actuator_moment * take(data.qvel, cols)
    return data.replace(actuator_velocity=add_rows(terms, rows, model.nout))


def actuator_forces_to_dofs(model: Model, data: Data, force: Array) -> Array:
    """Generalized force (nv, W) of actuator forces (nout, W)."""
    rows, cols = moment_entries(model.static)
    return add_rows(data.work.actuator_moment * take(force, rows), cols, model.nv)
