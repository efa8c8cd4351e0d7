"""Limits of controls, activations and forces (computation chapter, "Actuation model"; MJCF reference, `actuator`)."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxsim.data import Data
from jaxsim.enums import DisableBit, GainType, TrnType
from jaxsim.math import safe
from jaxsim.math.axis import add_rows, take
from jaxsim.model import Model
from jaxsim.pipeline.actuation.group import outputs_of

__all__ = ["actuator_disabled", "clamped", "limit_forces", "limit_joints"]


def clamped(x: Array, limited: np.ndarray, low: Array, high: Array) -> Array:
    """X (n, W) within limits in the rows where `limited` (n)."""
    if not limited.any():
        return x
    inside = safe.clamp(x, low, high)
    return inside if limited.all() else jnp.where(jnp.asarray(limited[:, None]), inside, x)


def actuator_disabled(model: Model) -> np.ndarray:
    """Actuators (nactuator) whose group is switched off by `option/actuatorgroupdisable`."""
    group = np.asarray(model.actuator_group)
    bits = (model.opt.disableactuator >> np.clip(group, 0, 30)) & 1
    return (group >= 0) & (group <= 30) & (bits > 0)


def limit_forces(model: Model, force: Array) -> Array:
    """Limits forces (nout, W): first those that share a tendon with a limit, then each by its own range."""
    force = _limit_tendons(model, force)
    limited = model.actuator_forcelimited.astype(bool)
    if not limited.any():
        return force
    owner = np.repeat(np.arange(model.nactuator), model.actuator_outnum)
    turning = model.actuator_gaintype == GainType.SO3
    bounds = take(model.actuator_forcerange, owner)
    force = clamped(force, (limited & ~turning)[owner], bounds[:, 0], bounds[:, 1])
    ids = np.flatnonzero(limited & turning)
    if len(ids):
        rows = outputs_of(model.static, ids)
        size = safe.norm(take(force, rows).reshape(len(ids), 3, -1))
        most = take(model.actuator_forcerange[:, 1], ids)
        ratio = jnp.where(size > most, safe.divide(most, size), 1) - 1
        force = force * (1 + add_rows(take(ratio, np.repeat(np.arange(len(ids)), 3)), rows, model.nout))
    return force


def _limit_tendons(model: Model, force: Array) -> Array:
    """Scales the forces (nout, W) of actuators on one tendon so that their sum is within the tendon's range."""
    ids = np.flatnonzero(model.actuator_trntype == TrnType.TENDON)
    target = model.actuator_trnid[ids, 0]
    shared = model.tendon_actfrclimited[target].astype(bool)
    if not shared.any():
        return force
    ids, target = ids[shared], target[shared]
    outs = model.actuator_outadr[ids]
    total = add_rows(take(force, outs), target, model.ntendon)
    low, high = model.tendon_actfrcrange[:, 0], model.tendon_actfrcrange[:, 1]
    excess = jnp.where(
        (total < low) | (total > high), safe.divide(safe.clamp(total, low, high), total) - 1, 0
    )
    return force * (1 + add_rows(take(excess, target), outs, model.nout))


def limit_joints(model: Model, data: Data, qfrc: Array) -> Array:
    """Adds gravity compensation that counts as actuation, then limits the force (nv, W) on each limited joint."""
    lifted = model.jnt_actgravcomp.astype(bool)[model.dof_jntid]
    if lifted.any() and not model.opt.disableflags & DisableBit.GRAVITY:
        qfrc = qfrc + jnp.where(jnp.asarray(lifted[:, None]), data.qfrc_gravcomp, 0)
    first = np.zeros(model.nv, bool)
    first[model.jnt_dofadr[model.jnt_actfrclimited.astype(bool)]] = True
    if not first.any():
        return qfrc
    bounds = take(model.jnt_actfrcrange, model.dof_jntid)
    return clamped(qfrc, first, bounds[:, 0], bounds[:, 1])
