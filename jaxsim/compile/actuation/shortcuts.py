"""What each actuator shortcut means as a general actuator (MJCF reference, actuator)."""

from __future__ import annotations

from collections.abc import Callable
from math import pi, sqrt
from typing import Any

import numpy as np

from jaxsim.compile.actuation.general import General
from jaxsim.enums import BiasType, DynType, GainType
from jaxsim.mjcf import Element

__all__ = ["apply_shortcut"]


def apply_shortcut(actuator: General, element: Element) -> None:
    """Sets the general parameters that a shortcut's own attributes stand for.

    Attributes that the element does not give keep what the default classes have put into the general parameters.

    Raises:
        MjcfError: a value is not allowed.
    """
    _SHORTCUTS[element.tag](actuator, element)


def _types(actuator: General, dyn: DynType, gain: GainType, bias: BiasType) -> None:
    actuator.dyntype, actuator.gaintype, actuator.biastype = dyn, gain, bias


def _not_negative(element: Element, *names: str) -> None:
    for name in names:
        if np.min(element.get(name, 0.0)) < 0:
            raise element.error("cannot be negative", attribute=name)


def _general(actuator: General, element: Element) -> None:
    del actuator, element


def _motor(actuator: General, element: Element) -> None:
    del element
    actuator.gainprm[0] = 1.0
    _types(actuator, DynType.NONE, GainType.FIXED, BiasType.NONE)


def _damping(actuator: General, element: Element) -> None:
    """Velocity gain of a servo: negative in biasprm[2]; a damping ratio is kept there as a positive number."""
    if "kv" in element and "dampratio" in element:
        raise element.error("give either kv or dampratio", attribute="dampratio")
    _not_negative(element, "kv", "dampratio")
    if "kv" in element:
        actuator.biasprm[2] = -element["kv"]
    if "dampratio" in element:
        actuator.biasprm[2] = element["dampratio"]


def _inherit(actuator: General, element: Element, what: str) -> None:
    if actuator.inheritrange > 0 and any(getattr(actuator, what)):
        raise element.error(f"give either {what} or inheritrange", attribute="inheritrange")


def _position(actuator: General, element: Element) -> None:
    kp = element.get("kp", actuator.gainprm[0])
    actuator.gainprm[0], actuator.biasprm[1] = kp, -kp
    _damping(actuator, element)
    if "timeconst" in element:
        _not_negative(element, "timeconst")
        actuator.dynprm[0] = element["timeconst"]
        actuator.dyntype = DynType.FILTEREXACT if element["timeconst"] else DynType.NONE
    _inherit(actuator, element, "ctrlrange")
    actuator.gaintype, actuator.biastype = GainType.FIXED, BiasType.AFFINE


def _intvelocity(actuator: General, element: Element) -> None:
    kp = element.get("kp", actuator.gainprm[0])
    actuator.gainprm[0], actuator.biasprm[1] = kp, -kp
    _damping(actuator, element)
    _inherit(actuator, element, "actrange")
    _types(actuator, DynType.INTEGRATOR, GainType.FIXED, BiasType.AFFINE)


def _orientation(actuator: General, element: Element) -> None:
    kp = element.get("kp", actuator.gainprm[0])
    actuator.gainprm[0], actuator.biasprm[1] = kp, -kp
    _damping(actuator, element)
    _types(actuator, DynType.NONE, GainType.SO3, BiasType.SO3)


def _pid(actuator: General, element: Element) -> None:
    """Proportional and velocity gain in biasprm, integral gain in gainprm[0], its limits in dynprm."""
    kept = actuator.dyntype == DynType.PID
    actuator.biasprm[1] = -element.get("kp", -actuator.biasprm[1])
    _damping(actuator, element)
    ki = element.get("ki", actuator.gainprm[0] * kept)
    imax = element.get("imax", actuator.dynprm[0] * kept)
    slewmax = element.get("slewmax", actuator.dynprm[1] * kept)
    _not_negative(element, "slewmax", "imax")
    actuator.gainprm[0], actuator.dynprm[1] = ki, slewmax
    if ki:
        actuator.dynprm[0] = imax
    if "posrange" in element:
        actuator.ctrlrange = element["posrange"].tolist()
    _inherit(actuator, element, "ctrlrange")
    _types(actuator, DynType.PID if ki or slewmax else DynType.NONE, GainType.PID, BiasType.AFFINE)


