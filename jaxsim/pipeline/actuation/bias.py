"""Biases: force that needs no control (computation chapter, "Force generation")."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from jax import Array

from jaxsim.enums import BiasType
from jaxsim.math.axis import take
from jaxsim.pipeline.actuation.dcmotor import dcmotor_bias, dcmotor_friction
from jaxsim.pipeline.actuation.group import Group
from jaxsim.pipeline.actuation.muscle import muscle_bias
from jaxsim.pipeline.actuation.so3 import so3_bias
from jaxsim.pipeline.actuation.user import user_bias

__all__ = ["BIASES", "Bias"]


class Bias(NamedTuple):
    """One type of bias.

    Attributes:
      force: the bias (m, W), limited together with the active force. None: zero.
      unlimited: force (m, W) that is added after all limits. None: zero.
    """

    force: Callable[[Group], Array] | None = None
    unlimited: Callable[[Group], Array] | None = None


def _affine(group: Group) -> Array:
    prm = take(group.model.actuator_biasprm, group.ids)
    return prm[:, 0] + prm[:, 1] * group.length + prm[:, 2] * group.velocity


BIASES: dict[BiasType, Bias] = {
    BiasType.NONE: Bias(),
    BiasType.AFFINE: Bias(_affine),
    BiasType.MUSCLE: Bias(muscle_bias),
    BiasType.DCMOTOR: Bias(dcmotor_bias, dcmotor_friction),
    BiasType.SO3: Bias(so3_bias),
    BiasType.USER: Bias(user_bias),
}
"""Type -> bias; a type that is not here is refused."""
