"""Actuator forces: activation dynamics, gain, bias and clamps (computation chapter, actuation model)."""

from __future__ import annotations

import functools

import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxsim.data import Data
from jaxsim.enums import BiasType, DisableBit, DynType, GainType, JointType, TrnType
from jaxsim.math import safe
from jaxsim.math.axis import add_rows, concat, take
from jaxsim.model import Model
from jaxsim.pipeline.transmission import actuator_forces_to_dofs
from jaxsim.pytree import Static
from jaxsim.results import WarningBit

__all__ = ["actuator_disabled", "bad_values", "fwd_actuation", "next_activation", "wrap_activations"]

_LARGEST = 1e10
"""State values above this in magnitude count as diverged, as in the C engine."""

_MIN_TIME = 1e-15
"""Least time constant of an activation filter, s."""


def bad_values(x: Array) -> Array:
    """True (W,) for worlds in which any of x (..., W) is not finite or above 1e10."""
    bad = ~(jnp.abs(x) <= _LARGEST)
    return jnp.any(bad, axis=tuple(range(bad.ndim - 1)))


@functools.lru_cache(maxsize=64)
def _activation_owner(static: Static) -> np.ndarray:
    """The actuator of each activation (na)."""
    owner = np.zeros(static.na, int)
    for i in range(static.nactuator):
        first, count = static.actuator_actadr[i], static.actuator_actnum[i]
        if first >= 0:
            owner[first : first + count] = i
    return owner


def next_activation(model: Model, data: Data, act_dot: Array) -> Array:
    """Activations (na, W) after a step with the given derivatives: Euler, or exact for FILTEREXACT, then clamped."""
    owner = _activation_owner(model.static)
    h = model.opt.timestep
    exact = model.actuator_dyntype[owner] == DynType.FILTEREXACT
    step: Array = h * act_dot
    if exact.any():
        tau = jnp.maximum(take(model.actuator_dynprm[:, 0], owner), _MIN_TIME)
        step = jnp.where(jnp.asarray(exact[:, None]), -act_dot * tau * jnp.expm1(-h / tau), step)
    act = data.act + step
    limited = model.actuator_actlimited[owner].astype(bool)
    if limited.any():
        bounds = take(model.actuator_actrange, owner)
        act = jnp.where(jnp.asarray(limited[:, None]), jnp.clip(act, bounds[:, 0], bounds[:, 1]), act)
    return act


def wrap_activations(model: Model, data: Data, act: Array) -> Array:
    """Setpoints stored in activations (na, W), as the representatives nearest to the lengths of their actuators."""
    owner = _activation_owner(model.static)
    stored = model.actuator_dyntype[owner] == DynType.INTEGRATOR
    period = _wrap_period(model)
    if period is None or not stored.any():
        return act
    length = take(data.actuator_length, model.actuator_outadr[owner])
    return jnp.where(jnp.asarray(stored[:, None]), _nearest(act, length, take(period, owner)), act)


def _wrap_period(model: Model) -> Array | None:
    """Periods (nactuator, W) of servos on ball joints, whose setpoints are angles; 0: no servo. None: there is none."""
    on_joint = np.isin(model.actuator_trntype, (TrnType.JOINT, TrnType.JOINTINPARENT))
    joint = np.where(on_joint, model.actuator_trnid[:, 0], 0)
    candidate = (
        on_joint
        & (model.actuator_gaintype == GainType.FIXED)
        & (model.actuator_biastype == BiasType.AFFINE)
        & np.isin(model.actuator_dyntype, (DynType.NONE, DynType.INTEGRATOR))
    )
    candidate[on_joint] &= model.jnt_type[joint[on_joint]] == JointType.BALL
    if not candidate.any():
        return None
    gear = safe.norm(take(model.actuator_gear, model.actuator_outadr)[:, :3])
    servo = (model.actuator_gainprm[:, 0] == -model.actuator_biasprm[:, 1]) & jnp.asarray(candidate[:, None])
    return jnp.where(servo, 2 * np.pi * gear, 0)


def _nearest(setpoint: Array, length: Array, period: Array) -> Array:
    """The setpoint shifted by whole periods to lie nearest to the length; unchanged where the period is 0."""
    return setpoint - period * jnp.round(safe.divide(setpoint - length, period))


def _controls(model: Model, data: Data) -> tuple[Array, Array]:
    """Clamped controls (nu, W), zero in worlds where any is bad, and which worlds those are (W,)."""
    ctrl = data.ctrl
    limited = model.actuator_ctrllimited.astype(bool)
    if limited.any() and not model.opt.disableflags & DisableBit.CLAMPCTRL:
        lo, hi = model.actuator_ctrlrange[:, 0], model.actuator_ctrlrange[:, 1]
        ctrl = jnp.where(jnp.asarray(limited[:, None]), jnp.clip(ctrl, lo, hi), ctrl)
    bad = bad_values(ctrl)
    return jnp.where(bad, 0, ctrl), bad


def _act_dot(model: Model, data: Data, ctrl: Array) -> Array:
    """Derivatives (na, W) of activations; ctrl (nu, W)."""
    owner = _activation_owner(model.static)
    adr = model.actuator_ctrladr[owner]
    kind = model.actuator_dyntype[owner]
    several = kind == DynType.INTEGRATOR
    first = model.actuator_actadr[owner] + model.actuator_actnum[owner] - model.actuator_ctrlnum[owner]
    adr = np.where(several, adr + np.maximum(np.arange(model.na) - first, 0), adr)
    u = take(ctrl, adr)
    filtered = np.isin(kind, (DynType.FILTER, DynType.FILTEREXACT))
    if not filtered.any():
        return u
    tau = jnp.maximum(take(model.actuator_dynprm[:, 0], owner), _MIN_TIME)
    return jnp.where(jnp.asarray(filtered[:, None]), (u - data.act) / tau, u)


