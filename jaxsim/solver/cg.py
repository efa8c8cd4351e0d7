"""Nonlinear conjugate gradients on the reduced primal problem, all worlds at once. Native layout.

Directions are those of Polak and Ribiere, restarted where they would turn back, in the metric of M (computation
chapter, "Constraint solver"; Nocedal and Wright, Numerical Optimization, section 5.2). The line search is Newton's, and
begins where the cost would be least if it stayed quadratic. An iteration needs no Hessian, but there are many.
"""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array, lax

from jaxsim.math import safe
from jaxsim.math.axis import sum_rows
from jaxsim.model import Model
from jaxsim.solver import linalg
from jaxsim.solver.assembly import Problem, cost, push
from jaxsim.solver.linesearch import search, slope_function
from jaxsim.solver.newton import Solution, start
from jaxsim.solver.rows import product, with_jacobians
from jaxsim.structure.rows import RowLayout

__all__ = ["conjugate_gradients"]

_SEARCH_RELATIVE = 1e-2
"""A slope this small against that at the start ends a line search."""


class _State(NamedTuple):
    """Of the iteration: where it is, the gradient there, M^-1 times it, and the direction."""

    at: Solution
    g: Array
    scaled: Array
    p: Array


def conjugate_gradients(
    layout: RowLayout, model: Model, problem: Problem, smooth: Array, guess: Array | None
) -> Solution:
    """Minimises the cost, starting from the better of two accelerations; arguments as those of `newton.minimise`.

    A world is done when its gradient or the cost that a step saved, both scaled, is below the tolerance, when rounding
    hides what is left to gain, or when iterations run out; without having converged also where the few evaluations that
    a line search may take found no step that lowers the cost.
    """
    problem = problem.replace(rows=with_jacobians(problem.rows))
    option, rows = model.opt, problem.rows
    scale = 1 / (model.stat.meaninertia * max(1, model.nv))
    multiply = linalg.product_of(layout.inertia, problem.M)
    precondition = linalg.solver_of(layout.inertia, problem.M)
    enough = option.tolerance * option.ls_tolerance / scale

    def gradient(at: Solution) -> tuple[Array, Array]:
        g = at.inertial - problem.force - at.push
        return g, precondition(g)

    def step(state: _State) -> _State:
        """One step of the worlds that are not done."""
        at, p = state.at, state.p
        inertial_p, row_p = multiply(p), product(rows, p)
        start, balance = sum_rows(state.g * p), at.inertial - problem.force
        smooth_slopes = sum_rows(balance * p), sum_rows(inertial_p * p)
        _, bend = slope_function(rows, smooth_slopes, at.r, row_p)(jnp.zeros_like(start))
        first = safe.divide(-start, bend)
        small = jnp.maximum(enough * jnp.sqrt(sum_rows(p * p)), -_SEARCH_RELATIVE * start)
        small = jnp.where(at.done, jnp.inf, small * first)
        direction = (p, inertial_p, row_p)
        ahead = jax.tree.map(lambda x: first * x, direction)
        t = search(rows, balance, ahead, at.r, first * start, small, option.ls_iterations)
        t = jnp.where(at.done, 0, first * t)
        before = (at.x, at.inertial, at.r)
        x, inertial, r = jax.tree.map(lambda a, b: a + t * b, before, direction)
        moved = at._replace(x=x, inertial=inertial, r=r, push=push(rows, r, x))
        g, scaled = gradient(moved)
        turn = safe.divide(sum_rows(g * (scaled - state.scaled)), sum_rows(state.g * state.scaled))
        after = _State(moved, g, scaled, jnp.maximum(turn, 0) * p - scaled)
        return after._replace(at=judged(state, after))

    def judged(before: _State, after: _State) -> Solution:
        """The solution after a step, with who is done."""
        at = after.at
        old, new = (cost(problem, smooth, s.x, s.inertial, s.r) for s in (before.at, at))
        rounding = float(jnp.finfo(new.dtype).eps) * jnp.abs(new)
        near = 0.5 * sum_rows(after.g * after.scaled) <= rounding
        near = near | (scale * jnp.sqrt(sum_rows(after.g * after.g)) < option.tolerance)
        worse = ~(new <= old + rounding)
        near = (near | (scale * (old - new) < option.tolerance)) & ~worse
        iterations = at.iterations + ~at.done
        converged = jnp.where(at.done, at.converged, near)
        done = at.done | converged | worse | (iterations >= option.iterations)
        kept = jax.tree.map(lambda new, old: jnp.where(worse, old, new), at, before.at)
        return kept._replace(iterations=iterations, converged=converged, done=done)

    first = start(problem, multiply, smooth, guess)
    g, scaled = gradient(first)
    none_left = sum_rows(g * scaled) <= 0
    first = first._replace(done=none_left | (option.iterations <= 0), converged=none_left)
    state = lax.while_loop(lambda s: ~jnp.all(s.at.done), step, _State(first, g, scaled, -scaled))
    return state.at
