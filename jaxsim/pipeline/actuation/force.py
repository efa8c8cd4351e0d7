"""Actuator forces: gains and biases, then limits (computation chapter, "Force generation")."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxsim.data import Data
from jaxsim.enums import BiasType, DisableBit, GainType
from jaxsim.math import safe
from jaxsim.math.axis import replace_rows, take
from jaxsim.math.gather import width_of
from jaxsim.model import Model
from jaxsim.pipeline.actuation.activation import activation_rate, after_step, stateful_types
from jaxsim.pipeline.actuation.bias import BIASES
from jaxsim.pipeline.actuation.clamp import actuator_disabled, limit_forces, limit_joints
from jaxsim.pipeline.actuation.controls import received_controls
from jaxsim.pipeline.actuation.dynamics import DYNAMICS
from jaxsim.pipeline.actuation.gain import GAINS
from jaxsim.pipeline.actuation.group import Group, Signals, by_type, group_of, join, owners
from jaxsim.pipeline.transmission import actuator_forces_to_dofs
from jaxsim.results import WarningBit

__all__ = ["actuator_force", "force_slope", "fwd_actuation"]


def fwd_actuation(model: Model, data: Data) -> Data:
    """Computes actuator_force, act_dot and qfrc_actuator; sets WarningBit.BAD_CTRL where controls are bad."""
    dtype = data.qvel.dtype
    if not model.nactuator or model.opt.disableflags & DisableBit.ACTUATION:
        return data.replace(
            qfrc_actuator=jnp.zeros((model.nv, 1), dtype),
            actuator_force=jnp.zeros((model.nout, 1), dtype),
            act_dot=jnp.zeros((model.na, 1), dtype),
        )
    signals, bad = _signals(model, data)
    warning = data.warning | jnp.where(bad, int(WarningBit.BAD_CTRL), 0).astype(data.warning.dtype)
    force = actuator_force(model, data, signals, data.actuator_length, data.actuator_velocity)
    force = limit_forces(model, _switched_on(model, force))
    force = force + _switched_on(model, _unlimited(model, data, signals))
    qfrc = limit_joints(model, data, actuator_forces_to_dofs(model, data, force))
    return data.replace(actuator_force=force, act_dot=signals.act_dot, qfrc_actuator=qfrc, warning=warning)


def actuator_force(model: Model, data: Data, signals: Signals, length: Array, velocity: Array) -> Array:
    """Forces (nout, W) before any limit: elementwise functions of velocity, and of length but for orientation servos.

    Args:
      model: the model.
      data: after velocities.
      signals: what drives the actuators.
      length: of each output (nout, W), m or rad.
      velocity: of each output (nout, W), m/s or rad/s.
    """

    def group(ids: np.ndarray) -> Group:
        return group_of(model, data, signals, ids, length, velocity)

    active = [(g.outs, GAINS[GainType(k)].force(g)) for k, g in _groups(model.actuator_gaintype, group)]
    force = join(active, model.nout, length.dtype)
    biases = [(g.outs, BIASES[BiasType(k)].force, g) for k, g in _groups(model.actuator_biastype, group)]
    passive = [(outs, bias(g)) for outs, bias, g in biases if bias is not None]
    return force + join(passive, model.nout, length.dtype) if passive else force


def force_slope(model: Model, data: Data) -> Array:
    """Derivatives (nout, W) of forces with respect to velocities, as implicit integrators take them.

    As in the C engine an output that stands at its limit has none, and limits of tendons and of the rates of
    activations do not count.

    Args:
      model: the model.
      data: after `fwd_actuation`.
    """
    if not model.nactuator or model.opt.disableflags & DisableBit.ACTUATION:
        return jnp.zeros((model.nout, 1), data.qvel.dtype)
    signals, _ = _signals(model, data)
    length, velocity = data.actuator_length, data.actuator_velocity
    width = width_of((model, data))
    velocity = jnp.broadcast_to(velocity, (model.nout, width))

    def force(v: Array) -> Array:
        return actuator_force(model, data, signals, length, v)

    _, slope = jax.jvp(force, (velocity,), (jnp.ones_like(velocity),))
    for kind, ids in by_type(model.actuator_gaintype):
        rule = GAINS[GainType(kind)].slope
        if rule is not None:
            group = group_of(model, data, signals, ids, length, velocity)
            slope = replace_rows(slope, group.outs, rule(group))
    return jnp.where(_at_limit(model, data.actuator_force), 0, _switched_on(model, slope))


def _groups(types: np.ndarray, group) -> list[tuple[int, Group]]:
    return [(kind, group(ids)) for kind, ids in by_type(types)]


def _signals(model: Model, data: Data) -> tuple[Signals, Array]:
    """What drives the actuators, and in which worlds (W,) controls are bad."""
    ctrl, bad = received_controls(model, data)
    if not model.na:
        return Signals(ctrl, data.act_dot, data.act), bad
    for kind, ids in stateful_types(model):
        slew = DYNAMICS[kind].slew
        if slew is not None:
            ids = ids[model.actuator_ctrlnum[ids] > 0]
            rows = model.actuator_ctrladr[ids]
            ctrl = replace_rows(ctrl, rows, slew(model, data, ids, take(ctrl, rows)))
    act_dot = activation_rate(model, data, ctrl)
    early = model.actuator_actearly.astype(bool)[owners(model.static)]
    act = data.act
    if early.any():
        after = after_step(model, data, act_dot)
        act = after if early.all() else jnp.where(jnp.asarray(early[:, None]), after, act)
    return Signals(ctrl, act_dot, act), bad


def _switched_on(model: Model, force: Array) -> Array:
    """Zero where the group of an actuator is switched off."""
    off = np.repeat(actuator_disabled(model), model.actuator_outnum)
    return jnp.where(jnp.asarray(off[:, None]), 0, force) if off.any() else force


def _unlimited(model: Model, data: Data, signals: Signals) -> Array:
    parts = []
    for kind, ids in by_type(model.actuator_biastype):
        rule = BIASES[BiasType(kind)].unlimited
        if rule is not None:
            group = group_of(model, data, signals, ids, data.actuator_length, data.actuator_velocity)
            parts.append((group.outs, rule(group)))
    return join(parts, model.nout, data.qvel.dtype)


def _at_limit(model: Model, force: Array) -> Array:
    """Which outputs (nout, W) stand at a limit of their force."""
    owner = np.repeat(np.arange(model.nactuator), model.actuator_outnum)
    bounds = take(model.actuator_forcerange, owner)
    at = (force <= bounds[:, 0]) | (force >= bounds[:, 1])
    turning = (model.actuator_gaintype == GainType.SO3)[owner]
    if turning.any():
        ids = np.flatnonzero(turning)
        size = jnp.repeat(safe.norm(take(force, ids).reshape(-1, 3, force.shape[-1])), 3, axis=0)
        at = replace_rows(at, ids, size >= take(bounds[:, 1], ids))
    return at & jnp.asarray(model.actuator_forcelimited.astype(bool)[owner][:, None])
