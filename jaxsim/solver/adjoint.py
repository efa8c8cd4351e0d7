"""Derivative of the solution by the implicit function theorem. Native layout.

At the optimum the gradient `r(x, theta) = M x - force - J^T f(J x - aref)` is zero, so `dx = -H^-1 (dr/dtheta) dtheta`
with `H = M + J^T C J`, whatever the iteration did and wherever it started. Everything here is differentiable JAX, so
the rule transposes and nests.
"""

from __future__ import annotations

import jax
from jax import Array

from jaxsim.solver import linalg
from jaxsim.solver.assembly import Problem, gradient, hessian, multiply
from jaxsim.solver.jacobian import residuals

__all__ = ["optimum"]


@jax.custom_jvp
def optimum(problem: Problem, x: Array) -> Array:
    """Gives a solution `x` of the problem its derivative with respect to the problem; `x` itself is constant."""
    del problem
    return x


@optimum.defjvp
def _optimum_jvp(primals: tuple[Problem, Array], tangents: tuple[Problem, Array]) -> tuple[Array, Array]:
    problem, _ = primals
    x = optimum(*primals)

    def imbalance(problem: Problem) -> Array:
        return gradient(problem, multiply(problem, x), residuals(problem.rows, x))

    _, change = jax.jvp(imbalance, (problem,), (tangents[0],))
    H = hessian(problem, residuals(problem.rows, x))
    return x, -linalg.solve_spd(linalg.factor_spd(H), change)
