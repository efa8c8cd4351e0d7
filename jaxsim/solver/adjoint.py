"""Derivative of the solution by the implicit function theorem. Native layout.

At the optimum the gradient `r(x, theta) = M x - force - J^T f(J x - aref)` is zero, so `dx = -H^-1 (dr/dtheta) dtheta`
with `H = M + J^T C J`, whatever the iteration did and wherever it started. The constraint force on the dofs is what
balances, `M x - force`, and those of rows follow from the acceleration. Everything here is differentiable JAX, so the
rule transposes and nests.

Like the iteration, the derivative works on the contacts that touch alone (`solver/compact.py`), and on all slots if
some world has more.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array, lax

from jaxsim.math.gather import width_of
from jaxsim.math.ruled import ruled
from jaxsim.solver import linalg
from jaxsim.solver.assembly import Problem, forces, push
from jaxsim.solver.compact import Compacted, compact
from jaxsim.solver.hessian import hessian, solve_hessian
from jaxsim.solver.rows import Rows, RowValues, residuals, transpose, with_jacobians
from jaxsim.structure.rows import RowLayout

__all__ = ["Optimum", "balanced", "evaluate", "optimum"]


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
    rows = with_jacobians(problem.rows)
    f = forces(rows, residuals(rows, x))
    return Optimum(x, transpose(rows, f, x), f)


def balanced(layout: RowLayout, problem: Problem, x: Array) -> Optimum:
    """The same of a solution: its force on the dofs needs no rows."""
    return evaluate(problem, x)._replace(push=_balance(layout, problem.M, problem.force, x))


@ruled(static=1)
def optimum(layout: RowLayout, problem: Problem, found: Optimum) -> Optimum:
    """Gives a solution its derivative with respect to the problem; `found` itself is constant."""
    del layout, problem
    return found


@optimum.defjvp
def _optimum_jvp(
    layout: RowLayout, primals: tuple[Problem, Optimum], tangents: tuple[Problem, Optimum]
) -> tuple[Optimum, Optimum]:
    """The optimum and its tangent: one solution with the Hessian, then the forces along it."""
    problem, dproblem = primals[0], tangents[0]
    found = optimum(layout, *primals)
    x = found.x
    few = compact(problem.rows, width_of((problem, x)), iterated=False)

    def moved(few: Compacted | None, problem: Problem, dproblem: Problem) -> Array:
        """The tangent of the acceleration."""
        rows, drows = jax.jvp(functools.partial(_worked_on, few), (problem.rows,), (dproblem.rows,))

        def imbalance(M: Array, force: Array, rows: Rows) -> tuple[Array, RowValues]:
            r = residuals(rows, x)
            return _balance(layout, M, force, x) - push(rows, r, x), r

        at, along = (problem.M, problem.force, rows), (dproblem.M, dproblem.force, drows)
        (_, r), (change, _) = jax.jvp(imbalance, at, along)
        fixed = problem.replace(rows=rows)
        return -solve_hessian(layout, fixed, hessian(layout, fixed, r), change)

    def felt(few: Compacted | None, at: tuple[Rows, Array], along: tuple[Rows, Array]) -> RowValues:
        """The tangent of the rows' forces."""

        def values(rows: Rows, x: Array) -> RowValues:
            own = _worked_on(few, rows)
            f = forces(own, residuals(own, x))
            return f if few is None else few.spread(rows, f)

        return jax.jvp(values, at, along)[1]

    dx = _on_few(few, moved, problem, dproblem)
    at, along = (problem.M, problem.force, x), (dproblem.M, dproblem.force, dx)
    dpush = jax.jvp(functools.partial(_balance, layout), at, along)[1]
    return found, Optimum(dx, dpush, _on_few(few, felt, (problem.rows, x), (dproblem.rows, dx)))


def _balance(layout: RowLayout, M: Array, force: Array, x: Array) -> Array:
    """The force on the dofs that an acceleration asks for beside the smooth ones, `(nv, W)`."""
    return linalg.mul_tree(layout.inertia, M, x) - force


def _worked_on(few: Compacted | None, rows: Rows) -> Rows:
    """Of rows those that are kept, or all, with their Jacobians."""
    return with_jacobians(rows) if few is None else few.rows(rows)


def _on_few(few: Compacted | None, tangent: Callable[..., Any], at: Any, along: Any) -> Any:
    """`tangent(few, at, along)`; of all rows, `few=None`, where some world has more than are kept.

    A transpose keeps no more of either way than `at`.
    """
    if few is None:
        return tangent(None, at, along)
    leaves, structure = jax.tree.flatten(along)
    real = [jnp.issubdtype(x.dtype, jnp.inexact) for x in leaves]

    def way(few: Compacted | None) -> Callable[..., Any]:
        def run(at: Any, changes: list[Array]) -> Any:
            mine = iter(changes)
            full = [next(mine) if r else x for r, x in zip(real, leaves, strict=True)]
            return tangent(few, at, jax.tree.unflatten(structure, full))

        return jax.checkpoint(run, prevent_cse=False)

    changes = [x for r, x in zip(real, leaves, strict=True) if r]
    return lax.cond(jnp.any(few.lost), way(None), way(few), at, changes)
