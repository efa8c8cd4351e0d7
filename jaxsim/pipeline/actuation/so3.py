"""The orientation servo: a torque along the shortest rotation to the target (MJCF, `actuator/orientation`)."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxsim.enums import CtrlInput
from jaxsim.math import quaternion as quat
from jaxsim.math import safe
from jaxsim.math.axis import stitch, take_blocks
from jaxsim.model import Model
from jaxsim.pipeline.actuation.group import Group

__all__ = ["so3_anchor", "so3_bias", "so3_force"]


def so3_force(group: Group) -> Array:
    """The term (3 n, W) of the error: kp times the rotation vector from the current orientation to the target."""
    target = _targets(group)
    current = quat.exponential(group.length.reshape(len(group.ids), 3, -1))
    error = quat.subtract(target, current)
    force = group.prm("gain", 0)[:, None] * error
    return force.reshape(-1, force.shape[-1])


def so3_bias(group: Group) -> Array:
    """The constant and the damping (3 n, W)."""
    constant, damping = (jnp.repeat(group.prm("bias", k), 3, axis=0) for k in (0, 2))
    return constant + damping * group.velocity


def _targets(group: Group) -> Array:
    """Target orientations (n, 4, W): of quaternions, or of rotation vectors that are controls or activations."""
    model, ids = group.model, group.ids
    as_quat = model.actuator_ctrlspec[ids] == CtrlInput.QUAT
    parts, order = [], []
    given = ids[as_quat]
    if len(given):
        parts.append(quat.normalize(take_blocks(group.signals.ctrl, model.actuator_ctrladr[given], 4)))
        order.append(np.flatnonzero(as_quat))
    stored = ~as_quat & (model.actuator_actnum[ids] > 0)
    for chosen, source, first in (
        (stored, group.signals.act, model.actuator_actadr),
        (~as_quat & ~stored, group.signals.ctrl, model.actuator_ctrladr),
    ):
        some = ids[chosen]
        if len(some):
            parts.append(quat.exponential(take_blocks(source, first[some], 3)))
            order.append(np.flatnonzero(chosen))
    return stitch(parts, order)


def so3_anchor(model: Model, ids: np.ndarray, act: Array) -> Array:
    """Stored rotation vectors (3 n, W) beyond half a turn, as the shorter ones that mean the same."""
    v = act.reshape(len(ids), 3, -1)
    angle = safe.norm(v)
    turn = 2 * np.pi
    short = safe.divide(angle - turn * jnp.floor(angle / turn + 0.5), angle)
    scale = jnp.where(angle > np.pi, short, 1)
    return (v * scale[:, None]).reshape(-1, act.shape[-1])
