"""Rows of friction loss: bounded forces against velocity (Computation chapter, "Friction loss"). Native layout."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxsim.data import Data
from jaxsim.math.axis import take
from jaxsim.model import Model
from jaxsim.solver.impedance import impedance, regularisation
from jaxsim.solver.jacobian import DenseJacobian, DofJacobian, Jacobian
from jaxsim.solver.rows import Rows
from jaxsim.solver.tendon_jacobian import tendon_jacobian

__all__ = ["dof_friction", "tendon_friction"]


def dof_friction(model: Model, data: Data, dofs: np.ndarray) -> tuple[Rows, Array]:
    """Rows of dofs, and which are in use: those whose loss is positive."""
    return _rows(
        model,
        DofJacobian(dof=dofs, sign=np.ones(len(dofs)), nv=model.nv),
        take(data.qvel, dofs),
        take(model.dof_frictionloss, dofs),
        take(model.dof_invweight0, dofs),
        take(model.dof_solref, dofs),
        take(model.dof_solimp, dofs),
    )


def tendon_friction(model: Model, data: Data, tendons: np.ndarray) -> tuple[Rows, Array]:
    """Rows of tendons, and which are in use: those whose loss is positive."""
    return _rows(
        model,
        DenseJacobian(J=tendon_jacobian(model, data, tendons)),
        take(data.ten_velocity, tendons),
        take(model.tendon_frictionloss, tendons),
        take(model.tendon_invweight0, tendons),
        take(model.tendon_solref_fri, tendons),
        take(model.tendon_solimp_fri, tendons),
    )


def _rows(
    model: Model, J: Jacobian, velocity: Array, loss: Array, inertia: Array, solref: Array, solimp: Array
) -> tuple[Rows, Array]:
    loss = jnp.where(loss < 0, 0, loss)  # at none its derivative is that of more
    constants = impedance(model, solref, solimp, jnp.zeros_like(loss))
    D = 1 / regularisation(constants.d, inertia)
    none = jnp.zeros_like(loss)
    rows = Rows(J=(J,), D=D, aref=-constants.b * velocity, low=-loss, high=loss, pos=none, margin=none)
    return rows, loss > 0
