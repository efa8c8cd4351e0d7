"""Constraint Jacobians, kept in the form each class of rows needs. Native layout.

A Jacobian multiplies accelerations, `product`; forces, `transpose`; and adds `J^T C J` to the entries of the Hessian
that `structure` keeps, `gram`. Source: Computation chapter, "Constraint model".
"""

from __future__ import annotations

import functools

import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from jaxsim.math.axis import add_rows, contract, take
from jaxsim.math.stage import stage
from jaxsim.pytree import Record, leaf, record, static
from jaxsim.structure.sparsity import TreeStructure

__all__ = ["Curvature", "DenseJacobian", "DofJacobian", "weighted"]

Curvature = list[list[Array | None]]
"""Second derivatives of the cost by a contact's base rows, `dim x dim` arrays `(n, W)`; None: zero."""


@record
class DofJacobian(Record):
    """Rows of one dof each."""

    dof: np.ndarray = static("the dof of each row")
    sign: np.ndarray = static("+1 or -1")
    nv: int = static("degrees of freedom")

    def product(self, x: Array) -> Array:
        """J x, `(k, W)`."""
        return take(x, self.dof) * jnp.asarray(self.sign, x.dtype)[:, None]

    def transpose(self, f: Array) -> Array:
        """J^T f for `f (k, W)`."""
        return add_rows(f * jnp.asarray(self.sign, f.dtype)[:, None], self.dof, self.nv)

    def gram(self, structure: TreeStructure, c: Array) -> Array:
        """Entries of `J^T diag(c) J`."""
        diagonal = np.flatnonzero(structure.rows == structure.cols)
        return add_rows(c, diagonal[self.dof], structure.size)


@record
class DenseJacobian(Record):
    """Rows with an entry for every dof: scalar rows `(k, 1, nv, W)`, contacts `(n, dim, nv, W)`."""

    J: Array = leaf("n dim nv", "the entries")

    def product(self, x: Array) -> Array:
        """J x, `(n, dim, W)`."""
        return _dense_product(self.J, x)

    def transpose(self, f: Array) -> Array:
        """J^T f for `f (n, dim, W)`."""
        return _dense_transpose(self.J, f)

    def gram(self, structure: TreeStructure, C: Curvature) -> Array:
        """Entries of `J^T C J`."""
        flat, weighted_flat = (x.reshape(-1, *x.shape[2:]) for x in (self.J, weighted(C, self.J)))
        full = jnp.einsum("kiw,kjw->ijw", *_common(flat, weighted_flat), precision=lax.Precision.HIGHEST)
        return full[structure.rows, structure.cols]


def _common(a: Array, b: Array) -> tuple[Array, Array]:
    width = max(a.shape[-1], b.shape[-1])
    return tuple(jnp.broadcast_to(x, (*x.shape[:-1], width)) for x in (a, b))  # pyright: ignore


@stage
def _dense_product(J: Array, x: Array) -> Array:
    return contract(jnp.moveaxis(J, 2, 0), x[:, None, None])


@stage
def _dense_transpose(J: Array, f: Array) -> Array:
    return contract(J.reshape(-1, *J.shape[2:]), f.reshape(-1, 1, f.shape[-1]))


@stage
def weighted(C: Curvature, J: Array) -> Array:
    """C J for `J (..., dim, p, W)` and curvatures `(..., W)`."""
    rows = []
    for row in C:
        terms = [c[..., None, :] * J[..., j, :, :] for j, c in enumerate(row) if c is not None]
        rows.append(functools.reduce(jnp.add, terms))
    return jnp.stack(rows, axis=-3)
