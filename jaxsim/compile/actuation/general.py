"""The general actuator: what every shortcut is a way of writing."""

from __future__ import annotations

import copy
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from jaxsim.enums import BiasType, CtrlInput, DynType, GainType, TrnType
from jaxsim.mjcf import Element
from jaxsim.mjcf.defaults import overlay

__all__ = ["General", "merge", "unit"]


_INPUTS = {
    "expmap": CtrlInput.EXPMAP,
    "quat": CtrlInput.QUAT,
    "pos": CtrlInput.POS,
    "vel": CtrlInput.VEL,
    "ff": CtrlInput.FF,
    "voltage": CtrlInput.VOLTAGE,
    "pressure": CtrlInput.PRESSURE,
    "none": CtrlInput.NONE,
}
_TRANSMISSIONS = {
    "joint": TrnType.JOINT,
    "jointinparent": TrnType.JOINTINPARENT,
    "tendon": TrnType.TENDON,
    "cranksite": TrnType.SLIDERCRANK,
    "site": TrnType.SITE,
    "body": TrnType.BODY,
}


def unit(count: int, first: float = 1.0) -> list[float]:
    """Returns a vector that is zero but for its first entry."""
    return [first, *[0.0] * (count - 1)]


_pair = partial(unit, 2, 0.0)


@dataclass(eq=False)
class General:
    """An actuator while its defaults and its own attributes are merged; names are those of `general`.

    Attributes:
        shortcut: the tag of the element that was merged last.
        target: the attribute that names the transmission's target, and the name.
        input: bits of CtrlInput; 0: the type's own default.
    """

    shortcut: str = "general"
    group: int = 0
    nsample: int = 0
    interp: int = 0
    delay: float = 0.0
    ctrlrange: list[float] = field(default_factory=_pair)
    forcerange: list[float] = field(default_factory=_pair)
    actrange: list[float] = field(default_factory=_pair)
    velrange: list[float] = field(default_factory=_pair)
    ffrange: list[float] = field(default_factory=_pair)
    lengthrange: list[float] = field(default_factory=_pair)
    ctrllimited: str = "auto"
    forcelimited: str = "auto"
    actlimited: str = "auto"
    gear: list[float] = field(default_factory=partial(unit, 6))
    damping: list[float] = field(default_factory=partial(unit, 3, 0.0))
    armature: float = 0.0
    cranklength: float = 0.0
    inheritrange: float = 0.0
    actdim: int = -1
    actearly: bool = False
    dyntype: DynType = DynType.NONE
    gaintype: GainType = GainType.FIXED
    biastype: BiasType = BiasType.NONE
    dynprm: list[float] = field(default_factory=partial(unit, 10))
    gainprm: list[float] = field(default_factory=partial(unit, 10))
    biasprm: list[float] = field(default_factory=partial(unit, 10, 0.0))
    user: list[float] | None = None
    input: int = 0
    trntype: TrnType = TrnType.UNDEFINED
    target: tuple[str, str] | None = None
    slidersite: str = ""
    refsite: str = ""

    def snapshot(self) -> General:
        """Returns a copy that further merging does not change."""
        twin = copy.copy(self)
        for name, value in vars(self).items():
            if isinstance(value, list):
                setattr(twin, name, list(value))
        return twin

    def adopt(self, other: General) -> None:
        """Takes dynamics, gain and bias of another actuator."""
        other = other.snapshot()
        for name in (
            "dyntype",
            "gaintype",
            "biastype",
            "dynprm",
            "gainprm",
            "biasprm",
            "inheritrange",
            "input",
        ):
            setattr(self, name, getattr(other, name))

    def reset(self) -> None:
        """Forgets dynamics, gain and bias, as they were set for another shortcut."""
        self.dyntype, self.gaintype, self.biastype = DynType.NONE, GainType.FIXED, BiasType.NONE
        self.dynprm, self.gainprm, self.biasprm = unit(10), unit(10), [0.0] * 10
        self.inheritrange, self.actdim, self.actearly, self.input = 0.0, -1, False, 0

    @property
    def motor_states(self) -> int:
        """Activations of a DC motor: of slew limit, integral, temperature, bristle and current, as each is there."""
        dyn, gain = self.dynprm, self.gainprm
        return sum(x > 0 for x in (dyn[7], gain[5], dyn[2], dyn[5], dyn[0]))


_ENUMS = {"dyntype": DynType, "gaintype": GainType, "biastype": BiasType}
_PLAIN = (
    *("group", "nsample", "delay", "ctrllimited", "forcelimited", "actlimited"),
    *("armature", "cranklength", "inheritrange", "actdim", "actearly"),
)
_VECTORS = (
    *("ctrlrange", "forcerange", "actrange", "velrange", "ffrange", "lengthrange"),
    *("gear", "damping", "dynprm", "gainprm", "biasprm"),
)


def merge(actuator: General, element: Element) -> None:
    """Overrides an actuator by the attributes that all shortcuts share, as far as the element gives them.

    Inputs that were set for another type of gain are forgotten.

    Raises:
        MjcfError: an attribute does not fit the transmission.
    """
    for name in _PLAIN:
        if name in element.attrib:
            setattr(actuator, name, element[name])
    for name in _VECTORS:
        if name in element.attrib:
            values = np.atleast_1d(element[name]).tolist()
            getattr(actuator, name)[: len(values)] = values
    gaintype = actuator.gaintype
    for name, kind in _ENUMS.items():
        if name in element.attrib:
            setattr(actuator, name, kind[element[name].upper()])
    if actuator.gaintype != gaintype:
        actuator.input = 0
    if "interp" in element.attrib:
        actuator.interp = ("zoh", "linear", "cubic").index(element["interp"])
    if "user" in element.attrib:
        user = overlay(element.attribute("user"), None, element["user"])
        actuator.user = None if user is None else np.asarray(user).tolist()
    if "input" in element.attrib:
        actuator.input = sum(int(_INPUTS[word]) for word in element["input"])
    for name, trntype in _TRANSMISSIONS.items():
        if name in element.attrib:
            actuator.target, actuator.trntype = (name, element[name]), trntype
    _sites(actuator, element)


def _sites(actuator: General, element: Element) -> None:
    crank = actuator.trntype in (TrnType.SLIDERCRANK, TrnType.UNDEFINED)
    for name in ("cranklength", "slidersite"):
        if name in element.attrib and not crank:
            raise element.error(
                "only a slider-crank has this: give cranksite, not another target", attribute=name
            )
    if "slidersite" in element.attrib:
        actuator.slidersite = element["slidersite"]
    if "refsite" in element.attrib:
        if actuator.trntype not in (TrnType.SITE, TrnType.UNDEFINED):
            raise element.error("only a site transmission has a reference site", attribute="refsite")
        actuator.refsite = element["refsite"]
