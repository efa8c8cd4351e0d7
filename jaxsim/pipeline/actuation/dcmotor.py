"""The DC motor: voltage, current, temperature, and the friction of its bearing (MJCF reference, `actuator/dcmotor`).

Parameters, by place:
  gainprm: resistance R (ohm), motor constant K (N m/A), temperature coefficient (1/K), reference temperature; then
    the controller: kp, ki, kd, greatest voltage.
  dynprm: electrical time constant (s), greatest rate of current (A/s), thermal resistance (K/W) and capacitance
    (J/K), ambient temperature; bristle stiffness and damping; greatest rate of the setpoint, greatest integral.
  biasprm: cogging amplitude (N m), periodicity, phase (rad); Coulomb and static friction (N m), Stribeck velocity.

Friction is the LuGre model (Canudas de Wit et al. 1995, doi:10.1109/9.376053): bristles deflect by z, in m or rad.
"""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxsim.data import Data
from jaxsim.enums import CtrlInput
from jaxsim.math import safe
from jaxsim.math.axis import take
from jaxsim.math.constants import MINVAL
from jaxsim.model import Model
from jaxsim.pipeline.actuation.group import Group
from jaxsim.pipeline.actuation.pid import stop_winding
from jaxsim.pipeline.actuation.slots import read_slots, write_slots

__all__ = [
    "dcmotor_advance",
    "dcmotor_bias",
    "dcmotor_force",
    "dcmotor_friction",
    "dcmotor_rate",
    "dcmotor_slew",
    "dcmotor_slope",
]

_CONTROLLER = CtrlInput.POS | CtrlInput.VEL | CtrlInput.FF


def _present(model: Model, ids: np.ndarray) -> dict[str, Array]:
    """Which motors have each state, in the order of the states."""
    dyn, gain = take(model.actuator_dynprm, ids), take(model.actuator_gainprm, ids)
    return {
        "slew": dyn[:, 7] > 0,
        "integral": gain[:, 5] > 0,
        "temperature": dyn[:, 2] > 0,
        "bristle": dyn[:, 5] > 0,
        "current": dyn[:, 0] > 0,
    }


def _states(group: Group) -> dict[str, Array]:
    return read_slots(group.model, group.ids, group.data.act, _present(group.model, group.ids))


def dcmotor_slew(model: Model, data: Data, ids: np.ndarray, setpoint: Array) -> Array:
    """First controls (n, W) at most the greatest rate times the timestep from those of the step before."""
    present = _present(model, ids)
    before = read_slots(model, ids, data.act, present)["slew"]
    reach = take(model.actuator_dynprm[:, 7], ids) * model.opt.timestep
    return jnp.where(present["slew"], safe.clamp(setpoint, before - reach, before + reach), setpoint)


def _resistance(group: Group, states: dict[str, Array]) -> Array:
    """Resistance (n, W), ohm, at the temperature of the winding, a rise above ambient."""
    resistance = group.prm("gain", 0)
    ambient, reference = group.prm("dyn", 4), group.prm("gain", 3)
    warmth = group.prm("gain", 2) * (states["temperature"] + ambient - reference)
    return jnp.where(_present(group.model, group.ids)["temperature"], resistance * (1 + warmth), resistance)


def _voltage(group: Group, states: dict[str, Array]) -> Array:
    """Voltage (n, W) at the terminals: of the controller, if there is one, plus what is applied as such."""
    raw = group.controls(CtrlInput.VOLTAGE)
    driven = (group.model.actuator_ctrlspec[group.ids] & _CONTROLLER) > 0
    if not driven.any():
        return raw
    resistance, constant = group.prm("gain", 0), group.prm("gain", 1)
    kp, ki, kd, most = (group.prm("gain", k) for k in (4, 5, 6, 7))
    torque = kp * (group.controls(CtrlInput.POS) - group.length)
    torque = torque + kd * (group.controls(CtrlInput.VEL) - group.velocity)
    torque = torque + ki * states["integral"] + group.controls(CtrlInput.FF)
    needed = safe.divide(resistance, constant) * torque + constant * group.velocity
    supplied = jnp.where(most > 0, safe.clamp(needed, -most, most), needed)
    return raw + jnp.where(jnp.asarray(driven[:, None]), supplied, 0)


def _bristle_decay(group: Group) -> Array:
    """Rate (n, W), 1/s and not positive, at which bristles let go: -stiffness |v| / g(v), g the Stribeck curve."""
    coulomb, static, scale = (group.prm("bias", k) for k in (3, 4, 5))
    ratio = group.velocity / jnp.maximum(scale, MINVAL)
    grip = coulomb + (static - coulomb) * jnp.exp(-ratio * ratio)
    return -group.prm("dyn", 5) * jnp.abs(group.velocity) / jnp.maximum(grip, MINVAL)


