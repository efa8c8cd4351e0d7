"""Smooth forces and the accelerations they cause."""

from __future__ import annotations

from jax import Array

from jaxsim.data import Data
from jaxsim.model import Model
from jaxsim.pipeline.velocity import apply_wrenches
from jaxsim.solver import linalg

__all__ = ["factor_m", "fwd_acceleration", "solve_m"]


def factor_m(model: Model, data: Data) -> Data:
    """Factorises M into `work.factor`."""
    structure = linalg.tree_structure(model.dof_parentid)
    return data.replace(work=data.work.replace(factor=linalg.factor_tree(structure, data.M)))


def solve_m(model: Model, data: Data, x: Array) -> Array:
    """M^-1 x for x (nv, W), with the factor in `work`."""
    return linalg.solve_tree(linalg.tree_structure(model.dof_parentid), data.work.factor, x)


def fwd_acceleration(model: Model, data: Data) -> Data:
    """Computes qfrc_smooth, the sum of all forces but those of constraints, and qacc_smooth."""
    if not model.nv:
        return data
    force, torque = data.xfrc_applied[:, :3], data.xfrc_applied[:, 3:]
    applied = apply_wrenches(model, data, force, torque, data.xipos)
    smooth = data.qfrc_passive - data.qfrc_bias + data.qfrc_applied + data.qfrc_actuator + applied
    return data.replace(qfrc_smooth=smooth, qacc_smooth=solve_m(model, data, smooth))
