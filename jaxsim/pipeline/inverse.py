"""Inverse dynamics: the force that an acceleration needs (computation chapter, "Inverse dynamics")."""

from __future__ import annotations

from jax import Array

from jaxsim import worlds
from jaxsim.data import Data
from jaxsim.enums import EnableBit, IntegratorType
from jaxsim.model import Model
from jaxsim.pipeline.actuation import fwd_actuation
from jaxsim.pipeline.admit import admit
from jaxsim.pipeline.integrators import INTEGRATORS
from jaxsim.pipeline.required import required_force
from jaxsim.pipeline.stages import State, integration_state, motion, run, sensors
from jaxsim.results import UnsupportedError
from jaxsim.solver import linalg
from jaxsim.solver.constraint import make_constraint
from jaxsim.solver.inverse import inv_constraint
from jaxsim.structure.sparsity import tree_structure

__all__ = ["inverse", "native_inverse"]

_KEPT = ("qfrc_smooth", "qacc_smooth", "solver_niter", "solver_gradient", "solver_fwdinv")
"""Results that inverse dynamics have no use for."""


def _discrete_acc(model: Model, data: Data) -> Data:
    """Turns qacc, a change of velocity over the timestep, into the acceleration at its beginning (mj_discreteAcc)."""
    build = INTEGRATORS[model.opt.integrator].system
    system = None if build is None or not model.nv else build(model, data)
    if system is None:
        return data
    force = system.multiply(data.qacc)
    return data.replace(qacc=linalg.solve_tree(tree_structure(model.dof_parentid), data.M, force))


def native_inverse(model: Model, state: State, qacc: Array) -> Data:
    """Inverse dynamics of accelerations (nv, W)."""
    data = run((fwd_actuation,), model, motion(model, state).replace(qacc=qacc))
    if model.opt.enableflags & EnableBit.INVDISCRETE:
        data = run((_discrete_acc,), model, data)
    data = sensors(model, run((make_constraint, inv_constraint), model, data))
    return data.replace(qfrc_inverse=required_force(model, data), qacc=qacc, work=None)


_inverse = worlds.lift(native_inverse)


def inverse(model: Model, data: Data) -> Data:
    """Computes the force that makes the accelerations `data.qacc`, into `qfrc_inverse` (mj_inverse).

    It equals the sum of `qfrc_applied`, `qfrc_actuator` and the effect of `xfrc_applied` that forward dynamics would
    need for these accelerations. Results of position and velocity, constraint forces and sensors are computed too.

    With EnableBit.INVDISCRETE, `qacc` is a change of velocity over one timestep, divided by it, and the force is the
    one behind a step of the model's integrator.

    Args:
      model: the model.
      data: one world; only its integration state and `qacc` are read.

    Raises:
      UnsupportedError: the model asks for physics that jaxsim does not compute yet, or for discrete inverse dynamics
        of the Runge-Kutta integrator, whose steps have several accelerations.
    """
    data = admit(model, data, "inverse")
    discrete = model.opt.enableflags & EnableBit.INVDISCRETE
    if discrete and INTEGRATORS[model.opt.integrator].system is None:
        name = IntegratorType(model.opt.integrator).name
        raise UnsupportedError(
            f"flag invdiscrete: integrator {name} has no discrete inverse; use Euler or implicit"
        )
    found = _inverse(model, integration_state(data), data.qacc)
    return found.replace(**{name: getattr(data, name) for name in _KEPT})