def dcmotor_rate(group: Group) -> Array:
    """Derivatives of the states of the motors."""
    present, states = _present(group.model, group.ids), _states(group)
    constant, time, velocity = group.prm("gain", 1), group.prm("dyn", 0), group.velocity
    resistance = _resistance(group, states)
    voltage = _voltage(group, states)
    flowing = (voltage - constant * velocity) / jnp.maximum(resistance, MINVAL)
    current = jnp.where(present["current"], states["current"], flowing)
    thermal, capacity = group.prm("dyn", 2), group.prm("dyn", 3)
    heating = resistance * current * current - safe.divide(states["temperature"], thermal)
    most = group.prm("dyn", 1)
    change = safe.divide(flowing - states["current"], time)
    rates = {
        "slew": (group.control() - states["slew"]) / group.model.opt.timestep,
        "integral": stop_winding(group.control() - group.length, states["integral"], group.prm("dyn", 8)),
        "temperature": safe.divide(heating, capacity),
        "bristle": _bristle_decay(group) * states["bristle"] + velocity,
        "current": jnp.where(most > 0, safe.clamp(change, -most, most), change),
    }
    return write_slots(group.model, group.ids, rates, present)


def dcmotor_advance(group: Group) -> Array:
    """States after a step, in order: exact for current and bristles if nothing else changes, else Euler."""
    model, ids, h = group.model, group.ids, group.model.opt.timestep
    present, states = _present(model, ids), _states(group)
    rates = read_slots(model, ids, group.signals.act_dot, present)
    after = {name: states[name] + h * rates[name] for name in present}
    most = group.prm("dyn", 8)
    after["integral"] = jnp.where(most > 0, safe.clamp(after["integral"], -most, most), after["integral"])
    time = jnp.maximum(group.prm("dyn", 0), MINVAL)
    after["current"] = states["current"] - rates["current"] * time * jnp.expm1(-h / time)
    decay = _bristle_decay(group)
    grows = jnp.where(jnp.abs(decay) > MINVAL, safe.divide(jnp.expm1(decay * h), decay), h)
    after["bristle"] = jnp.exp(decay * h) * states["bristle"] + grows * group.velocity
    return write_slots(model, ids, after, present)


def dcmotor_force(group: Group) -> Array:
    """Torque (n, W) of the current: of now, after the step with `actearly`, or as it follows the voltage at once."""
    states = _states(group)
    constant = group.prm("gain", 1)
    at_once = constant / jnp.maximum(_resistance(group, states), MINVAL) * _voltage(group, states)
    has_current = _present(group.model, group.ids)["current"]
    return jnp.where(has_current, constant * group.last_activation(), at_once)


def dcmotor_bias(group: Group) -> Array:
    """Back-EMF (n, W) of motors whose current follows the voltage at once; the others have it in their current."""
    constant = group.prm("gain", 1)
    resistance = jnp.maximum(_resistance(group, _states(group)), MINVAL)
    back = -constant * constant / resistance * group.velocity
    return jnp.where(_present(group.model, group.ids)["current"], 0, back)


def dcmotor_friction(group: Group) -> Array:
    """Cogging and bearing friction (n, W), which no limit of current bounds."""
    cogging = group.prm("bias", 0) * jnp.sin(group.prm("bias", 1) * group.length + group.prm("bias", 2))
    present = _present(group.model, group.ids)
    z = read_slots(group.model, group.ids, group.data.act, present)["bristle"]
    zdot = read_slots(group.model, group.ids, group.signals.act_dot, present)["bristle"]
    bristles = group.prm("dyn", 5) * z + group.prm("dyn", 6) * zdot
    return cogging - jnp.where(present["bristle"], bristles, 0)


def dcmotor_slope(group: Group) -> Array:
    """Derivative (n, W) of the torque with respect to velocity as the C engine's implicit integrators take it.

    They leave out the limits of voltage and of the rate of current, and how grip depends on velocity.
    """
    cold, constant = group.prm("gain", 0), group.prm("gain", 1)
    warm = jnp.maximum(_resistance(group, _states(group)), MINVAL)
    driven = (group.model.actuator_ctrlspec[group.ids] & _CONTROLLER) > 0
    controller = constant - safe.divide(group.prm("gain", 6) * cold, constant)
    by_voltage = constant / warm * (jnp.where(jnp.asarray(driven[:, None]), controller, 0) - constant)
    time = group.prm("dyn", 0)
    lag = -jnp.expm1(-group.model.opt.timestep / jnp.maximum(time, MINVAL))
    friction = jnp.maximum(group.prm("dyn", 6), 0)
    return jnp.where(time > 0, by_voltage * lag, by_voltage) - friction
