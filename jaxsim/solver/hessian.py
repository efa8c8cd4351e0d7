"""The Hessian of the reduced primal problem, `M + J^T C J`, and the solution of systems with it. Native layout.

Where all degrees of freedom that may touch each other are few, the Hessian is factorised as a whole. Where there are
many kinematic trees, nearly all of its entries are those of contacts between two of them, of which few touch: then it
is factorised tree by tree, and conjugate gradients with these factors find the solution. They are done at once in
worlds where no trees touch, and soon where few do (Y. Saad, "Iterative Methods for Sparse Linear Systems", 9.2).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import jax.numpy as jnp
from jax import Array, lax

from jaxsim.math import safe
from jaxsim.math.axis import concat, sum_rows, take
from jaxsim.math.gather import width_of
from jaxsim.math.some import in_some_worlds
from jaxsim.math.stage import platform, stage
from jaxsim.solver import cone, linalg, pyramid
from jaxsim.solver.assembly import Problem
from jaxsim.solver.chain_jacobian import ChainJacobian
from jaxsim.solver.curvature import Curvature
from jaxsim.solver.jacobian import EdgeJacobian
from jaxsim.solver.rows import Rows, RowValues, gram, pieces
from jaxsim.structure.rows import RowLayout
from jaxsim.structure.sparsity import places_of

__all__ = ["Hessian", "embedded", "hessian", "solve_hessian"]

_ROUNDING = 16
"""Rounding errors of a solution at which conjugate gradients end."""
_MOST = 500
"""Most of their rounds."""
_STRAGGLERS = 4
"""How many times fewer worlds than there are go on alone."""
_TOGETHER = 64
"""Worlds that go on together: of no more are some gathered."""


class Hessian(NamedTuple):
    """Second derivative of the cost.

    Attributes:
      entries: those of `layout.hessian`, if it is not whole without what contacts between trees add, `(nnz, W)`.
      scalar: curvature of scalar rows, `(k, W)`.
      cones: that of contacts with elliptic cones.
    """

    entries: Array
    scalar: Array
    cones: list[Curvature]


def hessian(layout: RowLayout, problem: Problem, r: RowValues) -> Hessian:
    """The Hessian of the cost at some residuals."""
    rows = problem.rows
    scalar, cones = _curvatures(rows, r.scalar, _zones(rows, r))
    return Hessian(embedded(layout, problem.M) + gram(rows, layout.hessian, scalar, cones), scalar, cones)


@stage
def _zones(rows: Rows, r: RowValues) -> list[cone.Zones]:
    """Where residuals of cones are: computed once, not for each entry of a curvature."""
    return [cone.zones(group, v) for group, v in zip(rows.cones, r.cones, strict=True)]


@stage
def _curvatures(rows: Rows, r: Array, at: list[cone.Zones]) -> tuple[Array, list[Curvature]]:
    """Of scalar rows with residuals r, and of cones."""
    cones = [cone.cone_curvature(group, zones) for group, zones in zip(rows.cones, at, strict=True)]
    return cone.scalar_curvature(rows, r), cones


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
    longest: Array | float = 0.0,
) -> Array:
    """Solves `(M + J^T C J) x = b`.

    Derivatives are those of the linear system: one more solution in forward and in reverse mode.

    Args:
      layout: the model's rows.
      problem: what is minimised.
      H: its Hessian.
      b: right-hand side, `(nv, W)`.
      rough: error of x, as share of its length in the metric of the matrix, with which a world may do, `(W,)`.
      longest: square of a length whose rounding errors count as none, `(W,)`. A direct solution is exact in any case.
    """
    if layout.whole:
        return linalg.solve_tree(layout.hessian, H.entries, b)
    width = width_of((problem, H, b))
    fixed, own = lax.stop_gradient((problem, H))

    def solve(_: Callable[[Array], Array], right: Array) -> Array:
        """The solution `(nv, W)` for a right-hand side."""
        joints = _joints(fixed.rows, own)
        return _conjugate_gradients(
            layout, own.entries, joints, right, jnp.asarray(rough), jnp.asarray(longest)
        )

    return lax.custom_linear_solve(
        lambda v: linalg.mul_tree(layout.hessian, H.entries, v) + _between_trees(_joints(problem.rows, H), v),
        jnp.broadcast_to(b, (b.shape[0], width)),
        solve,
        symmetric=True,
    )


class _Joint(NamedTuple):
    """Contacts of one dimension, which may join two trees, and their curvature."""

    J: ChainJacobian
    C: Curvature


def _joints(rows: Rows, H: Hessian) -> list[_Joint]:
    """All contacts."""
    edges = [(J, c) for J, c in pieces(rows, H.scalar) if isinstance(J, EdgeJacobian)]
    found = [(J.contacts, pyramid.curvature(J.friction, c)) for J, c in edges]
    found += [(group.J, C) for group, C in zip(rows.cones, H.cones, strict=True)]
    return [_Joint(J, C) for J, C in found if isinstance(J, ChainJacobian)]


def _between_trees(joints: list[_Joint], v: Array) -> Array:
    """What contacts between two trees add to the product of the Hessian's stored entries with v, `(nv, W)`."""
    total = jnp.zeros_like(v)
    for J, C in joints:
        total = total + J.between(C, v)
    return total


