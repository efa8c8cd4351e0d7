"""What each actuator shortcut means as a general actuator (MJCF reference, actuator)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import pi, sqrt

import numpy as np

from jaxsim.compile.actuation.general import General, unit
from jaxsim.enums import BiasType, CtrlInput, DynType, GainType
from jaxsim.mjcf import Element

__all__ = ["apply_shortcut"]


def apply_shortcut(actuator: General, element: Element, outer: Sequence[General]) -> None:
    """Sets the general parameters that a shortcut's own attributes stand for.

    What the element does not give is taken from the innermost default class that last used the same shortcut, or a
    general actuator with the same type of gain; otherwise it has the shortcut's own default. Whether the activation is
    limited is never taken, not even from the element: as in C a shortcut leaves that to its range.

    Args:
        actuator: the actuator, as its default classes left it.
        element: the element, with the attributes that all shortcuts share already merged.
        outer: the actuator as each of the enclosing default classes left it, the outermost first.

    Raises:
        MjcfError: a value is not allowed.
    """
    tag = element.tag
    if tag != "general":
        gain, build = _SHORTCUTS[tag]
        inherits = actuator.inheritrange
        actuator.actlimited = "auto"
        if actuator.shortcut != tag:
            actuator.actdim, actuator.actearly = -1, False
        related = _related(actuator, tag, gain)
        if not related:
            own = {name: getattr(actuator, name) for name in ("inheritrange", "input") if name in element}
            actuator.reset()
            source = next((past for past in reversed(outer) if _related(past, tag, gain)), None)
            if source is not None:
                related = True
                actuator.adopt(source)
                if tag == "dcmotor" and "saturation" not in element:
                    _keep_saturation(actuator, source)
            for name, value in own.items():
                setattr(actuator, name, value)
        build(actuator, element, related)
        if "inheritrange" not in element.type.attributes:  # what a shortcut does not know it leaves
            actuator.inheritrange = inherits
        actuator.gaintype = gain
    actuator.shortcut = tag


def _related(actuator: General, tag: str, gain: GainType) -> bool:
    """Whether parameters of an actuator mean the same for a shortcut."""
    return actuator.shortcut == tag or (actuator.shortcut == "general" and actuator.gaintype == gain)


def _not_negative(element: Element, *names: str) -> None:
    for name in names:
        if np.min(element.get(name, 0.0)) < 0:
            raise element.error("cannot be negative", attribute=name)


def _positive_controls(actuator: General, element: Element) -> None:
    if min(actuator.ctrlrange) < 0:
        raise element.error("cannot be negative, in a default class neither", attribute="ctrlrange")


def _motor(actuator: General, element: Element, related: bool) -> None:
    del element, related
    actuator.reset()


def _damping(actuator: General, element: Element) -> float:
    """Returns the velocity term of a servo: minus the gain, or a damping ratio, which is positive."""
    if "kv" in element and "dampratio" in element:
        raise element.error("give either kv or dampratio", attribute="dampratio")
    _not_negative(element, "kv", "dampratio")
    if "kv" in element:
        return -element["kv"]
    return element.get("dampratio", actuator.biasprm[2])


def _inherit(actuator: General, element: Element, what: str) -> None:
    if actuator.inheritrange > 0 and any(getattr(actuator, what)):
        raise element.error(f"give either {what} or inheritrange", attribute="inheritrange")


def _servo(actuator: General, element: Element) -> None:
    """Proportional gain and damping."""
    kp = element.get("kp", actuator.gainprm[0])
    damping = _damping(actuator, element)
    actuator.gainprm, actuator.biasprm = unit(10, kp), [0.0, -kp, damping, *[0.0] * 7]
    actuator.biastype = BiasType.AFFINE


def _position(actuator: General, element: Element, related: bool) -> None:
    del related
    _servo(actuator, element)
    _not_negative(element, "timeconst")
    lagged = actuator.dyntype == DynType.FILTEREXACT
    time = element.get("timeconst", actuator.dynprm[0] if lagged else 0.0)
    actuator.dyntype = DynType.FILTEREXACT if time else DynType.NONE
    actuator.dynprm = unit(10, element.get("timeconst", time or 1.0))
    _inherit(actuator, element, "ctrlrange")
    actuator.input = int(CtrlInput.POS)


def _intvelocity(actuator: General, element: Element, related: bool) -> None:
    del related
    _servo(actuator, element)
    lagged = actuator.dyntype == DynType.FILTEREXACT
    actuator.dynprm = unit(10, actuator.dynprm[0] if lagged else 1.0)
    actuator.dyntype = DynType.INTEGRATOR
    _inherit(actuator, element, "actrange")
    actuator.input = int(CtrlInput.VEL)


def _orientation(actuator: General, element: Element, related: bool) -> None:
    del related
    _servo(actuator, element)
    actuator.biastype, actuator.dyntype, actuator.dynprm = BiasType.SO3, DynType.NONE, unit(10)


def _pid(actuator: General, element: Element, related: bool) -> None:
    """Proportional and velocity gain in biasprm, integral gain in gainprm[0], its limits in dynprm."""
    kp = element.get("kp", -actuator.biasprm[1] if related else 1.0)
    damping = _damping(actuator, element)
    ki = element.get("ki", actuator.gainprm[0] * related)
    imax = element.get("imax", actuator.dynprm[0] * related)
    slewmax = element.get("slewmax", actuator.dynprm[1] * related)
    _not_negative(element, "slewmax")
    actuator.biasprm = [0.0, -kp, damping, *[0.0] * 7]
    actuator.gainprm = unit(10, ki)
    actuator.dynprm = [imax if ki else 0.0, slewmax, *[0.0] * 8]
    if "posrange" in element:
        actuator.ctrlrange = element["posrange"].tolist()
    _inherit(actuator, element, "ctrlrange")
    actuator.dyntype = DynType.PID if ki or slewmax else DynType.NONE
    actuator.biastype = BiasType.AFFINE


def _velocity(actuator: General, element: Element, related: bool) -> None:
    del related
    kv = element.get("kv", actuator.gainprm[0])
    actuator.reset()
    actuator.gainprm[0], actuator.biasprm[2] = kv, -kv
    actuator.biastype = BiasType.AFFINE
    actuator.input = int(CtrlInput.VEL)


def _damper(actuator: General, element: Element, related: bool) -> None:
    kv = element.get("kv", -actuator.gainprm[2] if related else 0.0)
    _not_negative(element, "kv")
    _positive_controls(actuator, element)
    if kv < 0:
        raise element.error("the inherited gain must not be positive", attribute="kv")
    actuator.reset()
    actuator.gainprm = [0.0, 0.0, -kv, *[0.0] * 7]
    actuator.ctrllimited = "true"


def _cylinder(actuator: General, element: Element, related: bool) -> None:
    del related
    time = element.get("timeconst", actuator.dynprm[0])
    area = element.get("area", actuator.gainprm[0])
    if element.get("diameter", -1.0) >= 0:
        area = pi / 4 * element["diameter"] ** 2
    bias = element["bias"].tolist() if "bias" in element else actuator.biasprm[:3]
    actuator.dynprm, actuator.gainprm = unit(10, time), unit(10, area)
    actuator.biasprm = [*bias, *[0.0] * 7]
    actuator.dyntype, actuator.biastype = DynType.FILTER, BiasType.AFFINE
    actuator.input = int(CtrlInput.PRESSURE)


def _adhesion(actuator: General, element: Element, related: bool) -> None:
    del related
    _not_negative(element, "gain")
    _positive_controls(actuator, element)
    gain = element.get("gain", actuator.gainprm[0])
    actuator.reset()
    actuator.gainprm[0] = gain
    actuator.ctrllimited = "true"


_MUSCLE_DYN = (0.01, 0.04)
"""Time constants of activation and deactivation, s."""
_MUSCLE_GAIN = (0.75, 1.05, -1.0, 200.0, 0.5, 1.6, 1.5, 1.3, 1.2)
"""Operating range, force, scale, lmin, lmax, vmax, fpmax, fvmax."""


def _muscle(actuator: General, element: Element, related: bool) -> None:
    if not related:
        actuator.dynprm = [*_MUSCLE_DYN, *[0.0] * 8]
        actuator.gainprm = [*_MUSCLE_GAIN, 0.0]
    _not_negative(element, "tausmooth")
    actuator.dynprm[2] = element.get("tausmooth", actuator.dynprm[2])
    given: list[tuple[list[float], int, float]] = []
    for target, name in ((actuator.dynprm, "timeconst"), (actuator.gainprm, "range")):
        given += [(target, k, x) for k, x in enumerate(np.atleast_1d(element.get(name, [])).tolist())]
    for index, name in enumerate(("force", "scale", "lmin", "lmax", "vmax", "fpmax", "fvmax"), 2):
        given.append((actuator.gainprm, index, element.get(name, -1.0)))
    for target, index, value in given:
        if value >= 0:
            target[index] = value
    actuator.biasprm = list(actuator.gainprm)
    actuator.dyntype, actuator.biastype = DynType.MUSCLE, BiasType.MUSCLE


def _dcmotor(actuator: General, element: Element, related: bool) -> None:
    """Electrical, thermal and friction parameters of a DC motor.

    gainprm holds resistance, motor constant, temperature coefficient, reference temperature, controller gains
    (kp, ki, kd) and voltage limit; dynprm electrical time constant, current slew limit, thermal resistance,
    capacitance and ambient temperature, LuGre stiffness and damping, command slew limit, integral limit; biasprm
    cogging (amplitude, periodicity, phase) and LuGre (Coulomb, static, Stribeck).
    """
    if not related:
        actuator.gainprm, actuator.dynprm = [0.0] * 10, [0.0] * 10
    gain, dyn, bias = actuator.gainprm, actuator.dynprm, actuator.biasprm

    def read(name: str, inherited: list[float]) -> list[float]:
        given = np.atleast_1d(element.get(name, [])).tolist()
        return [*given, *inherited[len(given) :]]

    torque, emf = read("motorconst", [gain[1], 0.0])
    resistance = element.get("resistance", gain[0])
    nominal = read("nominal", [0.0] * 3)
    saturation = read("saturation", [0.0, 0.0, dyn[1]])
    inductance = read("inductance", [0.0, dyn[0]])
    cogging = read("cogging", bias[:3])
    controller = read("controller", [gain[4], gain[5], gain[6], dyn[7], dyn[8], gain[7]])
    thermal = read("thermal", [dyn[2], dyn[3], 0.0, gain[2], gain[3], dyn[4]])
    lugre = read("lugre", [dyn[5], dyn[6], bias[3], bias[4], bias[5]])
    if min(inductance) < 0:
        raise element.error("cannot be negative", attribute="inductance")

    constant, resistance = _motor_constants(actuator, element, torque, emf, resistance, nominal)
    actuator.dyntype, actuator.biastype = DynType.DCMOTOR, BiasType.DCMOTOR
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
    _thermal(actuator, element, thermal)
    if lugre[0] > 0:
        dyn[5], dyn[6], bias[3:6] = lugre[0], lugre[1], lugre[2:5]
    gain[8] = 0.0
    actuator.actdim = actuator.motor_states
    actuator.actlimited, actuator.actearly = "false", True


def _keep_saturation(actuator: General, source: General) -> None:
    """Takes the torque at which another DC motor saturates; that is its range of forces, so others may have set it."""
    low, high = source.forcerange
    if source.forcelimited == "true" and 0 < high == -low:
        actuator.forcerange, actuator.forcelimited = [low, high], "true"


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


def _thermal(actuator: General, element: Element, thermal: list[float]) -> None:
    """Thermal resistance and capacitance, either of which may follow from the thermal time constant."""
    resistance, capacitance, time, coefficient, reference, ambient = thermal
    if not (resistance > 0 or capacitance > 0 or time > 0):
        return
    if time > 0 and resistance > 0 and capacitance == 0:
        capacitance = time / resistance
    elif time > 0 and capacitance > 0 and resistance == 0:
        resistance = time / capacitance
    if resistance <= 0 or capacitance <= 0:
        raise element.error("thermal resistance and capacitance must be positive", attribute="thermal")
    actuator.dynprm[2:5] = [resistance, capacitance, ambient]
    actuator.gainprm[2:4] = [coefficient, reference]


_SHORTCUTS: dict[str, tuple[GainType, Callable[[General, Element, bool], None]]] = {
    "motor": (GainType.FIXED, _motor),
    "position": (GainType.FIXED, _position),
    "velocity": (GainType.FIXED, _velocity),
    "intvelocity": (GainType.FIXED, _intvelocity),
    "orientation": (GainType.SO3, _orientation),
    "pid": (GainType.PID, _pid),
    "damper": (GainType.AFFINE, _damper),
    "cylinder": (GainType.FIXED, _cylinder),
    "muscle": (GainType.MUSCLE, _muscle),
    "adhesion": (GainType.FIXED, _adhesion),
    "dcmotor": (GainType.DCMOTOR, _dcmotor),
}
