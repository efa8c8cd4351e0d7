"""Derivative of the no-slip forces by the implicit function theorem. Native layout.

At their fixed point a friction row either *sticks*: its force is within its bound and its residual `J x - aref` is
zero; or it *slips*: its force is the bound times a direction that the residual gives, `-u` of `u = r / |r|` in a ball.
With `x = M^-1 (force + J^T f)` the changes of x and of the sticking forces y solve

    (M + J^T C J) dx - J_s^T dy = -d(imbalance),     J_s dx = -d(J_s x - aref_s),

where C is the curvature of slipping balls. Sticking rows may be more than there are ways to move, as those of a box
with four contacts: dx is unique then, dy is not. The method of multipliers gives both without asking for the rank: a
stiff spring E holds the sticking rows, and its force is taken over by dy, a few times; what is left falls by the
stiffness each time. Which rows stick is held fixed: it is told by the forces as the sweeps left them, since bounds that
are computed again have the rounding of residuals times their stiffness.
"""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from jaxsim.math import safe
from jaxsim.math.axis import take
from jaxsim.math.ruled import ruled
from jaxsim.solver import linalg
from jaxsim.solver.assembly import Problem
from jaxsim.solver.curvature import Curvature
from jaxsim.solver.hessian import embedded
from jaxsim.solver.rows import RowValues, transpose
from jaxsim.solver.slip import Friction, friction_rows, with_friction
from jaxsim.structure.rows import RowLayout

__all__ = ["held", "sticking"]

_ROUNDS = 5
"""Times that dy takes over from the spring."""
_STIFFNESS = -0.25
"""The spring's stiffness, by the inverse inertia of its row, is this power of the rounding error: its square root
would lose half of all digits, and each round gains what the stiffness is."""
_SLACK = 64
"""Rounding errors by which a force may miss its bound and still slip."""


@ruled(static=1)
def held(
    layout: RowLayout, problem: Problem, f: RowValues, y: list[Array], sticks: list[Array]
) -> list[Array]:
    """Gives no-slip forces y their derivative by the problem and by the main solver's forces f; y is constant.

    `sticks`: see `sticking`.
    """
    del layout, problem, f, sticks
    return y


@held.defjvp
def _held_jvp(
    layout: RowLayout,
    primals: tuple[Problem, RowValues, list[Array], list[Array]],
    tangents: tuple[Problem, RowValues, list[Array], list[Array]],
) -> tuple[list[Array], list[Array]]:
    """The forces and their tangent: one linear system, solved a few times."""
    given, change, sticks = primals[:2], tangents[:2], primals[3]
    y = held(layout, *primals)
    parts, _ = friction_rows(layout, given[0].rows, given[1])
    x = _acceleration(layout, given[0], given[1], parts, y)
    r = [part.residual(x) for part in parts]

    def forces(problem: Problem, f: RowValues, x: Array) -> list[Array]:
        """Of slipping rows as functions of everything, of sticking rows constant."""
        parts, _ = friction_rows(layout, problem.rows, f)
        return [
            jnp.where(stick, own, _slipping(part, own, part.residual(x)))
            for part, stick, own in zip(parts, sticks, y, strict=True)
        ]

    def imbalance(problem: Problem, f: RowValues) -> Array:
        parts, _ = friction_rows(layout, problem.rows, f)
        all_forces = with_friction(problem.rows, f, parts, forces(problem, f, x))
        inertial = linalg.mul_tree(layout.inertia, problem.M, x)
        return inertial - problem.force - transpose(problem.rows, all_forces, x)

    def slips(problem: Problem, f: RowValues) -> list[Array]:
        return [part.residual(x) for part in friction_rows(layout, problem.rows, f)[0]]

    dimbalance = jax.jvp(imbalance, given, change)[1]
    dslips = jax.jvp(slips, given, change)[1]
    E = [
        jnp.where(stick, _spring(layout, given[0], part), 0)
        for part, stick in zip(parts, sticks, strict=True)
    ]
    dx, dy = _solved(layout, given[0], _System(parts, sticks, r, E), dimbalance, dslips)
    dslipping = jax.jvp(forces, (*given, x), (*change, dx))[1]
    return y, [jnp.where(s, a, b) for s, a, b in zip(sticks, dy, dslipping, strict=True)]


