"""Activation dynamics: what each type does to its activations (computation chapter, "Activation dynamics").

A row of `DYNAMICS` is all that a type needs: its rate, how a step moves it if that is not Euler's, and how it limits
its controls.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxsim.data import Data
from jaxsim.enums import DynType
from jaxsim.math.axis import take
from jaxsim.math.constants import MINVAL
from jaxsim.model import Model
from jaxsim.pipeline.actuation.dcmotor import dcmotor_advance, dcmotor_rate, dcmotor_slew
from jaxsim.pipeline.actuation.group import Group, activations_of
from jaxsim.pipeline.actuation.muscle import muscle_rate
from jaxsim.pipeline.actuation.pid import pid_rate, pid_slew
from jaxsim.pipeline.actuation.user import user_rate

__all__ = ["DYNAMICS", "Dynamics", "euler"]


def euler(group: Group) -> Array:
    """Activations of a group after a step at constant rate."""
    rows = activations_of(group.model.static, group.ids)
    return take(group.data.act, rows) + group.model.opt.timestep * take(group.signals.act_dot, rows)


class Dynamics(NamedTuple):
    """One type of dynamics; arrays have a row for each activation of the group, in order.

    Attributes:
      rate: derivatives of activations, 1/s. None: the type has no activations.
      advance: activations after a step with the derivatives `signals.act_dot`, before `actrange`.
      slew: `(model, data, ids, control)`, the first controls (n, W) as the type follows them.
      limited: whether `actrange` limits the activations.
    """

    rate: Callable[[Group], Array] | None
    advance: Callable[[Group], Array] = euler
    slew: Callable[[Model, Data, np.ndarray, Array], Array] | None = None
    limited: bool = True


def _integrator(group: Group) -> Array:
    """Controls themselves: one for each activation."""
    first, count = group.model.actuator_ctrladr[group.ids], group.model.actuator_actnum[group.ids]
    rows = [a + k for a, n in zip(first.tolist(), count.tolist(), strict=True) for k in range(n)]
    return take(group.signals.ctrl, np.array(rows, int))


def _filter(group: Group) -> Array:
    act = take(group.data.act, group.model.actuator_actadr[group.ids])
    return (group.control() - act) / jnp.maximum(group.prm("dyn", 0), MINVAL)


def _filter_advance(group: Group) -> Array:
    """The exact solution for a constant control."""
    rows = group.model.actuator_actadr[group.ids]
    tau = jnp.maximum(group.prm("dyn", 0), MINVAL)
    share = -tau * jnp.expm1(-group.model.opt.timestep / tau)
    return take(group.data.act, rows) + take(group.signals.act_dot, rows) * share


DYNAMICS: dict[DynType, Dynamics] = {
    DynType.NONE: Dynamics(None),
    DynType.INTEGRATOR: Dynamics(_integrator),
    DynType.FILTER: Dynamics(_filter),
    DynType.FILTEREXACT: Dynamics(_filter, _filter_advance),
    DynType.MUSCLE: Dynamics(muscle_rate),
    DynType.PID: Dynamics(pid_rate, slew=pid_slew),
    DynType.DCMOTOR: Dynamics(dcmotor_rate, dcmotor_advance, dcmotor_slew, limited=False),
    DynType.USER: Dynamics(user_rate),
}
"""Type -> dynamics; a type that is not here is refused."""
