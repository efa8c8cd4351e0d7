"""Derivative of the bias force with respect to velocity, without recursion.

With everything of a tree expressed at one point, `bias_i = s_i . sum_b (I_b a_b + v_b x* I_b v_b)` over the bodies b
that dof i carries. A unit change of the velocity of dof j changes v_b by s_j and a_b by `s_j x v_b + w_j`, with
`w_j = ds_j/dt + u_j x s_j` and u_j the velocity at the end of the joint of j; so the wrench of b changes by

    (v_b x* I_b - I_b v_b x) s_j + s_j x* (I_b v_b) + I_b w_j .

The first matrix is dI_b/dt, an inertia itself, so all that is summed over bodies are inertias and momenta: composites,
as in the composite rigid body algorithm (Featherstone, Rigid Body Dynamics Algorithms, section 6.2; for other forms of
this derivative: S. Echeandia and P. Wensing, Numerical methods to compute the Coriolis matrix and Christoffel symbols
for rigid-body systems, 2021).
"""

from __future__ import annotations

import functools

import numpy as np
from jax import Array

from jaxsim.data import Data
from jaxsim.math import spatial
from jaxsim.math.axis import concat, mask_product, split, take
from jaxsim.math.stage import stage
from jaxsim.math.vector import scale
from jaxsim.model import Model
from jaxsim.solver import linalg
from jaxsim.structure.free import free_trees
from jaxsim.structure.sparsity import TreeStructure, tree_structure
from jaxsim.structure.trees import tree, up_to_joint

__all__ = ["bias_slope", "bias_slope_free"]


def bias_slope(model: Model, data: Data) -> tuple[Array, Array]:
    """Derivative of qfrc_bias with respect to qvel, for entries (i, j) of M and transposed.

    Returns:
      (lower, upper): d bias_i / d qvel_j and d bias_j / d qvel_i, (nM, W) each.
    """
    static = model.static
    below = tree(static).descendants.copy()
    below[0] = 0
    momentum, rate = _motion(data.cinert, data.cvel)
    composite = mask_product(below, concat([data.cinert, rate, momentum], axis=1))
    carried = take(composite, static.dof_bodyid)
    ends = mask_product(up_to_joint(static), scale(data.qvel[:, None], data.cdof))
    return _entries(carried, data.cdof, data.cdof_dot, ends, structure=tree_structure(static.dof_parentid))


def bias_slope_free(model: Model, data: Data) -> Array:
    """The same for the n trees of one free joint alone, as matrices (n, 6, 6, W)."""
    layout = free_trees(model.static)
    n, flat = len(layout.bodies), layout.dofs.reshape(-1)
    cinert = take(data.cinert, layout.members)
    momentum, rate = _motion(cinert, take(data.cvel, layout.members))
    composite = concat([cinert, rate, momentum], axis=1)
    if len(layout.members) > n:
        composite = mask_product(layout.carried, composite)
    cdof = take(data.cdof, flat)
    moving = scale(take(data.qvel, flat)[:, None], cdof)
    ends = mask_product(np.kron(np.eye(n), np.kron([[1, 0], [1, 1]], np.ones((3, 3)))), moving)
    carried = take(composite, np.repeat(np.arange(n), 6))
    chains = tree_structure(np.where(np.arange(6 * n) % 6, np.arange(6 * n) - 1, -1))
    lower, upper = _entries(carried, cdof, take(data.cdof_dot, flat), ends, structure=chains)
    both = concat([lower, upper])
    return take(both, _full_places(n)).reshape(n, 6, 6, both.shape[-1])


@functools.lru_cache(maxsize=64)
def _full_places(n: int) -> np.ndarray:
    """Where the elements of n full 6 by 6 matrices are in the list of lower, then upper entries."""
    places = np.zeros((6, 6), int)
    row, col = np.tril_indices(6)
    places[row, col] = np.arange(21)
    places[col, row] += np.where(row == col, 0, 21 * n + np.arange(21))
    return (21 * np.arange(n)[:, None, None] + places).reshape(-1)


@stage
def _motion(cinert: Array, cvel: Array) -> tuple[Array, Array]:
    """Momenta (n, 6, W) of bodies, and the rates of change (n, 10, W) of their inertias."""
    return spatial.mul_inertia(cinert, cvel), spatial.inertia_rate(cinert, cvel)


@stage
def _entries(
    carried: Array, cdof: Array, cdof_dot: Array, ends: Array, *, structure: TreeStructure
) -> tuple[Array, Array]:
    """Entries of the derivative below and above the diagonal.

    Args:
      carried: of what each dof carries: inertia, its rate of change, momentum (nv, 26, W).
      cdof: motion axes (nv, 6, W).
      cdof_dot: their rates of change.
      ends: velocities at the ends of joints (nv, 6, W).
      structure: which entries.
    """
    inertia, rate, momentum = split(carried, (10, 10, 6), axis=1)
    w = cdof_dot + spatial.cross_motion(ends, cdof)
    turned = spatial.mul_inertia(rate, cdof)
    gyroscopic = spatial.cross_force(cdof, momentum)
    moved = spatial.mul_inertia(inertia, cdof)
    lower = linalg.dot_tree(
        structure, concat([cdof, w], axis=1), concat([turned - gyroscopic, moved], axis=1)
    )
    upper = linalg.dot_tree(structure, cdof, turned + gyroscopic + spatial.mul_inertia(inertia, w))
    return lower, upper
