"""Smooth forces and the accelerations they cause."""

from __future__ import annotations

from jaxsim.data import Data
from jaxsim.math.axis import split
from jaxsim.model import Model
from jaxsim.pipeline.velocity import apply_wrenches
from jaxsim.solver import linalg
from jaxsim.structure.sparsity import tree_structure

__all__ = ["fwd_acceleration"]


def fwd_acceleration(model: Model, data: Data) -> Data:
    """Computes qfrc_smooth, the sum of all forces but those of constraints, and qacc_smooth."""
    if not model.nv:
        return data
    force, torque = split(data.xfrc_applied, (3, 3), axis=1)
    applied = apply_wrenches(model, data, force, torque, data.xipos)
    smooth = data.qfrc_passive - data.qfrc_bias + data.qfrc_applied + data.qfrc_actuator + applied
    structure = tree_structure(model.dof_parentid)
    return data.replace(qfrc_smooth=smooth, qacc_smooth=linalg.solve_tree(structure, data.M, smooth))
