"""Actuators to the fields of a Model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from jaxsim.compile.actuation.checks import check_types
from jaxsim.compile.actuation.general import General, merge
from jaxsim.compile.actuation.shortcuts import apply_shortcut
from jaxsim.compile.columns import addresses, columns, gated, landed
from jaxsim.compile.history import check_history, history_lengths
from jaxsim.compile.names import Names
from jaxsim.compile.settings import SettingsOf, is_limited
from jaxsim.compile.userdata import user_field
from jaxsim.enums import BiasType, CtrlInput, DynType, GainType, JointType, ObjType, TrnType
from jaxsim.mjcf import Document, Element
from jaxsim.mjcf.defaults import ACTUATORS

__all__ = ["Actuator", "compile_actuators"]


@dataclass(eq=False)
class Actuator:
    """A compiled actuator: `trnid` and the widths of its blocks of controls and outputs."""

    general: General
    element: Element
    name: str
    id: int
    trnid: tuple[int, int] = (-1, -1)
    ctrlnum: int = 1
    ctrlspec: int = 0
    outnum: int = 1
    so3: bool = False
    actlimited: bool = False
    forcelimited: bool = False
    ctrlranges: list[tuple[bool, list[float]]] | None = None


def compile_actuators(document: Document, names: Names, settings: SettingsOf) -> dict[str, Any]:
    """Returns the fields of actuators, and registers their names.

    Raises:
        MjcfError: an actuator is not valid.
    """
    section = document.root.find("actuator")
    actuators = []
    for index, element in enumerate(section.children if section is not None else ()):
        if element.tag == "plugin":
            raise element.error("engine plugins are not built in jaxsim; remove the element")
        actuators.append(_compile(document, names, settings, element, index))
    names.add("actuator", actuators)
    return _fields(document, actuators)


def _compile(
    document: Document, names: Names, settings: SettingsOf, element: Element, index: int
) -> Actuator:
    general = _merged(document, element)
    _check_input(element, general)
    actuator = Actuator(general, element, element.name, index)
    target = _target(names, actuator)
    _inputs_and_outputs(actuator, target)
    check_types(element, general, actuator.ctrlspec)
    _inherit_range(actuator, target)
    _limits(actuator, settings(element).autolimits)
    _activation(actuator)
    _history(actuator)
    return actuator


def _check_input(element: Element, general: General) -> None:
    """Checks what the control means: of fixed and affine gains it is one thing, of muscles' and users' not told."""
    if general.gaintype in (GainType.FIXED, GainType.AFFINE):
        if general.input not in (0, CtrlInput.POS, CtrlInput.VEL, CtrlInput.PRESSURE):
            raise element.error(
                "fixed and affine gains have one input: pos, vel or pressure", attribute="input"
            )
    elif general.gaintype in (GainType.MUSCLE, GainType.USER) and general.input:
        raise element.error("muscle and user gains do not choose their inputs", attribute="input")


def _merged(document: Document, element: Element) -> General:
    """Merges an actuator with its default classes, the outermost first."""
    general = General()
    innermost = document.class_of(element)
    path = [innermost]
    while path[0].parent is not None:
        path.insert(0, path[0].parent)
    outer: list[General] = []
    chain = innermost.chain
    for index, default in enumerate(path):
        stop = len(path[index + 1].inherited) if index + 1 < len(path) else len(chain)
        for source in chain[len(default.inherited) : stop]:
            if source.tag in ACTUATORS:
                merge(general, source)
                apply_shortcut(general, source, outer)
        if index + 1 < len(path):
            outer.append(general.snapshot())
    merge(general, element)
    apply_shortcut(general, element, outer)
    return general


def _target(names: Names, actuator: Actuator) -> Any:
    """Finds the object that the actuator drives."""
    general, element = actuator.general, actuator.element
    if general.target is None:
        raise element.error("missing transmission target: give joint, tendon, site, ...")
    attribute, name = general.target
    kind = {"jointinparent": "joint", "cranksite": "site"}.get(attribute, attribute)
    target = names.find(kind, name, element, attribute)
    second = -1
    if general.trntype == TrnType.SLIDERCRANK:
        if not general.slidersite:
            raise element.error("a slider-crank needs the site of its slider", attribute="slidersite")
        second = names.id("site", general.slidersite, element, "slidersite")
        if general.cranklength <= 0:
            raise element.error("the length of the crank's rod must be positive", attribute="cranklength")
    elif general.trntype == TrnType.SITE and general.refsite:
        second = names.id("site", general.refsite, element, "refsite")
    elif general.trntype == TrnType.TENDON and general.armature > 0 and target.wraps:
        raise element.error("a tendon with armature cannot wrap around geoms", attribute="armature")
    actuator.trnid = (target.id, second)
    return target


def _inputs_and_outputs(actuator: Actuator, target: Any) -> None:
    """Sizes the blocks of controls and forces; checks orientation servos."""
    general, element = actuator.general, actuator.element
    given = actuator.ctrlspec = general.input
    if general.gaintype == GainType.SO3 or general.biastype == BiasType.SO3:
        if general.trntype == TrnType.SITE and not general.refsite:
            raise element.error("an orientation servo of a site needs a reference site", attribute="site")
        if general.trntype == TrnType.JOINT and target.type != JointType.BALL:
            raise element.error("an orientation servo of a joint needs a ball joint", attribute="joint")
        if general.trntype not in (TrnType.SITE, TrnType.JOINT):
            raise element.error("an orientation servo needs a ball joint or a site")
        actuator.so3, actuator.outnum = True, 3
        actuator.ctrlspec = given or int(CtrlInput.EXPMAP)
        actuator.ctrlnum = 4 if actuator.ctrlspec == CtrlInput.QUAT else 3
        if general.dyntype == DynType.INTEGRATOR:
            general.actdim = 3
            if general.actlimited == "true" and not any(general.actrange):
                general.actlimited = "false"
    elif general.gaintype == GainType.PID:
        actuator.ctrlspec = given or int(CtrlInput.POS | CtrlInput.VEL)
        actuator.ctrlnum = (actuator.ctrlspec & 7).bit_count()
        if general.dyntype == DynType.PID:
            states = (general.dynprm[1] > 0) + (general.gainprm[0] > 0)
            _check_states(actuator, states, general.actdim <= 0)
            general.actdim = states
    elif general.gaintype == GainType.DCMOTOR:
        actuator.ctrlspec = given or int(CtrlInput.VOLTAGE)
        actuator.ctrlnum = (actuator.ctrlspec & 15).bit_count()


def _inherit_range(actuator: Actuator, target: Any) -> None:
    """Takes the range of control or activation from the target's own range."""
    general, element = actuator.general, actuator.element
    servo = general.gaintype == GainType.FIXED and general.gainprm[0] == -general.biasprm[1]
    if general.inheritrange <= 0 or general.biastype != BiasType.AFFINE:
        return
    if not (servo or general.gaintype == GainType.PID):
        return
    if general.dyntype not in (DynType.NONE, DynType.FILTEREXACT, DynType.PID, DynType.INTEGRATOR):
        raise element.error(
            "only position, intvelocity and pid servos inherit a range", attribute="inheritrange"
        )
    if general.trntype == TrnType.JOINT:
        if target.type not in (JointType.HINGE, JointType.SLIDE):
            raise element.error(
                "only hinge and slide joints have a range to inherit", attribute="inheritrange"
            )
    elif general.trntype != TrnType.TENDON:
        raise element.error("only joints and tendons have a range to inherit", attribute="inheritrange")
    low, high = target.range
    if low == high:
        raise element.error("the target has no range to inherit", attribute="inheritrange")
    mean, radius = 0.5 * (high + low), 0.5 * (high - low) * general.inheritrange
    bounds = [mean - radius, mean + radius]
    if general.dyntype == DynType.INTEGRATOR:
        general.actrange = bounds
    else:
        general.ctrlrange = bounds


