"""The Hessian of the reduced primal problem, `M + J^T C J`, and the solution of systems with it. Native layout.

Where all degrees of freedom that may touch each other are few, the Hessian is factorised as a whole. Where there are
many kinematic trees, nearly all of its entries are those of contacts between two of them, of which few touch: then it
is factorised tree by tree, and conjugate gradients with these factors find the solution. They are done at once in
worlds where no trees touch, and soon where few do (Y. Saad, "Iterative Methods for Sparse Linear Systems", 9.2).
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import NamedTuple

import jax.numpy as jnp
from jax import Array, lax

from jaxsim.math import safe
from jaxsim.math.axis import concat, sum_rows, take
from jaxsim.math.gather import width_of
from jaxsim.math.stage import stage
from jaxsim.solver import cone, linalg
from jaxsim.solver.assembly import Problem
from jaxsim.solver.jacobian import Curvature
from jaxsim.solver.rows import Rows, RowValues, gram, product, transpose
from jaxsim.structure.rows import RowLayout
from jaxsim.structure.sparsity import places_of

__all__ = ["Hessian", "embedded", "hessian", "solve_hessian"]

_ROUNDING = 16
"""Rounding errors of a solution at which conjugate gradients end."""
_MOST = 200
"""Most of their rounds."""


class Hessian(NamedTuple):
    """Second derivative of the cost.

    Attributes:
      entries: those that `layout.hessian` stores, `(nnz, W)`.
      scalar: curvature of scalar rows, `(k, W)`.
      cones: that of contacts with elliptic cones.
    """

    entries: Array
    scalar: Array
    cones: list[Curvature]


def hessian(layout: RowLayout, problem: Problem, r: RowValues) -> Hessian:
    """The Hessian of the cost at some residuals."""
    rows = problem.rows
    scalar, cones = _curvatures(rows, r)
    return Hessian(embedded(layout, problem.M) + gram(rows, layout.hessian, scalar, cones), scalar, cones)


@stage
def _curvatures(rows: Rows, r: RowValues) -> tuple[Array, list[Curvature]]:
    cones = [cone.cone_curvature(group, v) for group, v in zip(rows.cones, r.cones, strict=True)]
    return cone.scalar_curvature(rows, r.scalar), cones


def embedded(layout: RowLayout, M: Array) -> Array:
    """M's entries in the structure of the Hessian."""
    if layout.hessian == layout.inertia:
        return M
    places = places_of(layout.inertia)[layout.hessian.rows, layout.hessian.cols]
    return take(concat([M, jnp.zeros((1, M.shape[-1]), M.dtype)]), places)


def solve_hessian(
    layout: RowLayout,
    problem: Problem,
    H: Hessian,
    b: Array,
    rough: Array | float = 0.0,
    enough: Array | float = 0.0,
) -> Array:
    """Solves `(M + J^T C J) x = b`.

    Derivatives are those of the linear system: one more solution in forward and in reverse mode.

    Args:
      layout: the model's rows.
      problem: what is minimised.
      H: its Hessian.
      b: right-hand side, `(nv, W)`.
      rough: error of x, as share of its length in the metric of the matrix, with which a world may do, `(W,)`.
      enough: square of that length that counts as zero, `(1,)` or `(W,)`. A direct solution is exact in any case.
    """
    if layout.whole:
        return linalg.solve_tree(layout.hessian, H.entries, b)
    width = width_of((problem, H, b))
    fixed, own = lax.stop_gradient((problem, H))

    def solve(_: Callable[[Array], Array], right: Array) -> Array:
        multiply = linalg.product_of(layout.inertia, fixed.M)
        return _conjugate_gradients(
            lambda v: multiply(v) + _stiffness(fixed.rows, own, v),
            functools.partial(linalg.solve_tree, layout.hessian, own.entries),
            right,
            jnp.asarray(rough),
            jnp.asarray(enough),
        )

    return lax.custom_linear_solve(
        lambda v: linalg.mul_tree(layout.inertia, problem.M, v) + _stiffness(problem.rows, H, v),
        jnp.broadcast_to(b, (b.shape[0], width)),
        solve,
        symmetric=True,
    )


def _stiffness(rows: Rows, H: Hessian, v: Array) -> Array:
    """J^T C J v, `(nv, W)`."""
    along = product(rows, v)
    cones = [_curved(C, x) for C, x in zip(H.cones, along.cones, strict=True)]
    return transpose(rows, RowValues(H.scalar * along.scalar, tuple(cones)), v)


@stage
def _curved(C: Curvature, x: Array) -> Array:
    """C x for x `(n, dim, W)`."""
    sums = [functools.reduce(jnp.add, [c * x[:, j] for j, c in enumerate(row) if c is not None]) for row in C]
    return jnp.stack(sums, axis=1)


class _State(NamedTuple):
    """Of the iteration: solution, what is left of b, direction, `(n, W)` each; its length and that at which it ends."""

    x: Array
    rest: Array
    p: Array
    square: Array
    enough: Array
    rounds: Array


def _conjugate_gradients(
    multiply: Callable[[Array], Array],
    precondition: Callable[[Array], Array],
    b: Array,
    rough: Array,
    enough: Array,
) -> Array:
    """Solves A x = b, all worlds at once, for a product with A and one with nearly its inverse.

    `rough` and `enough` are those of `solve_hessian`; lengths are measured in the metric of the second product.
    """

    def going(state: _State) -> Array:
        return (state.square > state.enough) & (state.rounds < _MOST)

    def step(state: _State) -> _State:
        """One step of the worlds that are not done."""
        along = multiply(state.p)
        length = jnp.where(going(state), safe.divide(state.square, sum_rows(state.p * along)), 0)
        x, rest = state.x + length * state.p, state.rest - length * along
        z = precondition(rest)
        square = sum_rows(rest * z)
        p = z + safe.divide(square, state.square) * state.p
        return _State(x, rest, p, square, state.enough, state.rounds + 1)

    z = precondition(b)
    square = sum_rows(b * z)
    share = jnp.maximum(rough, _ROUNDING * float(jnp.finfo(b.dtype).eps))
    enough = jnp.maximum(share * share * square, enough)
    first = _State(jnp.zeros_like(b), b, z, square, enough, jnp.zeros((), int))
    return lax.while_loop(lambda state: jnp.any(going(state)), step, first).x
