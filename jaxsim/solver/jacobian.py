"""The constraint Jacobian by class of rows, and products with it. Native layout.

Source: Computation chapter, "Constraint model".

A row with Jacobian `J` has the residual `r = J x - aref` of an acceleration `x`, and makes the force
`clip(-D r, low, high)`: equalities are unbounded, friction loss is bounded by the loss, limits only push. So one
formula serves all scalar rows; a row out of use has `D = 0`. Contacts keep rows in the contact frame (normal,
tangents, torsion, rolling), and both friction cones are functions of these base rows (`solver.cone`).
"""

from __future__ import annotations

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxsim.math.rows import add_rows, take
from jaxsim.pytree import Record, leaf, record, static

__all__ = [
    "ContactRows",
    "RowValues",
    "Rows",
    "ScalarRows",
    "apply",
    "apply_transpose",
    "contract",
    "dense",
    "residuals",
]


@record
class ScalarRows(Record):
    """Rows whose force depends on their own residual alone."""

    dof: np.ndarray | None = static("the dof of each row; None: J is dense")
    sign: np.ndarray | None = static("Jacobian of each row of one dof, +1 or -1")
    J: Array | None = leaf("k nv", "dense Jacobian; None: rows of one dof")
    D: Array = leaf("k", "inverse regularisation, 0 out of use")
    R: Array = leaf("k", "regularisation")
    aref: Array = leaf("k", "reference acceleration")
    low: Array = leaf("k", "least force")
    high: Array = leaf("k", "greatest force")


@record
class ContactRows(Record):
    """Contacts of one dimension, in contact frame coordinates."""

    dim: int = static("1, 3, 4 or 6")
    elliptic: bool = static("elliptic cone, else pyramid")
    J: Array = leaf("n dim nv", "Jacobian: normal, tangents, torsion, rolling")
    D: Array = leaf("n dim", "inverse regularisation, 0 out of use; pyramid: (n 1), that of its edges")
    aref: Array = leaf("n dim", "reference acceleration; edges combine it as they combine J")
    friction: Array = leaf("n dim-1", "friction coefficients")
    mu: Array = leaf("n", "friction coefficient of the regularised cone")


@record
class Rows(Record):
    """All rows of a state, in the order of `efc_force`."""

    scalar: tuple[ScalarRows, ...] = leaf("", "rows with forces of their own")
    contacts: tuple[ContactRows, ...] = leaf("", "contacts by dimension")


class RowValues(NamedTuple):
    """A number for every row: residuals or forces.

    Attributes:
      scalar: by block of scalar rows, `(k, W)`.
      contacts: by group of contacts, `(n, dim, W)`.
    """

    scalar: tuple[Array, ...]
    contacts: tuple[Array, ...]


def contract(a: Array, b: Array) -> Array:
    """Sum over the first axes of `a (n, ..., W)` and `b (n, ..., W)`, as one elementwise kernel."""
    total = a[0] * b[0]
    for i in range(1, a.shape[0]):
        total = total + a[i] * b[i]
    return total


def dense(J: Array, x: Array) -> Array:
    """J x for J (..., nv, W) and x (nv, W)."""
    total = J[..., 0, :] * x[0]
    for j in range(1, x.shape[0]):
        total = total + J[..., j, :] * x[j]
    return total


def apply(rows: Rows, x: Array) -> RowValues:
    """J x."""
    scalar = []
    for block in rows.scalar:
        if block.dof is None or block.sign is None:
            scalar.append(dense(_given(block.J), x))
        else:
            scalar.append(take(x, block.dof) * jnp.asarray(block.sign, x.dtype)[:, None])
    return RowValues(tuple(scalar), tuple(dense(group.J, x) for group in rows.contacts))


def residuals(rows: Rows, x: Array) -> RowValues:
    """J x - aref."""
    values = apply(rows, x)
    return RowValues(
        tuple(v - block.aref for v, block in zip(values.scalar, rows.scalar, strict=True)),
        tuple(v - group.aref for v, group in zip(values.contacts, rows.contacts, strict=True)),
    )


def apply_transpose(rows: Rows, f: RowValues, like: Array) -> Array:
    """J^T f, `(nv, W)`; `like` is any array of that shape."""
    nv = like.shape[0]
    total = jnp.zeros_like(like)
    for block, v in zip(rows.scalar, f.scalar, strict=True):
        if block.dof is None or block.sign is None:
            total = total + contract(_given(block.J), v[:, None])
        else:
            total = total + add_rows(v * jnp.asarray(block.sign, v.dtype)[:, None], block.dof, nv)
    for group, v in zip(rows.contacts, f.contacts, strict=True):
        flat = group.J.reshape(-1, *group.J.shape[2:])
        total = total + contract(flat, v.reshape(-1, 1, v.shape[-1]))
    return total


def _given(x: Array | None) -> Array:
    if x is None:
        raise ValueError("rows without a dof need a dense Jacobian")
    return x