def _limits(actuator: Actuator, auto: bool) -> None:
    general, element = actuator.general, actuator.element
    force, ctrl, act = (
        is_limited(element, vars(general), auto, f"{name}limited", f"{name}range")
        for name in ("force", "ctrl", "act")
    )
    actuator.forcelimited, actuator.actlimited = force, act
    if actuator.actlimited and general.dyntype == DynType.NONE:
        raise element.error("an actuator without activation has no activation range", attribute="actrange")
    if actuator.so3 and actuator.forcelimited and general.forcerange[0]:
        raise element.error(
            "the norm of the torque is limited: forcerange[0] must be 0", attribute="forcerange"
        )
    ranges = [(ctrl, list(general.ctrlrange)) for _ in range(actuator.ctrlnum)]
    if general.gaintype == GainType.PID:
        ranges = ranges[:1] if actuator.ctrlspec & CtrlInput.POS else []
        for bit, bounds in ((CtrlInput.VEL, general.velrange), (CtrlInput.FF, general.ffrange)):
            if actuator.ctrlspec & bit:
                ranges.append((bounds[0] < bounds[1], list(bounds)))
    actuator.ctrlranges = ranges


def _activation(actuator: Actuator) -> None:
    general, element = actuator.general, actuator.element
    several = general.dyntype in (DynType.USER, DynType.DCMOTOR, DynType.PID) or actuator.so3
    if general.actdim > 1 and not several:
        raise element.error(
            "only user, dcmotor and pid dynamics have several activations", attribute="actdim"
        )
    if general.actdim == 1 and general.dyntype == DynType.NONE:
        raise element.error("an actuator without dynamics has no activation", attribute="actdim")
    if general.actdim == 0 and general.dyntype not in (DynType.NONE, DynType.DCMOTOR):
        raise element.error("an actuator with dynamics needs an activation", attribute="actdim")
    if general.actdim < 0:
        general.actdim = int(general.dyntype not in (DynType.NONE, DynType.DCMOTOR))
    if general.dyntype == DynType.DCMOTOR:
        _check_states(
            actuator, general.motor_states, general.actdim == 0 and general.gaintype != GainType.DCMOTOR
        )