class _System(NamedTuple):
    """The Hessian: stored entries `(nnz, W)`, and the contacts that add to it."""

    entries: Array
    joints: list[_Joint]


class _State(NamedTuple):
    """Of the iteration: solution, what is left of b, direction, what the stored entries make of it, `(nv, W)` each.

    Then its length and that at which it ends, squares in the metric of those entries, and the number of rounds, `(W,)`.
    """

    x: Array
    rest: Array
    p: Array
    stored: Array
    square: Array
    enough: Array
    rounds: Array

    @property
    def going(self) -> Array:
        """Which worlds are not done."""
        return (self.square > self.enough) & (self.rounds < _MOST)


def _conjugate_gradients(
    layout: RowLayout, entries: Array, joints: list[_Joint], b: Array, rough: Array, longest: Array
) -> Array:
    """Solves a system by conjugate gradients with the factors of its trees, among the contacts that join two of them.

    On a CPU all worlds go on only as long as many are not done; those that are not are gathered then.

    Args:
      layout: the model's rows.
      entries: stored entries of the Hessian.
      joints: contacts that add to it.
      b: right-hand side, `(nv, W)`.
      rough: as of `solve_hessian`.
      longest: the same.
    """
    width = b.shape[-1]
    few = width // _STRAGGLERS if width > _TOGETHER and platform() == "cpu" else 0
    exact = not rough.shape  # of a derivative: no world does with less
    precondition = linalg.solver_of(layout.hessian, entries)
    z = precondition(b)
    square = sum_rows(b * z)
    rounding = _ROUNDING * float(jnp.finfo(b.dtype).eps)
    enough = jnp.maximum(rounding**2 * jnp.maximum(square, longest), rough**2 * square)
    first = _State(jnp.zeros_like(b), b, z, b, square, enough, jnp.zeros((width,), jnp.int32))
    state = _rounds(layout, _System(entries, joints), precondition, first, exact, few)
    if not few:
        return state.x

    def rest(system: _System, state: _State) -> _State:
        return _rounds(layout, system, linalg.solver_of(layout.hessian, system.entries), state, exact)

    return in_some_worlds(rest, state.going, _System(entries, joints), state, lanes=few).x


def _rounds(
    layout: RowLayout,
    system: _System,
    precondition: Callable[[Array], Array],
    state: _State,
    exact: bool,
    few: int = 0,
) -> _State:
    """Goes on until only so few worlds are not done.

    The stored entries make of a z what it was computed from, and so of a direction a sum of these, which is no product
    with them; but its rounding errors add up, which a solution that is to be exact does not accept.
    """
    multiply = linalg.product_of(layout.hessian, system.entries) if exact else None

    def step(state: _State) -> _State:
        """One step of the worlds that are not done."""
        going = state.going
        stored = state.stored if multiply is None else multiply(state.p)
        along = stored + _between_trees(system.joints, state.p)
        length = jnp.where(going, safe.divide(state.square, sum_rows(state.p * along)), 0)
        x, rest = state.x + length * state.p, state.rest - length * along
        z = precondition(rest)
        square = sum_rows(rest * z)
        turn = safe.divide(square, state.square)
        p, stored = z + turn * state.p, rest + turn * stored
        p, stored = jnp.where(going, p, state.p), jnp.where(going, stored, state.stored)
        return _State(x, rest, p, stored, square, state.enough, state.rounds + going)

    return lax.while_loop(lambda state: jnp.sum(state.going) > few, step, state)
