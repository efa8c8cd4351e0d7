"""The joint-space inertia as a matrix and as an operator."""

from __future__ import annotations

from jax import Array
from jax.typing import ArrayLike

from jaxsim.data import Data
from jaxsim.model import Model
from jaxsim.pytree import Static
from jaxsim.solver import linalg
from jaxsim.structure.sparsity import tree_structure
from jaxsim.support.lifted import check_shape, lifted

__all__ = ["full_m", "mul_m", "solve_m"]


def _mul_m(static: Static, M: Array, vec: Array) -> Array:
    return linalg.mul_tree(tree_structure(static.dof_parentid), M, vec)


def _solve_m(static: Static, M: Array, vec: Array) -> Array:
    return linalg.solve_tree(tree_structure(static.dof_parentid), M, vec)


def _full_m(static: Static, M: Array) -> Array:
    return linalg.full(M, structure=tree_structure(static.dof_parentid))


def mul_m(model: Model, data: Data, vec: ArrayLike) -> Array:
    """M times a vector (nv,), a force (mj_mulM); needs `crb`."""
    return lifted(_mul_m, model.static)(data.M, check_shape("mul_m: vec", vec, model.nv))


def solve_m(model: Model, data: Data, vec: ArrayLike) -> Array:
    """The acceleration x (nv,) that solves `M x = vec` (mj_solveM); needs `crb`."""
    return lifted(_solve_m, model.static)(data.M, check_shape("solve_m: vec", vec, model.nv))


def full_m(model: Model, data: Data) -> Array:
    """M as a matrix (nv, nv) (mj_fullM); needs `crb`."""
    return lifted(_full_m, model.static)(data.M)
