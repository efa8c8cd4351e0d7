"""Smooth forces and the accelerations they cause."""

from __future__ import annotations

from jax import Array

from jaxsim.data import Data
from jaxsim.math.axis import split
from jaxsim.model import Model
from jaxsim.pipeline.velocity import apply_wrenches
from jaxsim.solver import linalg
from jaxsim.structure.sparsity import tree_structure

__all__ = ["applied_force", "fwd_acceleration", "wrench_force"]


def fwd_acceleration(model: Model, data: Data) -> Data:
    """Computes qfrc_smooth, the sum of all forces but those of constraints, and qacc_smooth."""
    if not model.nv:
        return data
    smooth = data.qfrc_passive - data.qfrc_bias + data.qfrc_actuator + applied_force(model, data)
    structure = tree_structure(model.dof_parentid)
    return data.replace(qfrc_smooth=smooth, qacc_smooth=linalg.solve_tree(structure, data.M, smooth))


def applied_force(model: Model, data: Data) -> Array:
    """The sum (nv, W) of qfrc_applied and the effect of xfrc_applied."""
    return data.qfrc_applied + wrench_force(model, data)


def wrench_force(model: Model, data: Data) -> Array:
    """Generalized force (nv, W) of xfrc_applied."""
    force, torque = split(data.xfrc_applied, (3, 3), axis=1)
    return apply_wrenches(model, data, force, torque, data.xipos)
