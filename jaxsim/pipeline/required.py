"""The force that an acceleration needs, and how far forward and inverse dynamics agree. Worlds on the last axis."""

from __future__ import annotations

import jax.numpy as jnp
from jax import Array

from jaxsim.data import Data
from jaxsim.enums import EnableBit
from jaxsim.math import safe
from jaxsim.model import Model
from jaxsim.pipeline.acceleration import applied_force
from jaxsim.solver import linalg
from jaxsim.solver.inverse import inv_constraint
from jaxsim.structure.sparsity import tree_structure

__all__ = ["compare_fwd_inv", "required_force"]


def required_force(model: Model, data: Data) -> Array:
    """The force (nv, W) beside passive and constraint forces that the acceleration `qacc` needs."""
    inertial = linalg.mul_tree(tree_structure(model.dof_parentid), data.M, data.qacc)
    return inertial + data.qfrc_bias - data.qfrc_passive - data.qfrc_constraint


def compare_fwd_inv(model: Model, data: Data) -> Data:
    """Computes `solver_fwdinv` with EnableBit.FWDINV: how far results of forward dynamics miss those of inverse.

    Needs `data.work` of forward dynamics (mj_compareFwdInv). The norms are zero where no constraint is active.
    """
    if not model.opt.enableflags & EnableBit.FWDINV:
        return data
    found = inv_constraint(model, data)
    given = applied_force(model, data) + data.qfrc_actuator
    gaps = (data.qfrc_constraint - found.qfrc_constraint, given - required_force(model, found))
    norms = jnp.stack(jnp.broadcast_arrays(*(safe.norm(x, axis=0) for x in gaps)))
    return data.replace(solver_fwdinv=jnp.where(data.nefc > 0, norms, 0))
