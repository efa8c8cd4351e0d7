"""The PID servo: force kp (q - l) + kv (v - ldot) + ff + ki z, with limits of slew and of the integral z.

kp and kv are those of the affine bias, which adds the terms of length and velocity (MJCF reference, `actuator/pid`).
"""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxsim.data import Data
from jaxsim.enums import CtrlInput
from jaxsim.math import safe
from jaxsim.math.axis import take
from jaxsim.model import Model
from jaxsim.pipeline.actuation.group import Group
from jaxsim.pipeline.actuation.setpoint import nearest, wrap_period
from jaxsim.pipeline.actuation.slots import read_slots, write_slots

__all__ = ["pid_force", "pid_rate", "pid_slew", "stop_winding"]


def _present(model: Model, ids: np.ndarray) -> dict[str, Array]:
    return {
        "slew": take(model.actuator_dynprm[:, 1], ids) > 0,
        "integral": take(model.actuator_gainprm[:, 0], ids) > 0,
    }


def pid_slew(model: Model, data: Data, ids: np.ndarray, setpoint: Array) -> Array:
    """Setpoints (n, W) at most `slewmax` times the timestep from those of the step before; angles go the short way."""
    present = _present(model, ids)
    before = read_slots(model, ids, data.act, present)["slew"]
    period = wrap_period(model, ids)
    near = setpoint if period is None else nearest(setpoint, before, period)
    reach = take(model.actuator_dynprm[:, 1], ids) * model.opt.timestep
    return jnp.where(present["slew"], safe.clamp(near, before - reach, before + reach), setpoint)


def stop_winding(rate: Array, integral: Array, most: Array) -> Array:
    """The rate of an integral, without what would take it further beyond `most`; 0: no limit."""
    stopped = jnp.where(
        integral >= most,
        safe.clamp(rate, high=0),
        jnp.where(integral <= -most, safe.clamp(rate, low=0), rate),
    )
    return jnp.where(most > 0, stopped, rate)


def pid_rate(group: Group) -> Array:
    """Derivatives of the activations: the setpoint that is followed, the integral of the error."""
    model, ids = group.model, group.ids
    present = _present(model, ids)
    state = read_slots(model, ids, group.data.act, present)
    setpoint = group.control()
    error = setpoint - group.length
    period = wrap_period(model, ids)
    if period is not None:
        error = nearest(error, jnp.zeros_like(error), period)
    rates = {
        "slew": (setpoint - state["slew"]) / model.opt.timestep,
        "integral": stop_winding(error, state["integral"], group.prm("dyn", 0)),
    }
    return write_slots(model, ids, rates, present)


def pid_force(group: Group) -> Array:
    """The terms (n, W) of setpoints, feedforward and integral."""
    position = group.controls(CtrlInput.POS)
    period = wrap_period(group.model, group.ids)
    if period is not None:
        position = nearest(position, group.length, period)
    kp, kv = -group.prm("bias", 1), -group.prm("bias", 2)
    force = kp * position + kv * group.controls(CtrlInput.VEL) + group.controls(CtrlInput.FF)
    if not group.model.actuator_actnum[group.ids].any():
        return force
    ki = group.prm("gain", 0)
    return force + jnp.where(ki > 0, ki * group.last_activation(), 0)
