"""Cost and gradient of the reduced primal problem, put together from its rows. Native layout.

Source: Computation chapter, "Constraint solver" and "Reduced primal problem".
"""

from __future__ import annotations

import functools

import jax.numpy as jnp
from jax import Array

from jaxsim.math.axis import sum_rows
from jaxsim.math.stage import stage
from jaxsim.pytree import Record, leaf
from jaxsim.solver import cone
from jaxsim.solver.rows import Rows, RowValues, transpose

__all__ = ["Problem", "cost", "forces", "push"]


class Problem(Record):
    """What is minimised: `(x - M^-1 force)^T M (x - M^-1 force) / 2 + s(J x - aref)`."""

    M: Array = leaf("nM", "joint-space inertia, entries of the kinematic tree")
    force: Array = leaf("nv", "smooth force, N and N m")
    rows: Rows = leaf("", "constraint rows")


def forces(rows: Rows, r: RowValues) -> RowValues:
    """Forces of all rows at their residuals."""
    cones = (cone.cone_force(group, x) for group, x in zip(rows.cones, r.cones, strict=True))
    return RowValues(cone.scalar_force(rows, r.scalar), tuple(cones))


@stage
def cost(problem: Problem, smooth: Array, x: Array, inertial: Array, r: RowValues) -> Array:
    """The cost at `x`, `(W,)`.

    Args:
      problem: what is minimised.
      smooth: `M^-1 force`, the acceleration without constraints.
      x: acceleration.
      inertial: M x.
      r: residuals at x.
    """
    parts = [0.5 * (inertial - problem.force) * (x - smooth), cone.scalar_cost(problem.rows, r.scalar)]
    parts += [cone.cone_cost(group, v) for group, v in zip(problem.rows.cones, r.cones, strict=True)]
    return functools.reduce(jnp.add, [sum_rows(part) for part in parts])


def push(rows: Rows, r: RowValues, like: Array) -> Array:
    """Constraint force on the dofs at some residuals, J^T f, `(nv, W)`; `like` is any array of that shape."""
    return transpose(rows, forces(rows, r), like)
