"""Setpoints that are angles: the representative nearest to the length counts, as lengths lie within half a turn."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxsim.enums import BiasType, DynType, GainType, JointType, TrnType
from jaxsim.math import safe
from jaxsim.math.axis import take
from jaxsim.model import Model

__all__ = ["nearest", "wrap_period"]


def nearest(setpoint: Array, length: Array, period: Array) -> Array:
    """The setpoint shifted by whole periods to lie nearest to the length; unchanged where the period is 0."""
    return setpoint - period * jnp.floor(safe.divide(setpoint - length, period) + 0.5)


def wrap_period(model: Model, ids: np.ndarray) -> Array | None:
    """Periods (n, W) of position servos on rotations; 0: the setpoint is no angle. None: so for all.

    Rotations are ball joints, and sites with a reference site and a gear without translation.
    """
    kind, target = model.actuator_trntype[ids], model.actuator_trnid[ids]
    on_joint = np.isin(kind, (TrnType.JOINT, TrnType.JOINTINPARENT))
    ball = on_joint.copy()
    ball[on_joint] = model.jnt_type[target[on_joint, 0]] == JointType.BALL
    site = (kind == TrnType.SITE) & (target[:, 1] >= 0)
    pid = model.actuator_gaintype[ids] == GainType.PID
    servo = (
        (model.actuator_gaintype[ids] == GainType.FIXED)
        & (model.actuator_biastype[ids] == BiasType.AFFINE)
        & np.isin(model.actuator_dyntype[ids], (DynType.NONE, DynType.INTEGRATOR))
    )
    candidate = (ball | site) & (pid | servo)
    if not candidate.any():
        return None
    gear = take(model.actuator_gear, model.actuator_outadr[ids])
    linear, angular = gear[:, :3], gear[:, 3:]
    on_site = jnp.asarray(site[:, None])
    pure = ~on_site | jnp.all(linear == 0, axis=1)
    gains = take(model.actuator_gainprm[:, 0], ids) == -take(model.actuator_biasprm[:, 1], ids)
    chosen = jnp.asarray(candidate[:, None]) & pure & (gains | jnp.asarray(pid[:, None]))
    turn = safe.norm(jnp.where(on_site[:, None], angular, linear))
    return jnp.where(chosen, 2 * np.pi * turn, 0)
