"""Derivative of the solution by the implicit function theorem. Native layout.

At the optimum the gradient `r(x, theta) = M x - force - J^T f(J x - aref)` is zero, so `dx = -H^-1 (dr/dtheta) dtheta`
with `H = M + J^T C J`, whatever the iteration did and wherever it started. Forces follow from the acceleration.
Everything here is differentiable JAX, so the rule transposes and nests.
"""

from __future__ import annotations

import functools
from typing import NamedTuple

import jax
from jax import Array

from jaxsim.solver import linalg
from jaxsim.solver.assembly import Problem, forces
from jaxsim.solver.hessian import hessian, solve_hessian
from jaxsim.solver.rows import RowValues, residuals, transpose
from jaxsim.structure.rows import RowLayout

__all__ = ["Optimum", "evaluate", "optimum"]


class Optimum(NamedTuple):
    """A solution of the problem.

    Attributes:
      x: acceleration, `(nv, W)`.
      push: constraint force on the dofs, J^T f, `(nv, W)`.
      f: forces of the rows.
    """

    x: Array
    push: Array
    f: RowValues


def evaluate(problem: Problem, x: Array) -> Optimum:
    """The forces that belong to an acceleration."""
    f = forces(problem.rows, residuals(problem.rows, x))
    return Optimum(x, transpose(problem.rows, f, x), f)


@functools.partial(jax.custom_jvp, nondiff_argnums=(0,))
def optimum(layout: RowLayout, problem: Problem, found: Optimum) -> Optimum:
    """Gives a solution its derivative with respect to the problem; `found` itself is constant."""
    del layout, problem
    return found


@optimum.defjvp
def _optimum_jvp(
    layout: RowLayout, primals: tuple[Problem, Optimum], tangents: tuple[Problem, Optimum]
) -> tuple[Optimum, Optimum]:
    """The optimum and its tangent: one solution with the Hessian, then the forces of the rows along it."""
    problem, _ = primals
    dproblem, _ = tangents
    found = optimum(layout, *primals)
    x = found.x

    def imbalance(problem: Problem) -> Array:
        return linalg.mul_tree(layout.inertia, problem.M, x) - problem.force - evaluate(problem, x).push

    _, change = jax.jvp(imbalance, (problem,), (dproblem,))
    H = hessian(layout, problem, residuals(problem.rows, x))
    dx = -solve_hessian(layout, problem, H, change)
    return found, jax.jvp(evaluate, (problem, x), (dproblem, dx))[1]
