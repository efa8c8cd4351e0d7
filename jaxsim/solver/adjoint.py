"""Derivative of the solution by the implicit function theorem. Native layout.

At the optimum the gradient `r(x, theta) = M x - force - J^T f(J x - aref)` is zero, so `dx = -H^-1 (dr/dtheta) dtheta`
with `H = M + J^T C J`, whatever the iteration did and wherever it started. Everything here is differentiable JAX, so
the rule transposes and nests.
"""

from __future__ import annotations

import functools

import jax
from jax import Array

from jaxsim.solver import linalg
from jaxsim.solver.assembly import Problem, gradient, hessian, multiply
from jaxsim.solver.layout import RowLayout
from jaxsim.solver.stack import residuals

__all__ = ["optimum"]


@functools.partial(jax.custom_jvp, nondiff_argnums=(0,))
def optimum(layout: RowLayout, problem: Problem, x: Array) -> Array:
    """Gives a solution `x` of the problem its derivative with respect to the problem; `x` itself is constant."""
    del layout, problem
    return x


@optimum.defjvp
def _optimum_jvp(
    layout: RowLayout, primals: tuple[Problem, Array], tangents: tuple[Problem, Array]
) -> tuple[Array, Array]:
    problem, _ = primals
    x = optimum(layout, *primals)

    def imbalance(problem: Problem) -> Array:
        return gradient(problem, multiply(layout, problem, x), residuals(problem.rows, x))

    _, change = jax.jvp(imbalance, (problem,), (tangents[0],))
    H = hessian(layout, problem, residuals(problem.rows, x))
    return x, -linalg.solve_tree(layout.hessian, H, change)
