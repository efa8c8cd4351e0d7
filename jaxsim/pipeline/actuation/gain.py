"""Gains: how controls or activations become force (computation chapter, "Force generation")."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from jax import Array

from jaxsim.enums import GainType
from jaxsim.math.axis import take
from jaxsim.pipeline.actuation.dcmotor import dcmotor_force, dcmotor_slope
from jaxsim.pipeline.actuation.group import Group
from jaxsim.pipeline.actuation.muscle import muscle_gain
from jaxsim.pipeline.actuation.pid import pid_force
from jaxsim.pipeline.actuation.setpoint import nearest, wrap_period
from jaxsim.pipeline.actuation.so3 import so3_force
from jaxsim.pipeline.actuation.user import user_gain

__all__ = ["GAINS", "Gain"]


class Gain(NamedTuple):
    """One type of gain.

    Attributes:
      force: the part (m, W) of the force that controls or activations make.
      slope: derivative (m, W) of the whole force with respect to velocity. None: that of gain and bias.
    """

    force: Callable[[Group], Array]
    slope: Callable[[Group], Array] | None = None


def _input(group: Group) -> Array:
    """What a gain multiplies (n, W); of setpoints on rotations, the representative nearest to the length."""
    value = group.drive()
    period = wrap_period(group.model, group.ids)
    return value if period is None else nearest(value, group.length, period)


def _fixed(group: Group) -> Array:
    return group.prm("gain", 0) * _input(group)


def _affine(group: Group) -> Array:
    prm = take(group.model.actuator_gainprm, group.ids)
    return (prm[:, 0] + prm[:, 1] * group.length + prm[:, 2] * group.velocity) * _input(group)


def _muscle(group: Group) -> Array:
    return muscle_gain(group) * _input(group)


GAINS: dict[GainType, Gain] = {
    GainType.FIXED: Gain(_fixed),
    GainType.AFFINE: Gain(_affine),
    GainType.MUSCLE: Gain(_muscle),
    GainType.DCMOTOR: Gain(dcmotor_force, dcmotor_slope),
    GainType.SO3: Gain(so3_force),
    GainType.PID: Gain(pid_force),
    GainType.USER: Gain(user_gain),
}
"""Type -> gain; a type that is not here is refused."""
