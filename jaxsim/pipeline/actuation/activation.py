"""Activations over a step: each dynamics' own rule, then limits; angles stay near the lengths that follow them."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxsim.data import Data
from jaxsim.enums import DynType, GainType
from jaxsim.math.axis import replace_rows, take
from jaxsim.model import Model
from jaxsim.pipeline.actuation.clamp import actuator_disabled, clamped
from jaxsim.pipeline.actuation.dynamics import DYNAMICS, euler
from jaxsim.pipeline.actuation.group import Signals, activations_of, by_type, group_of, join, owners
from jaxsim.pipeline.actuation.setpoint import nearest, wrap_period
from jaxsim.pipeline.actuation.so3 import so3_anchor

__all__ = ["activation_rate", "after_step", "next_activation", "rewrap_activations", "stateful_types"]


def stateful_types(model: Model) -> list[tuple[DynType, np.ndarray]]:
    """Pairs (type, ids) of the actuators that have activations."""
    ids = np.flatnonzero(model.actuator_actnum)
    return [(DynType(kind), ids[index]) for kind, index in by_type(model.actuator_dyntype[ids])]


def activation_rate(model: Model, data: Data, ctrl: Array) -> Array:
    """Derivatives of activations (na, W), 1/s, for controls (nu, W) after all their limits."""
    signals = Signals(ctrl, data.act_dot, data.act)
    parts = []
    for kind, ids in stateful_types(model):
        rate = DYNAMICS[kind].rate
        assert rate is not None, kind
        group = group_of(model, data, signals, ids, data.actuator_length, data.actuator_velocity)
        parts.append((activations_of(model.static, ids), rate(group)))
    return join(parts, model.na, data.act.dtype)


def next_activation(model: Model, data: Data, act_dot: Array) -> Array:
    """Activations (na, W) after a step with the given derivatives; constant where their group is switched off."""
    owner = owners(model.static)
    off = actuator_disabled(model)[owner]
    if off.any():
        act_dot = jnp.where(jnp.asarray(off[:, None]), 0, act_dot)
    return after_step(model, data, act_dot)


def after_step(model: Model, data: Data, act_dot: Array) -> Array:
    """The same, whether or not the actuators are switched off."""
    owner = owners(model.static)
    act = data.act + model.opt.timestep * act_dot
    signals = Signals(data.ctrl, act_dot, data.act)
    for kind, ids in stateful_types(model):
        if DYNAMICS[kind].advance is not euler:
            group = group_of(model, data, signals, ids, data.actuator_length, data.actuator_velocity)
            act = replace_rows(act, activations_of(model.static, ids), DYNAMICS[kind].advance(group))
    limited = np.array([DYNAMICS[DynType(k)].limited for k in model.actuator_dyntype[owner].tolist()], bool)
    bounds = take(model.actuator_actrange, owner)
    return clamped(act, limited & model.actuator_actlimited[owner].astype(bool), bounds[:, 0], bounds[:, 1])


def rewrap_activations(model: Model, data: Data, act: Array) -> Array:
    """Setpoints stored in activations (na, W), as the representatives nearest to the lengths of their actuators."""
    stored = model.actuator_dyntype == DynType.INTEGRATOR
    turning = stored & (model.actuator_gaintype == GainType.SO3)
    ids = np.flatnonzero(stored & ~turning & (model.actuator_actnum > 0))
    period = wrap_period(model, ids)
    if period is not None:
        rows = model.actuator_actadr[ids]
        length = take(data.actuator_length, model.actuator_outadr[ids])
        act = replace_rows(act, rows, nearest(take(act, rows), length, period))
    ids = np.flatnonzero(turning)
    if len(ids):
        rows = activations_of(model.static, ids)
        act = replace_rows(act, rows, so3_anchor(model, ids, take(act, rows)))
    return act
