"""Newton's method on the reduced primal problem, all worlds at once. Native layout.

Minimises over accelerations `x` the cost `(x - a0)^T M (x - a0) / 2 + s(J x - aref)` (Computation chapter,
"Constraint solver"). The gradient is `g = M x - tau - J^T f`, the Hessian `H = M + J^T C J` with the curvature `C` of
the rows. One iteration factorises H, steps along `-H^-1 g` and searches that line.

A world is done when
 - it took a full step on which no row changed its zone: the cost was exactly quadratic and the minimum is found;
 - or its Newton decrement `g^T H^-1 g / 2` is below tolerance, and the step left all rows in their zones;
 - or it is in every kinematic tree below the round-off of the cost: then the full step is taken whatever the cost says,
   since a cost near its minimum cannot resolve it;
 - or it has used up its iterations.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array, lax

from jaxsim.math.axis import any_row, sum_rows, take
from jaxsim.math.gather import width_of
from jaxsim.math.some import MANY_WORLDS, in_some_worlds
from jaxsim.math.stage import platform, stage
from jaxsim.model import Model
from jaxsim.solver import cone, linalg
from jaxsim.solver.assembly import Problem, cost, push
from jaxsim.solver.compact import compact, touching_first
from jaxsim.solver.hessian import hessian, solve_hessian
from jaxsim.solver.linesearch import search
from jaxsim.solver.rows import Rows, RowValues, product, residuals, with_jacobians
from jaxsim.structure.rows import RowLayout
from jaxsim.structure.sparsity import trees_of

__all__ = ["Limits", "Solution", "finish", "minimise", "start"]

_SEARCH_RELATIVE = 1e-3
"""A slope this small against that at the start ends a line search, but for that of the last iteration."""

_SLOPE_LEFT = 0.1
"""Share of the slope at the start of a line search above which none ends, of many trees, whatever the tolerance."""

Product = Callable[[Array], Array]


_ROUGH = 0.1
"""Share of a direction's energy that may be missing while rows still change their zones, of models of many trees."""

_LOST = 16
"""Worlds with more contacts than are kept that are gathered at a time on a CPU: two vectors, as hardly any have."""

_MANY = 20
"""Iterations from which on they need not be Newton's own."""


_Tables = tuple["Limits", Problem, Array, Array | None]
"""Limits, what is minimised, acceleration without constraints, another guess or None."""


class Solution(NamedTuple):
    """Where the iteration ended.

    Attributes:
      x: acceleration, `(nv, W)`.
      inertial: M x, `(nv, W)`.
      r: residuals of the rows; 0 of contacts out of use, where they were left out.
      push: constraint force J^T f, `(nv, W)`.
      iterations: iterations used, `(W,)`.
      done: whether to stop, `(W,)`.
      converged: whether it stopped before it ran out of iterations, `(W,)`.
      settled: whether the last step left all rows in their zones, `(W,)`.
      longest: square of the longest Newton step so far in the metric of the Hessian, `(W,)`.
    """

    x: Array
    inertial: Array
    r: RowValues
    push: Array
    iterations: Array
    done: Array
    converged: Array
    settled: Array
    longest: Array


class Limits(NamedTuple):
    """When to stop, each `(1,)` or `(W,)`.

    Attributes:
      decrement: Newton decrement that counts as zero.
      slope: slope of a line search, by length of the direction, that counts as zero.
      iterations: most iterations.
      evaluations: most evaluations of a line search.
    """

    decrement: Array
    slope: Array
    iterations: Array
    evaluations: Array


