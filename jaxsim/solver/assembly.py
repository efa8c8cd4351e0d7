"""Cost, gradient and Hessian of the reduced primal problem, put together from its rows. Native layout.

Source: Computation chapter, "Constraint solver" and "Reduced primal problem".
"""

from __future__ import annotations

import functools

import jax.numpy as jnp
from jax import Array

from jaxsim.math.rows import add_rows
from jaxsim.pytree import Record, leaf, record
from jaxsim.solver import cone
from jaxsim.solver.jacobian import ContactRows, Rows, RowValues, apply_transpose, dense

__all__ = ["Problem", "cost", "forces", "gradient", "hessian", "multiply", "zones"]


@record
class Problem(Record):
    """What is minimised: `(x - M^-1 force)^T M (x - M^-1 force) / 2 + s(J x - aref)`."""

    M: Array = leaf("nv nv", "joint-space inertia")
    force: Array = leaf("nv", "smooth force, N and N m")
    rows: Rows = leaf("", "constraint rows")


def multiply(problem: Problem, x: Array) -> Array:
    """M x."""
    return dense(problem.M, x)


def forces(rows: Rows, r: RowValues) -> RowValues:
    """Forces of all rows at their residuals, contacts in the contact frame."""
    return RowValues(
        tuple(cone.scalar_force(block, x) for block, x in zip(rows.scalar, r.scalar, strict=True)),
        tuple(cone.contact_force(group, x) for group, x in zip(rows.contacts, r.contacts, strict=True)),
    )


def zones(rows: Rows, r: RowValues) -> list[Array]:
    """On which piece of its cost each row or contact is."""
    scalar = [cone.scalar_zone(block, x) for block, x in zip(rows.scalar, r.scalar, strict=True)]
    return scalar + [cone.contact_zone(group, x) for group, x in zip(rows.contacts, r.contacts, strict=True)]


def cost(problem: Problem, smooth: Array, x: Array, inertial: Array, r: RowValues) -> Array:
    """The cost at `x`, `(W,)`.

    Args:
      problem: what is minimised.
      smooth: `M^-1 force`, the acceleration without constraints.
      x: acceleration.
      inertial: M x.
      r: residuals at x.
    """
    rows = problem.rows
    parts = [0.5 * (inertial - problem.force) * (x - smooth)]
    parts += [cone.scalar_cost(block, v) for block, v in zip(rows.scalar, r.scalar, strict=True)]
    parts += [cone.contact_cost(group, v) for group, v in zip(rows.contacts, r.contacts, strict=True)]
    return functools.reduce(jnp.add, [jnp.sum(part, axis=0) for part in parts])


def gradient(problem: Problem, inertial: Array, r: RowValues) -> Array:
    """Gradient of the cost, `M x - force - J^T f`, from M x and the residuals."""
    balance = inertial - problem.force
    return balance - apply_transpose(problem.rows, forces(problem.rows, r), balance)


def hessian(problem: Problem, r: RowValues) -> Array:
    """Hessian of the cost, `M + J^T C J`, `(nv, nv, W)`; only its lower triangle is meant to be read."""
    nv = problem.M.shape[0]
    H = problem.M
    for block, x in zip(problem.rows.scalar, r.scalar, strict=True):
        C = cone.scalar_curvature(block, x)
        if block.J is not None:
            for k in range(block.J.shape[0]):
                H = H + (C[k] * block.J[k])[:, None] * block.J[k]
        elif block.dof is not None:
            diagonal = add_rows(C, block.dof, nv)
            H = H + jnp.eye(nv, dtype=C.dtype)[:, :, None] * diagonal[:, None]
    for group, x in zip(problem.rows.contacts, r.contacts, strict=True):
        H = H + _contact_hessian(group, x)
    return H


def _contact_hessian(group: ContactRows, r: Array) -> Array:
    """J^T C J of a group of contacts."""
    C = cone.contact_curvature(group, r)
    total: Array | int = 0
    for i in range(group.dim):
        terms = [c[:, None] * group.J[:, j] for j, c in enumerate(C[i]) if c is not None]
        CJ = functools.reduce(jnp.add, terms)
        for n in range(CJ.shape[0]):
            total = total + group.J[n, i][:, None] * CJ[n]
    return jnp.asarray(total)
