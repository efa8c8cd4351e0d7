"""The stages of a step as functions of one world, for pipelines of one's own.

They have the names and the meaning of MuJoCo's functions, read their inputs from the data and return it with their
results; all JAX transformations compose on them. What stages hand to each other beside the data (moment arms,
constraint rows) is computed again where a stage needs it: compiled as one program, equal computations are one.
"""

from __future__ import annotations

import functools
from collections.abc import Callable

from jaxsim import worlds
from jaxsim.collision import driver
from jaxsim.data import Data
from jaxsim.enums import IntegratorType
from jaxsim.model import Model
from jaxsim.pipeline import (
    acceleration,
    actuation,
    energy,
    inertia,
    stages,
    velocity,
)
from jaxsim.pipeline import (
    implicit as implicit_in_velocity,
)
from jaxsim.pipeline import (
    kinematics as frames,
)
from jaxsim.pipeline import (
    passive as passive_forces,
)
from jaxsim.pipeline import (
    runge_kutta as rk,
)
from jaxsim.pipeline import (
    tendon as tendons,
)
from jaxsim.pipeline import (
    transmission as transmissions,
)
from jaxsim.pipeline.acting import acting_wrenches
from jaxsim.pipeline.admit import admit
from jaxsim.pipeline.sensors import run as sensors
from jaxsim.pipeline.stages import Stage, integration_state, run
from jaxsim.pipeline.work import Found, Work
from jaxsim.solver import constraint
from jaxsim.solver.solve import solve

__all__ = [
    "camlight",
    "collision",
    "com_pos",
    "com_vel",
    "crb",
    "energy_pos",
    "energy_vel",
    "euler",
    "fwd_acceleration",
    "fwd_actuation",
    "fwd_constraint",
    "fwd_position",
    "fwd_velocity",
    "implicit",
    "kinematics",
    "make_constraint",
    "passive",
    "rne",
    "rne_postconstraint",
    "runge_kutta",
    "sensor_acc",
    "sensor_pos",
    "sensor_vel",
    "subtree_vel",
    "tendon",
    "tendon_bias",
    "transmission",
]


def _per_world(native: Stage, *needs: Stage) -> Stage:
    """A stage as a function of one world.

    Args:
      native: the stage, worlds last.
      needs: stages whose `data.work` it reads.
    """

    @functools.wraps(native)
    def alone(
        model: Model, data: Data, solution: Found | None = None, kept: bool = False
    ) -> tuple[Data, Found]:
        known = solution or Found.nothing(kept)
        data = data.replace(work=Work(choices=known.choices, solution=known.solution))
        data = run((*needs, native), model, data)
        return data.replace(work=None), data.work.found

    return _lifted(alone)


def _lifted(alone: Callable[..., tuple[Data, Found]]) -> Stage:
    """A native function, which tells what it found, as a function of one world."""
    lifted = worlds.lift(alone, has_solution=True)
    name = alone.__name__.strip("_")

    @functools.wraps(alone)
    def stage(model: Model, data: Data) -> Data:
        return lifted(model, admit(model, data, name))

    return stage


_ARMS = (tendons.tendon, transmissions.transmission)
"""Stages that make the moment arms of tendons and actuators."""


def _energy_pos(model: Model, data: Data) -> Data:
    """Computes the potential energy, `energy[0]`, J (mj_energyPos); needs `fwd_position`."""
    return energy.with_energies(data, energy.energy_pos(model, data), data.energy[1])


def _energy_vel(model: Model, data: Data) -> Data:
    """Computes the kinetic energy, `energy[1]`, J (mj_energyVel); needs `crb`."""
    return energy.with_energies(data, data.energy[0], energy.energy_vel(model, data))


def _rne_postconstraint(model: Model, data: Data) -> Data:
    """Computes cacc, cfrc_ext and cfrc_int from `qacc` and the forces of constraints (mj_rnePostConstraint)."""
    return velocity.rne_postconstraint(model, data, acting_wrenches(model, data))


def _implicit(model: Model, data: Data) -> Data:
    """Moves to the end of the timestep by the integrator `implicitfast`, or `implicit` if the model asks for it."""
    whole = model.opt.integrator == IntegratorType.IMPLICIT
    return (implicit_in_velocity.implicit if whole else implicit_in_velocity.implicitfast)(model, data)


def _runge_kutta(
    model: Model, data: Data, solution: Found | None = None, kept: bool = False
) -> tuple[Data, Found]:
    """A whole step of the Runge-Kutta integrator, from the integration state (mj_RungeKutta)."""
    data, found = rk.rk4(model, integration_state(data), solution or Found.nothing(kept))
    return data.replace(work=None), found


def _fwd_constraint(model: Model, data: Data) -> Data:
    """Computes qacc, qfrc_constraint and efc_force by the constraint solver (mj_fwdConstraint).

    Needs `fwd_position`, `fwd_velocity` and `fwd_acceleration`; makes the constraint rows itself. Derivatives are
    those of the optimum.
    """
    return solve(model, data)


kinematics = _per_world(frames.kinematics)
com_pos = _per_world(inertia.com_pos)
camlight = _per_world(frames.camlight)
tendon = _per_world(tendons.tendon)
crb = _per_world(inertia.crb, tendons.tendon)
collision = _per_world(driver.collision)
transmission = _per_world(transmissions.transmission, tendons.tendon)
fwd_position = _per_world(stages.fwd_position)
com_vel = _per_world(velocity.com_vel)
passive = _per_world(passive_forces.passive, tendons.tendon)
rne = _per_world(velocity.rne)
tendon_bias = _per_world(tendons.tendon_bias, tendons.tendon)
fwd_velocity = _per_world(stages.fwd_velocity, *_ARMS)
fwd_actuation = _per_world(actuation.fwd_actuation, *_ARMS)
fwd_acceleration = _per_world(acceleration.fwd_acceleration)
make_constraint = _per_world(constraint.make_constraint, tendons.tendon)
fwd_constraint = _per_world(_fwd_constraint, tendons.tendon, constraint.make_constraint)
sensor_pos = _per_world(sensors.sensor_pos)
sensor_vel = _per_world(sensors.sensor_vel)
sensor_acc = _per_world(sensors.sensor_acc)
subtree_vel = _per_world(velocity.subtree_vel)
rne_postconstraint = _per_world(_rne_postconstraint)
energy_pos = _per_world(_energy_pos)
energy_vel = _per_world(_energy_vel)
euler = _per_world(implicit_in_velocity.euler, *_ARMS)
implicit = _per_world(_implicit, *_ARMS)
runge_kutta = _lifted(_runge_kutta)