def minimise(
    layout: RowLayout, model: Model, problem: Problem, smooth: Array, guess: Array | None
) -> Solution:
    """Minimises the cost, starting from the better of two accelerations.

    Many worlds, or one on a CPU, iterate on the contacts that touch alone (`solver/compact.py`); those that have too
    many do so afterwards, on all slots, without holding up the others.

    Args:
      layout: the model's rows.
      model: gives tolerance, iterations and their scaling.
      problem: what to minimise; Jacobians are computed of the contacts that are worked on.
      smooth: acceleration without constraints, `(nv, W)`.
      guess: another starting point, or None.

    Returns:
      Where the iteration ended.
    """
    option = model.opt
    unit = model.stat.meaninertia * max(1, model.nv)
    limits = Limits(
        decrement=option.tolerance * unit,
        slope=option.tolerance * option.ls_tolerance * unit,
        iterations=option.iterations,
        evaluations=option.ls_iterations,
    )

    def on_all(tables: _Tables, gathered: bool) -> Solution:
        limits, problem, smooth, guess = tables
        problem = problem.replace(rows=with_jacobians(problem.rows))
        return _minimise(layout, limits, problem, smooth, guess, gathered)

    def on_more(tables: _Tables, _: Solution) -> Solution:
        """In worlds with more contacts than are kept."""
        limits, problem, smooth, guess = tables
        some = touching_first(problem.rows)
        if some is None:
            return on_all(tables, False)
        problem = problem.replace(rows=some.rows(problem.rows))
        found = _minimise(layout, limits, problem, smooth, guess, False)
        return found._replace(r=some.spread(tables[1].rows, found.r))

    tables = limits, problem, smooth, guess
    width = width_of((problem, smooth))
    gathered = width >= MANY_WORLDS
    few = compact(problem.rows, width, iterated=True)
    if few is None:
        return on_all(tables, gathered)
    lost = jnp.broadcast_to(few.lost, (width,))
    found = _minimise(
        layout, limits, problem.replace(rows=few.rows(problem.rows)), smooth, guess, gathered, lost
    )
    found = found._replace(r=few.spread(problem.rows, found.r))
    return in_some_worlds(on_more, lost, tables, found, lanes=_LOST)


