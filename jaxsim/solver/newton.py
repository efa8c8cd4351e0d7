"""Newton's method on the reduced primal problem, all worlds at once. Native layout.

Minimises over accelerations `x` the cost `(x - a0)^T M (x - a0) / 2 + s(J x - aref)` (Computation chapter,
"Constraint solver"). The gradient is `g = M x - tau - J^T f`, the Hessian `H = M + J^T C J` with the curvature `C` of
the rows. One iteration factorises H, steps along `-H^-1 g` and searches that line.

A world is done when
 - it took a full step on which no row changed its zone: the cost was exactly quadratic and the minimum is found;
 - or its Newton decrement `g^T H^-1 g / 2` is below tolerance, or below the round-off of the cost: then the full step
   is taken whatever the cost says, since a cost near its minimum cannot resolve it;
 - or it has used up its iterations.
"""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array, lax

from jaxsim.model import Model
from jaxsim.solver import cone, linalg
from jaxsim.solver.assembly import Problem, cost, gradient, hessian, multiply
from jaxsim.solver.layout import RowLayout
from jaxsim.solver.linesearch import search, slope_function
from jaxsim.solver.stack import Rows, RowValues, product, residuals

__all__ = ["Solution", "minimise"]

_SEARCH_RELATIVE = 1e-3
"""A slope this small against that at the start ends a line search."""


class Solution(NamedTuple):
    """Where the iteration ended.

    Attributes:
      x: acceleration, `(nv, W)`.
      iterations: iterations used, `(W,)`.
      converged: whether it stopped before it ran out of iterations, `(W,)`.
    """

    x: Array
    iterations: Array
    converged: Array


class _State(NamedTuple):
    x: Array
    inertial: Array
    r: RowValues
    iterations: Array
    done: Array
    converged: Array


def minimise(
    layout: RowLayout, model: Model, problem: Problem, smooth: Array, guess: Array | None
) -> Solution:
    """Minimises the cost, starting from the better of two accelerations.

    Args:
      layout: the model's rows.
      model: gives tolerance, iterations and their scaling.
      problem: what to minimise.
      smooth: acceleration without constraints, `(nv, W)`.
      guess: another starting point, or None.
    """
    option = model.opt
    scale = 1 / (model.stat.meaninertia * max(1, model.nv))
    start = smooth if guess is None else _better(layout, problem, smooth, guess)
    width = start.shape[-1]
    r = residuals(problem.rows, start)
    epsilon = float(jnp.finfo(start.dtype).eps)
    nobody = jnp.zeros((width,), bool)
    count = jnp.zeros((width,), int)
    state = _State(
        start, multiply(layout, problem, start), r, count, nobody | (option.iterations <= 0), nobody
    )

    def body(state: _State) -> _State:
        g = gradient(problem, state.inertial, state.r)
        p = _newton(layout, problem, state.r, g)
        decrement = -0.5 * jnp.sum(g * p, axis=0)
        level = jnp.maximum(
            option.tolerance / scale, epsilon * cost(problem, smooth, state.x, state.inertial, state.r)
        )
        near = decrement <= level
        inertial_p = multiply(layout, problem, p)
        row_p = product(problem.rows, p)
        slope = slope_function(problem.rows, state.inertial - problem.force, inertial_p, p, state.r, row_p)
        norm = jnp.sqrt(jnp.sum(p * p, axis=0))
        enough = option.tolerance * option.ls_tolerance * norm / scale
        enough = jnp.maximum(enough, _SEARCH_RELATIVE * 2 * decrement)
        enough = jnp.where(near | state.done, jnp.inf, enough)
        t = search(slope, enough, option.ls_iterations, width, p.dtype)
        t_step = jnp.where(state.done, 0, t)
        r = jax.tree.map(lambda a, b: a + t_step * b, state.r, row_p)
        exact = (t == 1) & _same(problem.rows, state.r, r)
        iterations = state.iterations + ~state.done
        converged = jnp.where(state.done, state.converged, near | exact)
        return _State(
            x=state.x + t_step * p,
            inertial=state.inertial + t_step * inertial_p,
            r=r,
            iterations=iterations,
            done=state.done | converged | (iterations >= option.iterations),
            converged=converged,
        )

    state = lax.while_loop(lambda s: ~jnp.all(s.done), body, state)
    return Solution(state.x, state.iterations, state.converged)


def _better(layout: RowLayout, problem: Problem, smooth: Array, guess: Array) -> Array:
    """Of two accelerations the one of lower cost, world by world."""
    cost_smooth = cost(problem, smooth, smooth, problem.force, residuals(problem.rows, smooth))
    cost_guess = cost(
        problem, smooth, guess, multiply(layout, problem, guess), residuals(problem.rows, guess)
    )
    return jnp.where(cost_guess > cost_smooth, smooth, guess)


def _newton(layout: RowLayout, problem: Problem, r: RowValues, g: Array) -> Array:
    """-H^-1 g."""
    H = hessian(layout, problem, r)
    return -linalg.solve_tree(layout.hessian, H, g)


def _same(rows: Rows, a: RowValues, b: RowValues) -> Array:
    """Whether no row changed its zone, and none is where its cost is not quadratic, `(W,)`."""
    changed = cone.scalar_zone(rows, a.scalar) != cone.scalar_zone(rows, b.scalar)
    same = ~jnp.any(changed, axis=0)
    for group, x, y in zip(rows.elliptic, a.elliptic, b.elliptic, strict=True):
        zone = cone.cone_zone(group, y)
        same = same & jnp.all((cone.cone_zone(group, x) == zone) & (zone != cone.NOT_QUADRATIC), axis=0)
    return same