def _acceleration(
    layout: RowLayout, problem: Problem, f: RowValues, parts: list[Friction], y: list[Array]
) -> Array:
    push = transpose(problem.rows, with_friction(problem.rows, f, parts, y), problem.force)
    return linalg.solve_tree(layout.inertia, problem.M, problem.force + push)


def sticking(
    layout: RowLayout, problem: Problem, f: RowValues, parts: list[Friction], y: list[Array]
) -> list[Array]:
    """Which friction rows stick, `(n, d, W)` each, by the no-slip forces y beside the main solver's forces f."""
    x = _acceleration(layout, problem, f, parts, y)
    return [_sticks(part, own, part.residual(x)) for part, own in zip(parts, y, strict=True)]


def _sticks(part: Friction, y: Array, r: Array) -> Array:
    """Which forces are within their bounds, `(n, d, W)`, or have no direction to slip in."""
    slack = 1 - _SLACK * float(jnp.finfo(y.dtype).eps)
    size = _length(y) if part.round else jnp.abs(y)
    inside = size < slack * part.bound
    return inside | ((_length(r) == 0) & (part.bound > 0)) if part.round else inside


def _length(x: Array) -> Array:
    return jnp.broadcast_to(safe.norm(x)[:, None], x.shape)


def _slipping(part: Friction, y: Array, r: Array) -> Array:
    """Forces at their bounds, as functions of bounds and residuals."""
    if part.round:
        return -part.bound * safe.normalize(r)[0]
    # where the bound is 0, as the force that begins with it
    return part.bound * jnp.sign(lax.stop_gradient(jnp.where(part.bound == 0, -r, y)))


class _System(NamedTuple):
    """The linear system of the derivative, by part: rows, which stick, residuals, springs."""

    parts: list[Friction]
    sticks: list[Array]
    r: list[Array]
    E: list[Array]


def _solved(
    layout: RowLayout, problem: Problem, system: _System, dimbalance: Array, dslips: list[Array]
) -> tuple[Array, list[Array]]:
    """The changes dx and dy, the latter of sticking forces."""
    parts, sticks, r, E = system
    H = embedded(layout, problem.M)
    for part, stick, own, spring in zip(parts, sticks, r, E, strict=True):
        H = H + part.gram(layout.hessian, _curvature(part, stick, own, spring))

    def pulled(y: list[Array]) -> Array:
        total = jnp.zeros_like(dimbalance)
        for part, own in zip(parts, y, strict=True):
            total = total + part.transpose(own)
        return total

    def take_over(dy: list[Array], _: None) -> tuple[list[Array], Array]:
        with_springs = [a - spring * slip for a, spring, slip in zip(dy, E, dslips, strict=True)]
        dx = linalg.solve_tree(layout.hessian, H, pulled(with_springs) - dimbalance)
        return [
            a - spring * part.moved(dx) for a, spring, part in zip(with_springs, E, parts, strict=True)
        ], dx

    start = [jnp.zeros((*x.shape[:-1], dimbalance.shape[-1]), x.dtype) for x in dslips]
    dy, all_dx = lax.scan(take_over, start, length=_ROUNDS)
    return all_dx[-1], dy


def _curvature(part: Friction, stick: Array, r: Array, spring: Array) -> Curvature:
    """Of springs where rows stick; of a slipping ball that of `bound |r|`: `bound (1 - u u^T) / |r|`."""
    d = range(r.shape[1])
    if not part.round:
        return [[spring[:, i] if i == j else None for j in d] for i in d]
    u, length = safe.normalize(r)
    stiffness = safe.divide(part.bound[:, 0], length[:, 0])
    C: Curvature = []
    for i in d:
        row: list[Array | None] = []
        for j in d:
            slipping = stiffness * ((i == j) - u[:, i] * u[:, j])
            row.append(jnp.where(stick[:, 0], spring[:, i] if i == j else 0, slipping))
        C.append(row)
    return C


def _spring(layout: RowLayout, problem: Problem, part: Friction) -> Array:
    """Stiffness of the springs, `(n, d, W)`, by the inverse inertia that each row has by the diagonal of M."""
    structure = layout.inertia
    diagonal = lax.stop_gradient(take(problem.M, np.flatnonzero(structure.rows == structure.cols)))
    weak = lax.stop_gradient(part.inverse_inertia(1 / diagonal))
    stiffness = float(jnp.finfo(weak.dtype).eps) ** _STIFFNESS
    return safe.divide(jnp.full_like(weak, stiffness), weak)
