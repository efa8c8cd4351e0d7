"""Which dynamics, gain, bias, inputs and transmission fit together."""

from __future__ import annotations

from jaxsim.compile.actuation.general import General
from jaxsim.enums import BiasType, CtrlInput, DynType, GainType, TrnType
from jaxsim.mjcf import Element

__all__ = ["check_types"]

_SCALAR = (TrnType.JOINT, TrnType.JOINTINPARENT, TrnType.TENDON)
_CONTROLLER = CtrlInput.POS | CtrlInput.VEL | CtrlInput.FF


def check_types(element: Element, general: General, ctrlspec: int) -> None:
    """Checks that the parts of an actuator belong together.

    Args:
        element: the actuator's element.
        general: the actuator.
        ctrlspec: its inputs, defaults filled in.

    Raises:
        MjcfError: they do not; the message says which.
    """
    if general.gaintype == GainType.SO3 or general.biastype == BiasType.SO3:
        _check_so3(element, general, ctrlspec)
    if general.gaintype == GainType.PID:
        _check_pid(element, general, ctrlspec)
    elif general.dyntype == DynType.PID:
        raise element.error("dyntype pid needs gaintype pid", attribute="dyntype")
    if general.gaintype == GainType.DCMOTOR:
        _check_dcmotor(element, general, ctrlspec)
    for name in ("damping", "armature"):
        value = getattr(general, name)
        if (any(value) if isinstance(value, list) else value) and general.trntype not in _SCALAR:
            raise element.error("only joint and tendon transmissions have this", attribute=name)
    if general.dyntype == DynType.DCMOTOR and not general.actearly:
        raise element.error("cannot be false for a DC motor", attribute="actearly")
    _check_muscle(element, general)


def _check_so3(element: Element, general: General, ctrlspec: int) -> None:
    if general.gaintype != GainType.SO3 or general.biastype != BiasType.SO3:
        raise element.error("gaintype and biastype must both be so3", attribute="gaintype")
    if general.dyntype not in (DynType.NONE, DynType.INTEGRATOR):
        raise element.error("so3 needs dyntype none or integrator", attribute="dyntype")
    if general.gainprm[0] != -general.biasprm[1]:
        raise element.error("so3 needs gainprm[0] == -biasprm[1]", attribute="gainprm")
    if ctrlspec == CtrlInput.QUAT and general.dyntype != DynType.NONE:
        raise element.error("quaternion input needs dyntype none", attribute="input")
    if ctrlspec not in (CtrlInput.QUAT, CtrlInput.EXPMAP):
        raise element.error("expected expmap or quat", attribute="input")


def _check_pid(element: Element, general: General, ctrlspec: int) -> None:
    if general.biastype != BiasType.AFFINE:
        raise element.error("pid needs biastype affine", attribute="biastype")
    if general.dyntype not in (DynType.NONE, DynType.PID):
        raise element.error("pid needs dyntype none or pid", attribute="dyntype")
    if general.dyntype == DynType.NONE and general.gainprm[0]:
        raise element.error("an integral gain (gainprm[0]) needs dyntype pid", attribute="gainprm")
    if general.trntype == TrnType.BODY:
        raise element.error("pid cannot drive a body", attribute="body")
    if general.dyntype == DynType.PID and min(general.dynprm[:2]) < 0:
        raise element.error("imax and slewmax (dynprm) cannot be negative", attribute="dynprm")
    if ctrlspec & ~int(_CONTROLLER):
        raise element.error("expected words of pos, vel, ff", attribute="input")
    if general.dyntype == DynType.PID and not ctrlspec & CtrlInput.POS:
        raise element.error("integral and slew limit need the pos input", attribute="input")


def _check_dcmotor(element: Element, general: General, ctrlspec: int) -> None:
    gain = general.gainprm
    passive = ctrlspec == CtrlInput.NONE
    if not passive and ctrlspec & ~15:
        raise element.error("expected none, or words of pos, vel, ff, voltage", attribute="input")
    controller = not passive and bool(ctrlspec & _CONTROLLER)
    if controller and gain[1] <= 0:
        raise element.error("controller inputs need a positive motor constant", attribute="input")
    if not controller and any(gain[4:7]):
        raise element.error("controller gains need an input among pos, vel, ff", attribute="input")
    if gain[5] > 0 and not ctrlspec & CtrlInput.POS:
        raise element.error("an integral gain needs the pos input", attribute="input")
    if not controller and general.dynprm[7] > 0:
        raise element.error("a slew limit needs an input among pos, vel, ff", attribute="input")


def _check_muscle(element: Element, general: General) -> None:
    for prm, active in (
        (general.gainprm, general.gaintype == GainType.MUSCLE),
        (general.biasprm, general.biastype == BiasType.MUSCLE),
    ):
        if not active:
            continue
        if prm[0] >= prm[1]:
            raise element.error("range[0] must be below range[1]", attribute="range")
        if prm[4] >= 1 or prm[5] <= 1:
            raise element.error("expected lmin < 1 < lmax", attribute="lmin")
        if min(prm[3], prm[6], prm[7], prm[8]) <= 0:
            raise element.error("scale, vmax, fpmax and fvmax must be positive", attribute="scale")
