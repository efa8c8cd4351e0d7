"""Joints: anchors, axes and limits in the body frame, angles in radians."""

from __future__ import annotations

from jaxsim.compile.parts import Joint
from jaxsim.compile.settings import is_limited
from jaxsim.enums import JointType
from jaxsim.mjcf.frames import EPS, IDENTITY, ORIGIN, accumulate, normalize, rotate

__all__ = ["compile_joint"]


def compile_joint(joint: Joint) -> None:
    """Completes a joint.

    Raises:
        MjcfError: the joint is not valid.
    """
    element, values = joint.element, joint.values
    if element.tag == "freejoint":
        joint.type = JointType.FREE
        joint.group = element.get("group", 0)
        joint.align = element.get("align", "auto")
    else:
        joint.type = JointType[values["type"].upper()]
        joint.group = values["group"]
    joint.range = tuple(values["range"].tolist())
    _limits(joint)
    _spring(joint)
    _axis(joint)
    pos = tuple(values["pos"].tolist())
    if joint.type == JointType.FREE:
        joint.pos = ORIGIN
    else:
        joint.pos = pos if joint.frame is None else accumulate(*joint.frame, pos, IDENTITY)[0]


def _limits(joint: Joint) -> None:
    element, values, type = joint.element, joint.values, joint.type
    auto = joint.settings.autolimits
    if type != JointType.FREE:
        joint.limited = is_limited(element, values, auto, "limited", "range", ordered=type != JointType.BALL)
    low, high = joint.range
    if joint.limited:
        if low and type == JointType.BALL:
            raise element.error("range[0] of a ball joint must be 0", attribute="range")
        if type in (JointType.HINGE, JointType.BALL):
            joint.range = (joint.settings.radians(low), joint.settings.radians(high))
    if type in (JointType.HINGE, JointType.SLIDE):
        joint.actfrclimited = is_limited(element, values, auto, "actuatorfrclimited", "actuatorfrcrange")


def _spring(joint: Joint) -> None:
    values = joint.values
    timeconst, dampratio = values["springdamper"].tolist()
    if (timeconst or dampratio) and (timeconst <= 0 or dampratio <= 0):
        raise joint.element.error("both numbers must be positive", attribute="springdamper")
    joint.ref, joint.springref = values["ref"], values["springref"]
    if joint.type == JointType.HINGE:
        joint.ref = joint.settings.radians(joint.ref)
        joint.springref = joint.settings.radians(joint.springref)


def _axis(joint: Joint) -> None:
    if joint.type in (JointType.FREE, JointType.BALL):
        return
    axis = joint.values["axis"].tolist()
    if joint.frame is not None:
        axis = rotate(axis, joint.frame[1])
    (x, y, z), length = normalize(axis)
    if length < EPS:
        raise joint.element.error("the axis is too small", attribute="axis")
    joint.axis = (x, y, z)