def _velocity(actuator: General, element: Element) -> None:
    kv = element.get("kv", actuator.gainprm[0])
    actuator.biasprm = [0.0] * 10
    actuator.gainprm[0], actuator.biasprm[2] = kv, -kv
    _types(actuator, DynType.NONE, GainType.FIXED, BiasType.AFFINE)


def _damper(actuator: General, element: Element) -> None:
    inherited = -actuator.gainprm[2] if actuator.gaintype == GainType.AFFINE else 0.0
    kv = element.get("kv", inherited)
    _not_negative(element, "kv", "ctrlrange")
    actuator.gainprm = [0.0] * 10
    actuator.gainprm[2] = -kv
    actuator.ctrllimited = "true"
    _types(actuator, DynType.NONE, GainType.AFFINE, BiasType.NONE)


def _cylinder(actuator: General, element: Element) -> None:
    actuator.dynprm[0] = element.get("timeconst", actuator.dynprm[0])
    actuator.gainprm[0] = element.get("area", actuator.gainprm[0])
    if element.get("diameter", -1.0) >= 0:
        actuator.gainprm[0] = pi / 4 * element["diameter"] ** 2
    if "bias" in element:
        actuator.biasprm[:3] = element["bias"].tolist()
    _types(actuator, DynType.FILTER, GainType.FIXED, BiasType.AFFINE)


def _adhesion(actuator: General, element: Element) -> None:
    _not_negative(element, "gain", "ctrlrange")
    actuator.gainprm[0] = element.get("gain", actuator.gainprm[0])
    actuator.ctrllimited = "true"
    actuator.gaintype, actuator.biastype = GainType.FIXED, BiasType.NONE


_MUSCLE_DYN = ((0, 1.0, 0.01), (1, 0.0, 0.04))
_MUSCLE_GAIN = (
    (0, 1.0, 0.75),
    (1, 0.0, 1.05),
    (2, 0.0, -1.0),
    (3, 0.0, 200.0),
    (4, 0.0, 0.5),
    (5, 0.0, 1.6),
    (6, 0.0, 1.5),
    (7, 0.0, 1.3),
    (8, 0.0, 1.2),
)
"""Parameter, the value by which it is recognised as not set, and the muscle's default."""


def _muscle(actuator: General, element: Element) -> None:
    for index, unset, default in _MUSCLE_DYN:
        if actuator.dynprm[index] == unset:
            actuator.dynprm[index] = default
    for index, unset, default in _MUSCLE_GAIN:
        if actuator.gainprm[index] == unset:
            actuator.gainprm[index] = default
    actuator.dynprm[2] = element.get("tausmooth", actuator.dynprm[2])
    _not_negative(element, "tausmooth")
    given: list[tuple[list[float], int, float]] = []
    for target, name in ((actuator.dynprm, "timeconst"), (actuator.gainprm, "range")):
        given += [(target, k, x) for k, x in enumerate(np.atleast_1d(element.get(name, [])).tolist())]
    for index, name in enumerate(("force", "scale", "lmin", "lmax", "vmax", "fpmax", "fvmax"), 2):
        given.append((actuator.gainprm, index, element.get(name, -1.0)))
    for target, index, value in given:
        if value >= 0:
            target[index] = value
    actuator.biasprm[:9] = actuator.gainprm[:9]
    _types(actuator, DynType.MUSCLE, GainType.MUSCLE, BiasType.MUSCLE)


