"""The solver stage: from constraint rows to acceleration and constraint forces. Native layout."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
from jax import Array, lax

from jaxsim.data import Data
from jaxsim.enums import DisableBit, SolverType
from jaxsim.math.axis import concat, sum_rows
from jaxsim.model import Model
from jaxsim.results import WarningBit
from jaxsim.solver.adjoint import Optimum, balanced, optimum
from jaxsim.solver.assembly import Problem, forces
from jaxsim.solver.cg import conjugate_gradients
from jaxsim.solver.newton import Solution, minimise
from jaxsim.solver.noslip import Held, without_slip
from jaxsim.solver.onset import optimum_near
from jaxsim.solver.pgs import gauss_seidel
from jaxsim.solver.rows import Rows, with_jacobians
from jaxsim.structure.rows import RowLayout, row_layout

__all__ = ["SOLVERS", "solve"]

_ROUND_OFF = 100
"""Gradients this many times the rounding error of their terms count as zero."""

_FEW = 4
"""Models that allow no more iterations than this want an approximation: running out of them is no news."""

_ROUGH = 0.5
"""What such an approximation may leave of the forces that act; beyond, the warning is set for them too."""


_Method = Callable[[RowLayout, Model, Problem, Array, Array | None], tuple[Solution, Optimum]]


def _primal(minimise: Callable[..., Solution]) -> _Method:
    """A solver that finds the acceleration: forces follow from it."""

    def solved(layout: RowLayout, model: Model, problem: Problem, smooth: Array, guess: Array | None) -> Any:
        solution = minimise(layout, model, problem, smooth, guess)
        # the force as the iteration left it: that of rows computed anew has their rounding, times their stiffness
        return solution, Optimum(solution.x, solution.push, forces(problem.rows, solution.r))

    return solved


SOLVERS: dict[int, _Method] = {
    SolverType.PGS: gauss_seidel,
    SolverType.CG: _primal(conjugate_gradients),
    SolverType.NEWTON: _primal(minimise),
}
"""What finds the optimum: a function of (rows' layout, model, problem, smooth acceleration, warm start)."""


def solve(model: Model, data: Data) -> Data:
    """Computes qacc, qfrc_constraint and efc_force, the solver's statistics and its warning.

    Needs M, qfrc_smooth, qacc_smooth and `data.work.rows`. Where `data.work.solution` is given, it is taken as the
    solution and nothing is iterated; else it is set. It is the main solver's acceleration, then the no-slip solver's
    forces and which of them stick. Derivatives are those of the optimum; the warm start has none.
    """
    rows: Rows = data.work.rows
    if not rows.D.shape[0] and not rows.cones:
        return _unconstrained(data)
    layout = row_layout(model)
    problem = Problem(M=data.M, force=data.qfrc_smooth, rows=rows)
    fixed = lax.stop_gradient(problem)
    statistics = {}
    known = None if data.work.solution is None else lax.stop_gradient(data.work.solution)
    if known is None:
        guess = None if model.opt.disableflags & DisableBit.WARMSTART else data.qacc_warmstart
        solution, found = SOLVERS[model.opt.solver](
            layout, *lax.stop_gradient((model, problem, data.qacc_smooth, guess))
        )
        statistics = _statistics(lax.stop_gradient(model), fixed, solution, data.warning)
    else:
        found = balanced(layout, fixed, known[: model.nv])
    if model.onset is None or not layout.contacts:
        final = optimum(layout, problem, found)
    else:
        final = optimum_near(layout, model, data, problem, model.onset, found)
    kept = [found.x]
    if model.opt.has("noslip_iterations"):
        whole = problem.replace(rows=with_jacobians(rows))
        final, slip, sweeps = without_slip(layout, model, data, whole, final, known)
        kept += slip
        if sweeps is not None:
            statistics = _with_sweeps(statistics, sweeps)
    by_row = [final.f.scalar, *(x.reshape(-1, x.shape[-1]) for x in final.f.cones)]
    work = data.work.replace(solution=concat(kept) if known is None else known)
    results = {"qacc": final.x, "qfrc_constraint": final.push, "efc_force": concat(by_row)}
    return data.replace(work=work, **results, **statistics)


def _with_sweeps(statistics: dict[str, Array], sweeps: Held) -> dict[str, Array]:
    """The statistics of the main solver and of the no-slip solver after it."""
    bit = jnp.asarray(int(WarningBit.NOT_CONVERGED), statistics["warning"].dtype)
    return statistics | {
        "solver_niter": statistics["solver_niter"] + sweeps.iterations,
        "warning": statistics["warning"] | jnp.where(sweeps.settled, 0, bit),
    }


def _unconstrained(data: Data) -> Data:
    """Without rows the smooth acceleration is the acceleration."""
    zero = jnp.zeros((1,), data.qacc_smooth.dtype)
    return data.replace(
        work=data.work.replace(solution=data.qacc_smooth),
        qacc=data.qacc_smooth,
        qfrc_constraint=jnp.zeros_like(data.qacc_smooth),
        efc_force=jnp.zeros((0, data.qacc_smooth.shape[-1]), data.qacc_smooth.dtype),
        solver_niter=zero.astype(int),
        solver_gradient=zero,
    )


def _statistics(model: Model, problem: Problem, solution: Solution, warning: Array) -> dict[str, Array]:
    """Iterations, scaled gradient, and the warning if iterations ran out before the gradient was small.

    The gradient is the force that acceleration and constraints leave without balance.
    """
    scale = 1 / (model.stat.meaninertia * max(1, model.nv))
    g = scale * _norm(solution.inertial - problem.force - solution.push)
    epsilon = float(jnp.finfo(g.dtype).eps)
    acting = scale * (_norm(solution.inertial) + _norm(problem.force))
    small = jnp.maximum(model.opt.tolerance, _ROUND_OFF * epsilon * acting)
    rough = _ROUGH * (acting + scale * _norm(solution.push))
    small = jnp.where(model.opt.iterations <= _FEW, jnp.maximum(small, rough), small)
    failed = ~solution.converged & ~(g <= small)
    bit = jnp.asarray(int(WarningBit.NOT_CONVERGED), warning.dtype)
    return {
        "solver_niter": solution.iterations,
        "solver_gradient": g,
        "warning": warning | jnp.where(failed, bit, 0),
    }


def _norm(x: Array) -> Array:
    return jnp.sqrt(sum_rows(x * x))
