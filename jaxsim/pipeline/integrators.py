"""The table of integrators: how a step moves on from the dynamics of a state. Worlds on the last axis."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from jaxsim.data import Data
from jaxsim.enums import IntegratorType
from jaxsim.model import Model
from jaxsim.pipeline.implicit import (
    System,
    damped_system,
    euler,
    fast_system,
    full_system,
    implicit,
    implicitfast,
)
from jaxsim.pipeline.runge_kutta import rk4
from jaxsim.pipeline.stages import State
from jaxsim.pipeline.work import Found

__all__ = ["INTEGRATORS", "Integrator"]


class Integrator(NamedTuple):
    """One way to advance in time.

    Attributes:
      finish: moves data on which all stages have run to the end of the timestep; `step2` ends with it.
      system: the matrix that stands for M in a step, if not M itself; gives None if it is M. With it inverse dynamics
        of discrete time find the force behind a change of velocity. None: there is no such matrix.
      whole: a step that runs the dynamics itself, several times; `(model, state, known)` to the data and what each
        pass found. None: one forward pass, then `finish`.
    """

    finish: Callable[[Model, Data], Data]
    system: Callable[[Model, Data], System | None] | None = None
    whole: Callable[[Model, State, Found], tuple[Data, Found]] | None = None


INTEGRATORS: dict[int, Integrator] = {
    IntegratorType.EULER: Integrator(euler, damped_system),
    IntegratorType.RK4: Integrator(euler, whole=rk4),
    IntegratorType.IMPLICIT: Integrator(implicit, full_system),
    IntegratorType.IMPLICITFAST: Integrator(implicitfast, fast_system),
}
"""As in C, `step2` finishes with Euler where the integrator needs several passes."""