def _dcmotor(actuator: General, element: Element) -> None:
    """Electrical, thermal and friction parameters of a DC motor.

    gainprm holds resistance, motor constant, temperature coefficient, reference temperature, controller gains
    (kp, ki, kd) and voltage limit; dynprm electrical time constant, current slew limit, thermal resistance,
    capacitance and ambient temperature, LuGre stiffness and damping, command slew limit, integral limit; biasprm
    cogging (amplitude, periodicity, phase) and LuGre (Coulomb, static, Stribeck).
    """
    gain, dyn, bias = actuator.gainprm, actuator.dynprm, actuator.biasprm
    kept = actuator.gaintype == GainType.DCMOTOR

    def read(name: str, inherited: list[float]) -> list[float]:
        values = inherited if kept else [0.0] * len(inherited)
        given = np.atleast_1d(element.get(name, [])).tolist()
        return [*given, *values[len(given) :]]

    torque, emf = read("motorconst", [gain[1], 0.0])
    resistance = element.get("resistance", gain[0] if kept else 0.0)
    nominal = read("nominal", [0.0] * 3)
    saturation = read("saturation", [0.0, 0.0, dyn[1]])
    inductance = read("inductance", [0.0, dyn[0]])
    cogging = read("cogging", bias[:3])
    controller = read("controller", [gain[4], gain[5], gain[6], dyn[7], dyn[8], gain[7]])
    thermal = read("thermal", [dyn[2], dyn[3], 0.0, gain[2], gain[3], dyn[4]])
    lugre = read("lugre", [dyn[5], dyn[6], bias[3], bias[4], bias[5]])
    if "input" not in element and not kept:
        actuator.input = 0
    if min(inductance) < 0:
        raise element.error("cannot be negative", attribute="inductance")

    constant, resistance = _motor_constants(actuator, element, torque, emf, resistance, nominal)
    _types(actuator, DynType.DCMOTOR, GainType.DCMOTOR, BiasType.DCMOTOR)
    gain[0], gain[1] = resistance, constant
    gain[4:7], dyn[7], dyn[8] = controller[:3], controller[3], controller[4]
    if controller[5] > 0:
        gain[7] = controller[5]
    if saturation[0] > 0 or saturation[1] > 0:
        most = saturation[0] or constant * saturation[1]
        actuator.forcerange, actuator.forcelimited = [-most, most], "true"
    if saturation[2] > 0:
        dyn[1] = saturation[2]
    bias[:3] = cogging
    dyn[0] = inductance[0] / resistance if inductance[0] > 0 else inductance[1]
    hot = _thermal(actuator, element, thermal)
    if lugre[0] > 0:
        dyn[5], dyn[6], bias[3:6] = lugre[0], lugre[1], lugre[2:5]
    gain[8] = 0.0
    actuator.actdim = (dyn[0] > 0) + (controller[3] > 0) + (controller[1] > 0) + hot + (lugre[0] > 0)
    actuator.actlimited, actuator.actearly = "false", True


def _motor_constants(
    actuator: General, element: Element, torque: float, emf: float, resistance: float, nominal: list[float]
) -> tuple[float, float]:
    """Motor constant and resistance, as far as missing from nominal voltage, stall torque and no-load speed."""
    voltage, stall, speed = nominal
    if voltage > 0 and emf <= 0 and speed > 0:
        friction = actuator.damping[0]
        emf = voltage / speed
        if friction > 0 and resistance > 0:
            root = voltage**2 - 4 * resistance * friction * speed**2
            if root > 0:
                emf = (voltage + sqrt(root)) / (2 * speed)
        elif friction > 0 and stall > 0:
            corrected = voltage / speed - voltage * friction / stall
            emf = corrected if corrected > 0 else emf
    constant = sqrt(torque * emf) if torque > 0 and emf > 0 else torque if torque > 0 else emf
    if resistance == 0 and voltage > 0 and stall > 0 and constant > 0:
        resistance = constant * voltage / stall
    if constant <= 0:
        raise element.error(
            "the motor constant must be positive: give motorconst or nominal", attribute="motorconst"
        )
    if resistance <= 0:
        raise element.error(
            "the resistance must be positive: give resistance or nominal", attribute="resistance"
        )
    return constant, resistance


def _thermal(actuator: General, element: Element, thermal: list[float]) -> bool:
    """Thermal resistance and capacitance, either of which may follow from the thermal time constant."""
    resistance, capacitance, time, coefficient, reference, ambient = thermal
    if not (resistance > 0 or capacitance > 0 or time > 0):
        return False
    if time > 0 and resistance > 0 and capacitance == 0:
        capacitance = time / resistance
    elif time > 0 and capacitance > 0 and resistance == 0:
        resistance = time / capacitance
    if resistance <= 0 or capacitance <= 0:
        raise element.error("thermal resistance and capacitance must be positive", attribute="thermal")
    actuator.dynprm[2:5] = [resistance, capacitance, ambient]
    actuator.gainprm[2:4] = [coefficient, reference]
    return True


_SHORTCUTS: dict[str, Callable[[General, Element], Any]] = {
    "general": _general,
    "motor": _motor,
    "position": _position,
    "velocity": _velocity,
    "intvelocity": _intvelocity,
    "orientation": _orientation,
    "pid": _pid,
    "damper": _damper,
    "cylinder": _cylinder,
    "muscle": _muscle,
    "adhesion": _adhesion,
    "dcmotor": _dcmotor,
}