def _minimise(
    layout: RowLayout,
    limits: Limits,
    problem: Problem,
    smooth: Array,
    guess: Array | None,
    gathered: bool,
    left_out: Array | None = None,
) -> Solution:
    """Iterates until all worlds are done, but for those that are left out.

    On a CPU, where work counts, once half of them are done some of the others are gathered (if `gathered`) in narrower
    loops, so that the few that take long do not make all of them pay.
    """
    multiply = linalg.product_of(layout.inertia, problem.M)
    state = start(problem, multiply, smooth, guess)
    state = state._replace(done=state.done | (limits.iterations <= 0))
    if left_out is not None:
        state = state._replace(done=state.done | left_out)
    if not gathered or platform() != "cpu":
        return finish(layout, limits, problem, smooth, state)
    state = finish(layout, limits, problem, smooth, state, left=state.done.size // 2)

    def rest(tables: tuple[Limits, Problem, Array], state: Solution) -> Solution:
        return finish(layout, *tables, state)

    return in_some_worlds(rest, ~state.done, (limits, problem, smooth), state)


def finish(
    layout: RowLayout, limits: Limits, problem: Problem, smooth: Array, state: Solution, left: int = 0
) -> Solution:
    """Iterates until all worlds are done but for `left` or fewer."""
    multiply = linalg.product_of(layout.inertia, problem.M)
    step = functools.partial(_iterate, layout, limits, problem, multiply, smooth)

    def goes_on(state: Solution) -> Array:
        return jnp.sum(~state.done) > left if left else jnp.any(~state.done)

    return lax.while_loop(goes_on, step, state)


def start(problem: Problem, multiply: Product, smooth: Array, guess: Array | None) -> Solution:
    """Of two accelerations the one of lower cost, world by world; `multiply` multiplies by M.

    Done from the start are the worlds where nothing acts: the acceleration without constraints balances all forces.
    """
    r = residuals(problem.rows, smooth)
    x, inertial = smooth, problem.force
    if guess is not None:
        r_guess, inertial_guess = residuals(problem.rows, guess), multiply(guess)
        before = cost(problem, smooth, smooth, problem.force, r)
        keep = cost(problem, smooth, guess, inertial_guess, r_guess) > before
        x, inertial, r = jax.tree.map(
            lambda a, b: jnp.where(keep, a, b), (x, inertial, r), (guess, inertial_guess, r_guess)
        )
    width = width_of((problem, x, r))
    x, inertial, r = jax.tree.map(lambda a: jnp.broadcast_to(a, (*a.shape[:-1], width)), (x, inertial, r))
    force = push(problem.rows, r, x)
    free = ~any_row(inertial != problem.force + force)
    nobody = jnp.zeros((width,), bool)
    none = jnp.zeros((width,), int)
    return Solution(x, inertial, r, force, none, free, free, nobody, 0 * x[0])


def _iterate(
    layout: RowLayout, limits: Limits, problem: Problem, multiply: Product, smooth: Array, state: Solution
) -> Solution:
    """One Newton step of the worlds that are not done; `multiply` multiplies by M."""
    rows = problem.rows
    g = state.inertial - problem.force - state.push
    H = hessian(layout, problem, state.r)
    last = state.iterations + 1 >= limits.iterations
    rough = ~(state.settled | last | (limits.iterations < _MANY)) & (not layout.whole)
    p = -solve_hessian(layout, problem, H, g, jnp.where(rough, _ROUGH, 0.0), state.longest)
    decrement = -0.5 * sum_rows(g * p)
    left = jnp.where(jnp.abs(decrement) <= limits.decrement, _NEAR, _FAR)
    left = jnp.where(_at_round_off(layout, problem, smooth, state, g * p), _ROUNDED, left)
    inertial_p, row_p = multiply(p), product(rows, p)
    # what is below the tolerance of a world may be all there is of a light tree in it: its step must not make it worse
    several = _several_trees(layout)
    enough = limits.slope * jnp.sqrt(sum_rows(p * p))
    enough = jnp.minimum(enough, _SLOPE_LEFT * 2 * decrement) if several else enough
    relative = jnp.where(last, 4 * float(jnp.finfo(p.dtype).eps), _SEARCH_RELATIVE)
    enough = jnp.maximum(enough, relative * 2 * decrement)
    sure = left <= (_ROUNDED if several else _NEAR)
    enough = jnp.where(sure | state.done | _is_exact(layout, rows, state.r, row_p, rough), jnp.inf, enough)
    direction = (p, inertial_p, row_p)
    balance = state.inertial - problem.force
    t = search(rows, balance, direction, state.r, -2 * decrement, enough, limits.evaluations)
    longest = jnp.maximum(state.longest, 2 * decrement)
    step = _Step(t, direction, longest, left, rough, lost=jnp.isnan(decrement))
    return _advance(rows, limits.iterations, state, step)


def _several_trees(layout: RowLayout) -> bool:
    """Whether there are several kinematic trees."""
    return trees_of(layout.inertia).shape[1] > 1


def _at_round_off(
    layout: RowLayout, problem: Problem, smooth: Array, state: Solution, descent: Array
) -> Array:
    """Whether the decrement of every kinematic tree is below the rounding error of its part of the cost, `(W,)`.

    By tree, because the rounding of a heavy one must not end the search of a light one. A row's cost belongs to no
    degree of freedom, so a tree's part is taken to be of the size of what constraints change: forces times
    accelerations; where they change nothing, what is left is the rounding of both.

    Args:
      layout: the model's rows.
      problem: what is minimised.
      smooth: acceleration without constraints, `(nv, W)`.
      state: where the iteration is.
      descent: g p, `(nv, W)`, of which the decrements are sums.
    """
    epsilon = float(jnp.finfo(descent.dtype).eps)
    if not _several_trees(layout):
        size = cost(problem, smooth, state.x, state.inertial, state.r)
        return jnp.abs(0.5 * sum_rows(descent)) <= epsilon * size
    trees = trees_of(layout.inertia)
    forces = jnp.abs(state.inertial) + jnp.abs(problem.force) + jnp.abs(state.push)
    rounded = epsilon * forces * (jnp.abs(state.x) + jnp.abs(smooth))
    changed = (jnp.abs(state.inertial - problem.force) + jnp.abs(state.push)) * jnp.abs(state.x - smooth)
    terms = jnp.stack([descent, changed + rounded], axis=1)
    terms = take(jnp.concatenate([terms, jnp.zeros((1, *terms.shape[1:]), terms.dtype)]), trees.reshape(-1))
    found = sum_rows(terms.reshape(*trees.shape, *terms.shape[1:]))
    return jnp.all(jnp.abs(found[:, 0]) <= epsilon * found[:, 1], axis=0)


def _is_exact(layout: RowLayout, rows: Rows, r: RowValues, row_p: RowValues, rough: Array) -> Array:
    """Whether the full step leads to the minimum, as no row changes its zone on the way, `(W,)`; of one tree not asked.

    Where forces are large that cancel, as those of a contact's edges if nothing can move along its normal, the slope
    that a search would look at is rounding, and so would be the step. One tree's search ends before, by its cost.
    """
    if not _several_trees(layout):
        return jnp.zeros(rough.shape, bool)
    same, quadratic = _same(rows, r, jax.tree.map(operator.add, r, row_p))
    return same & quadratic & ~rough


_ROUNDED, _NEAR, _FAR = range(3)


class _Step(NamedTuple):
    """A step of all worlds.

    Attributes:
      t: length, `(W,)`.
      direction: p, M p and J p.
      longest: as of `Solution`, `(W,)`.
      left: how much is left to gain, `(W,)`: `_ROUNDED`, less than rounding in every tree, `_NEAR`, less than the
        tolerance, or `_FAR`, more.
      rough: whether the direction is Newton's only nearly, `(W,)`.
      lost: whether the world is not a number any more, `(W,)`.
    """

    t: Array
    direction: tuple[Array, Array, RowValues]
    longest: Array
    left: Array
    rough: Array
    lost: Array


def _advance(rows: Rows, limit: Array, state: Solution, step: _Step) -> Solution:
    """Takes a step and decides who is done."""
    moved = jnp.where(state.done, 0, step.t)
    before = (state.x, state.inertial, state.r)
    x, inertial, r = jax.tree.map(lambda a, b: a + moved * b, before, step.direction)
    same, quadratic = _same(rows, state.r, r)
    exact = (step.t == 1) & same & quadratic & ~step.rough
    iterations = state.iterations + ~state.done
    ends = ((step.left == _NEAR) & same) | (step.left == _ROUNDED) | exact
    converged = jnp.where(state.done, state.converged, ends & ~step.lost)
    return Solution(
        x=x,
        inertial=inertial,
        r=r,
        push=push(rows, r, x),
        iterations=iterations,
        done=state.done | converged | step.lost | (iterations >= limit),
        settled=same,
        longest=step.longest,
        converged=converged,
    )


@stage
def _same(rows: Rows, a: RowValues, b: RowValues) -> tuple[Array, Array]:
    """Whether no row changed its zone, `(W,)`, and whether none is where its cost is not quadratic, `(W,)`."""
    changed = cone.scalar_zone(rows, a.scalar) != cone.scalar_zone(rows, b.scalar)
    same, quadratic = ~any_row(changed), jnp.ones((1,), bool)
    for group, x, y in zip(rows.cones, a.cones, b.cones, strict=True):
        zone = cone.cone_zone(group, y)
        same = same & ~any_row(cone.cone_zone(group, x) != zone)
        quadratic = quadratic & ~any_row(zone == cone.NOT_QUADRATIC)
    return same, quadratic