def _affine(kind: np.ndarray, affine: int, prm: Array, length: Array, velocity: Array) -> Array:
    """prm[0], plus prm[1] length + prm[2] velocity where `kind` is `affine`."""
    chosen = kind == affine
    if not chosen.any():
        return prm[:, 0]
    state = prm[:, 1] * length + prm[:, 2] * velocity
    return prm[:, 0] + (state if chosen.all() else jnp.where(jnp.asarray(chosen[:, None]), state, 0))


def fwd_actuation(model: Model, data: Data) -> Data:
    """Computes actuator_force, act_dot and qfrc_actuator; sets WarningBit.BAD_CTRL where controls are bad."""
    zero = jnp.zeros((model.nv, 1), data.qvel.dtype)
    if not model.nactuator or model.opt.disableflags & DisableBit.ACTUATION:
        return data.replace(
            qfrc_actuator=zero,
            actuator_force=jnp.zeros((model.nout, 1), data.qvel.dtype),
            act_dot=jnp.zeros((model.na, 1), data.qvel.dtype),
        )
    ctrl, bad = _controls(model, data)
    warning = data.warning | jnp.where(bad, int(WarningBit.BAD_CTRL), 0).astype(data.warning.dtype)
    act_dot = _act_dot(model, data, ctrl) if model.na else data.act_dot
    length = take(data.actuator_length, model.actuator_outadr)
    velocity = take(data.actuator_velocity, model.actuator_outadr)
    control = _inputs(model, data, ctrl, act_dot)
    period = _wrap_period(model)
    if period is not None:
        control = _nearest(control, length, period)
    gain = _affine(model.actuator_gaintype, GainType.AFFINE, model.actuator_gainprm, length, velocity)
    force = gain * control
    biased = model.actuator_biastype == BiasType.AFFINE
    if biased.any():
        bias = _affine(model.actuator_biastype, BiasType.AFFINE, model.actuator_biasprm, length, velocity)
        force = force + (bias if biased.all() else jnp.where(jnp.asarray(biased[:, None]), bias, 0))
    disabled = actuator_disabled(model)
    if disabled.any():
        force = jnp.where(jnp.asarray(disabled[:, None]), 0, force)
    force = add_rows(_clamp_forces(model, force), model.actuator_outadr, model.nout)
    qfrc = _clamp_joints(model, data, actuator_forces_to_dofs(model, data, force))
    return data.replace(actuator_force=force, act_dot=act_dot, qfrc_actuator=qfrc, warning=warning)


def actuator_disabled(model: Model) -> np.ndarray:
    """Actuators (nactuator) whose group is switched off by `option/actuatorgroupdisable`."""
    group = np.asarray(model.actuator_group)
    bits = (model.opt.disableactuator >> np.clip(group, 0, 30)) & 1
    return (group >= 0) & (group <= 30) & (bits > 0)


def _inputs(model: Model, data: Data, ctrl: Array, act_dot: Array) -> Array:
    """What each gain multiplies (nactuator, W): the control, or the last activation, now or after the step."""
    stateful = model.actuator_actnum > 0
    if not stateful.any():
        return take(ctrl, model.actuator_ctrladr)
    early = stateful & model.actuator_actearly.astype(bool)
    last = model.actuator_actadr + model.actuator_actnum - 1
    parts = [ctrl, data.act]
    index = np.where(stateful, model.nu + last, model.actuator_ctrladr)
    if early.any():
        parts.append(next_activation(model, data, act_dot))
        index = np.where(early, model.nu + model.na + last, index)
    return take(concat(parts), index)


def _clamp_forces(model: Model, force: Array) -> Array:
    """Limits forces (nactuator, W): first those that share a tendon with a limit, then each by its own range."""
    on_tendon = model.actuator_trntype == TrnType.TENDON
    target = np.where(on_tendon, model.actuator_trnid[:, 0], 0)
    shared = np.zeros(model.nactuator, bool)
    if on_tendon.any():
        shared = on_tendon & model.tendon_actfrclimited[target].astype(bool)
    if shared.any():
        ids = np.flatnonzero(shared)
        total = add_rows(take(force, ids), target[ids], model.ntendon)
        lo, hi = model.tendon_actfrcrange[:, 0], model.tendon_actfrcrange[:, 1]
        scale = jnp.where((total < lo) | (total > hi), safe.divide(jnp.clip(total, lo, hi), total), 1)
        scale = take(scale, target)
        force = jnp.where(jnp.asarray(shared[:, None]), force * scale, force)
    limited = model.actuator_forcelimited.astype(bool)
    if limited.any():
        clipped = jnp.clip(force, model.actuator_forcerange[:, 0], model.actuator_forcerange[:, 1])
        force = clipped if limited.all() else jnp.where(jnp.asarray(limited[:, None]), clipped, force)
    return force


def _clamp_joints(model: Model, data: Data, qfrc: Array) -> Array:
    """Adds gravity compensation that counts as actuation, then limits the force on each limited joint."""
    lifted = model.jnt_actgravcomp.astype(bool)[model.dof_jntid]
    if lifted.any() and not model.opt.disableflags & DisableBit.GRAVITY:
        qfrc = qfrc + jnp.where(jnp.asarray(lifted[:, None]), data.qfrc_gravcomp, 0)
    first = np.zeros(model.nv, bool)
    first[model.jnt_dofadr[model.jnt_actfrclimited.astype(bool)]] = True
    if first.any():
        bounds = take(model.jnt_actfrcrange, model.dof_jntid)
        qfrc = jnp.where(jnp.asarray(first[:, None]), jnp.clip(qfrc, bounds[:, 0], bounds[:, 1]), qfrc)
    return qfrc
