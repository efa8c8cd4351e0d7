"""Damping and armature that actuators add to what they drive (MJCF reference, `actuator/general`)."""

from __future__ import annotations

import functools

import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxsim.enums import TrnType
from jaxsim.math.axis import add_rows, take
from jaxsim.model import Model
from jaxsim.pytree import Static
from jaxsim.structure.trees import joint_dofs

__all__ = ["added_by_actuators"]


@functools.lru_cache(maxsize=64)
def _receivers(static: Static, to_tendons: bool) -> tuple[np.ndarray, np.ndarray]:
    """(actuator, dof or tendon) pairs: which actuator adds its damping and armature to what."""
    pairs = []
    for i in range(static.nactuator):
        kind, target = static.actuator_trntype[i], int(static.actuator_trnid[i, 0])
        if to_tendons and kind == TrnType.TENDON:
            chosen, receivers = static.tendon_actuatorid[target], [target]
        elif not to_tendons and kind in (TrnType.JOINT, TrnType.JOINTINPARENT):
            chosen, receivers = static.jnt_actuatorid[target], joint_dofs(static, target)
        else:
            continue
        if chosen == i or chosen < -1:
            pairs += [(i, r) for r in receivers]
    table = np.array(pairs, int).reshape(-1, 2)
    return table[:, 0], table[:, 1]


def added_by_actuators(model: Model, values: Array, to_tendons: bool = False) -> Array:
    """What actuators add to their dofs or tendons: `values` (nactuator, ..., W) times gear squared, summed."""
    actuators, receivers = _receivers(model.static, to_tendons)
    n = model.ntendon if to_tendons else model.nv
    if not len(actuators):
        return jnp.zeros((n, *values.shape[1:-1], 1), values.dtype)
    gear = take(model.actuator_gear[:, 0], model.actuator_outadr[actuators])
    gear = gear.reshape(len(actuators), *(1,) * (values.ndim - 2), -1)
    return add_rows(take(values, actuators) * gear * gear, receivers, n)