def _check_states(actuator: Actuator, states: int, free: bool) -> None:
    """Refuses a number of activations that is not that of the states which parameters ask for, unless it is free."""
    given = actuator.general.actdim
    if given != states and not free:
        raise actuator.element.error(
            f"the parameters ask for {states} activations, actdim says {max(given, 0)}", attribute="actdim"
        )


def _history(actuator: Actuator) -> None:
    general, element = actuator.general, actuator.element
    check_history(element, general.delay, general.nsample)
    if (general.delay > 0 or general.nsample > 0) and actuator.ctrlnum == 0:
        raise element.error("a history needs an input", attribute="nsample")


def _fields(document: Document, actuators: list[Actuator]) -> dict[str, Any]:
    general = [actuator.general for actuator in actuators]

    def take(name: str) -> list[Any]:
        return [getattr(g, name) for g in general]

    actnum, ctrlnum, outnum = take("actdim"), [a.ctrlnum for a in actuators], [a.outnum for a in actuators]
    lengths = history_lengths(take("nsample"), ctrlnum)
    controls = [pair for a in actuators for pair in a.ctrlranges or ()]
    outputs = [g for a, g in zip(actuators, general, strict=True) for _ in range(a.outnum)]

    fields: dict[str, Any] = {
        "actuator_trntype": [TrnType.SO3 if a.so3 else a.general.trntype for a in actuators],
        "actuator_dyntype": take("dyntype"),
        "actuator_gaintype": take("gaintype"),
        "actuator_biastype": take("biastype"),
        "actuator_ctrladr": addresses(ctrlnum),
        "actuator_ctrlnum": ctrlnum,
        "actuator_ctrlspec": [a.ctrlspec for a in actuators],
        "actuator_outadr": addresses(outnum),
        "actuator_outnum": outnum,
        "actuator_actadr": gated(actnum),
        "actuator_actnum": actnum,
        "actuator_trnid": [a.trnid for a in actuators],
        "actuator_actlimited": [a.actlimited for a in actuators],
        "actuator_forcelimited": [a.forcelimited for a in actuators],
        "actuator_ctrllimited": [limited for limited, _ in controls],
        "actuator_history": [(g.nsample, g.interp) for g in general],
        "actuator_historyadr": gated(lengths),
        **landed("general", "actuator_", [vars(g) for g in general]),
        "actuator_damping": [g.damping[0] for g in general],
        "actuator_dampingpoly": [g.damping[1:] for g in general],
        "actuator_ctrlrange": [bounds for _, bounds in controls],
        "actuator_gear": [g.gear for g in outputs],
        "actuator_lengthrange": [g.lengthrange for g in outputs],
    }
    fields = columns(fields)
    elements = [a.element for a in actuators]
    fields |= user_field(document, ObjType.ACTUATOR, elements, take("user"))
    fields.update(nactuator=len(actuators), nu=sum(ctrlnum), nout=sum(outnum), na=sum(actnum))
    fields["nhistory"] = sum(lengths)
    return fields
