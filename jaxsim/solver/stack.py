"""All constraint rows of a state, stacked. Native layout.

A row with Jacobian `J` has the residual `r = J x - aref` of an acceleration `x`, and makes the force
`clip(-D r, low, high)`: equalities are unbounded, friction loss is bounded by the loss, limits only push, and so do
the edges `n +- mu_k t_k` of a friction pyramid, whose residuals combine those of the contact's base rows (normal,
tangents, torsion, rolling). One formula serves them all, so they stand in one array; a row out of use has `D = 0`.
Contacts with elliptic cones keep their base rows.
"""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from jaxsim.math.axis import concat
from jaxsim.math.stage import stage
from jaxsim.pytree import Record, leaf, record, static
from jaxsim.solver.bodies import BodyJacobian
from jaxsim.solver.jacobian import Curvature, DenseJacobian, DofJacobian
from jaxsim.structure.sparsity import TreeStructure

__all__ = [
    "Block",
    "Elliptic",
    "Jacobian",
    "RowValues",
    "Rows",
    "edges",
    "gram",
    "product",
    "residuals",
    "transpose",
]

Jacobian = DofJacobian | DenseJacobian | BodyJacobian


@record
class Block(Record):
    """Consecutive scalar rows with a Jacobian of one kind."""

    J: Jacobian = leaf("", "their Jacobian; of base rows for pyramids")
    size: int = static("number of rows")
    friction: Array | None = leaf("n dim-1", "friction of pyramids; None: the rows are those of J")


@record
class Elliptic(Record):
    """Contacts with elliptic cones, of one dimension."""

    J: DenseJacobian | BodyJacobian = leaf("", "Jacobian of base rows")
    D: Array = leaf("n dim", "inverse regularisation, 0 out of use")
    aref: Array = leaf("n dim", "reference acceleration")
    friction: Array = leaf("n dim-1", "friction coefficients")
    mu: Array = leaf("n", "friction coefficient of the regularised cone")


@record
class Rows(Record):
    """All rows of a state, in the order of `efc_force`."""

    blocks: tuple[Block, ...] = leaf("", "the Jacobian of the scalar rows, block by block")
    D: Array = leaf("k", "inverse regularisation of scalar rows, 0 out of use")
    aref: Array = leaf("k", "their reference acceleration")
    low: Array = leaf("k", "their least force")
    high: Array = leaf("k", "their greatest force")
    elliptic: tuple[Elliptic, ...] = leaf("", "contacts with elliptic cones")

    def formed(self) -> Rows:
        """With all entries of Jacobians that are formed only for the Hessian."""
        return jax.tree.map(
            lambda J: J.formed() if isinstance(J, BodyJacobian) else J,
            self,
            is_leaf=lambda x: isinstance(x, BodyJacobian),
        )


class RowValues(NamedTuple):
    """A number for every row: residuals or forces.

    Attributes:
      scalar: `(k, W)`.
      elliptic: by group, `(n, dim, W)`.
    """

    scalar: Array
    elliptic: tuple[Array, ...]


def edges(friction: Array, base: Array) -> Array:
    """Values of pyramid edges, `(n * 2 (dim - 1), W)`, from base rows `(n, dim, W)`."""
    normal, tangent = base[:, :1], friction * base[:, 1:]
    both = jnp.stack([normal + tangent, normal - tangent], axis=2)
    return both.reshape(-1, both.shape[-1])


def _base_forces(friction: Array, edge_forces: Array) -> Array:
    """Forces in base rows, `(n, dim, W)`, from those of pyramid edges; the transpose of `edges`."""
    n, k = friction.shape[:2]
    f = edge_forces.reshape(n, k, 2, -1)
    normal = f[:, 0, 0] + f[:, 0, 1]
    for i in range(1, k):
        normal = normal + f[:, i, 0] + f[:, i, 1]
    return jnp.concatenate([normal[:, None], friction * (f[:, :, 0] - f[:, :, 1])], axis=1)


def _base_curvature(friction: Array, c: Array) -> Curvature:
    """Curvature in base rows from that of pyramid edges, `(n * 2 (dim - 1), W)`."""
    n, k = friction.shape[:2]
    c = c.reshape(n, k, 2, -1)
    plus, minus = c[:, :, 0], c[:, :, 1]
    C: Curvature = [[None] * (k + 1) for _ in range(k + 1)]
    both = plus + minus
    total = both[:, 0]
    for i in range(1, k):
        total = total + both[:, i]
    C[0][0] = total
    for i in range(k):
        mu = friction[:, i]
        C[0][i + 1] = C[i + 1][0] = mu * (plus[:, i] - minus[:, i])
        C[i + 1][i + 1] = mu * mu * both[:, i]
    return C


@stage
def product(rows: Rows, x: Array) -> RowValues:
    """J x."""
    parts = []
    for block in rows.blocks:
        y = block.J.product(x)
        if block.friction is not None:
            y = edges(block.friction, y)
        parts.append(y.reshape(-1, y.shape[-1]))
    scalar = concat(parts) if parts else jnp.zeros((0, x.shape[-1]), x.dtype)
    return RowValues(scalar, tuple(group.J.product(x) for group in rows.elliptic))


def residuals(rows: Rows, x: Array) -> RowValues:
    """J x - aref."""
    values = product(rows, x)
    elliptic = tuple(v - group.aref for v, group in zip(values.elliptic, rows.elliptic, strict=True))
    return RowValues(values.scalar - rows.aref, elliptic)


def transpose(rows: Rows, f: RowValues, like: Array) -> Array:
    """J^T f, `(nv, W)`; `like` is any array of that shape."""
    total = jnp.zeros_like(like)
    start = 0
    for block in rows.blocks:
        part = f.scalar[start : start + block.size]
        start += block.size
        if block.friction is not None:
            part = _base_forces(block.friction, part)
        elif not isinstance(block.J, DofJacobian):
            part = part[:, None]
        total = total + block.J.transpose(part)
    for group, part in zip(rows.elliptic, f.elliptic, strict=True):
        total = total + group.J.transpose(part)
    return total


def gram(rows: Rows, structure: TreeStructure, scalar: Array, elliptic: list[Curvature]) -> Array | int:
    """Entries of `J^T C J` for the curvature of scalar rows `(k, W)` and of elliptic contacts; 0 without rows."""
    total: Array | int = 0
    start = 0
    for block in rows.blocks:
        c = scalar[start : start + block.size]
        start += block.size
        if isinstance(block.J, DofJacobian):
            part = block.J.gram(structure, c)
        elif block.friction is not None:
            part = block.J.gram(structure, _base_curvature(block.friction, c))
        else:
            part = block.J.gram(structure, [[c]])
        total = total + part
    for group, C in zip(rows.elliptic, elliptic, strict=True):
        total = total + group.J.gram(structure, C)
    return total
