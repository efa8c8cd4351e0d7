"""The constraint rows of a state. Native layout.

A row with Jacobian `J` has the residual `r = J x - aref` of an acceleration `x`, and makes the force
`clip(-D r, low, high)`: equalities are unbounded, friction loss is bounded by the loss, limits only push, and so do
the edges of a friction pyramid. One formula serves them all, so they stand in one array; a row out of use has `D = 0`.
Contacts with elliptic cones keep the axes of their frames.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import jax.numpy as jnp
from jax import Array

from jaxsim.math.axis import concat, split
from jaxsim.math.stage import stage
from jaxsim.pytree import Record, leaf
from jaxsim.solver.chain_jacobian import ChainJacobian
from jaxsim.solver.contact_jacobian import ContactJacobian
from jaxsim.solver.curvature import Curvature
from jaxsim.solver.frames import Frames
from jaxsim.solver.gram import gram_of
from jaxsim.solver.jacobian import EdgeJacobian, Jacobian
from jaxsim.structure.sparsity import TreeStructure

__all__ = [
    "NUMBERS",
    "Cones",
    "RowValues",
    "Rows",
    "gram",
    "join",
    "pieces",
    "product",
    "residuals",
    "transpose",
    "with_jacobians",
]


class Cones(Record):
    """Contacts with elliptic cones, of one dimension."""

    J: ContactJacobian | ChainJacobian | Frames = leaf("", "Jacobian")
    D: Array = leaf("n dim", "inverse regularisation, 0 out of use")
    aref: Array = leaf("n dim", "reference acceleration")
    friction: Array = leaf("n dim-1", "friction coefficients")
    mu: Array = leaf("n", "friction coefficient of the regularised cone")
    pos: Array | None = leaf("n", "distance, m; only as they are built", default=None)
    margin: Array | None = leaf("n", "where forces begin; only as they are built", default=None)


class Rows(Record):
    """Rows of one class, or of all classes one after the other in the order of `efc_force`."""

    J: tuple[Jacobian, ...] = leaf("", "Jacobians of the scalar rows, one after the other", default=())
    D: Array = leaf("k", "inverse regularisation of scalar rows, 0 out of use")
    aref: Array = leaf("k", "their reference acceleration")
    low: Array = leaf("k", "their least force")
    high: Array = leaf("k", "their greatest force")
    cones: tuple[Cones, ...] = leaf("", "contacts with elliptic cones", default=())
    pos: Array | None = leaf(
        "k", "what should be zero or at least zero; only as they are built", default=None
    )
    margin: Array | None = leaf("k", "where forces begin; only as they are built", default=None)


class RowValues(NamedTuple):
    """A number for every row: residuals or forces.

    Attributes:
      scalar: `(k, W)`.
      cones: by group, `(n, dim, W)`.
    """

    scalar: Array
    cones: tuple[Array, ...]


NUMBERS = ("D", "aref", "low", "high")
"""What scalar rows have beside their Jacobians."""


def join(built: Sequence[Rows | Cones]) -> Rows:
    """All rows of a state, from those of its classes and its contacts with elliptic cones."""
    parts = [part for part in built if isinstance(part, Rows)]
    cones = [part for part in built if isinstance(part, Cones)]
    if not parts:
        return Rows(**dict.fromkeys(NUMBERS, jnp.zeros((0, 1))), cones=tuple(cones))
    numbers = _concatenated([{name: getattr(part, name) for name in NUMBERS} for part in parts])
    cones = [group.replace(pos=None, margin=None) for group in cones]
    return Rows(J=tuple(J for part in parts for J in part.J), cones=tuple(cones), **numbers)


@stage
def _concatenated(parts: list[dict[str, Array]]) -> dict[str, Array]:
    return {name: concat([part[name] for part in parts]) for name in NUMBERS}


def with_jacobians(rows: Rows) -> Rows:
    """The rows with the Jacobians of contacts computed, if they are not yet: all that follows needs them."""

    def computed(J: Any) -> Any:
        return J.jacobian() if isinstance(J, Frames) else J

    scalar = [J.replace(contacts=computed(J.contacts)) if isinstance(J, EdgeJacobian) else J for J in rows.J]
    cones = [group.replace(J=computed(group.J)) for group in rows.cones]
    return rows.replace(J=tuple(scalar), cones=tuple(cones))


def product(rows: Rows, x: Array) -> RowValues:
    """J x."""
    parts = [J.product(x) for J in rows.J]
    scalar = concat(parts) if parts else jnp.zeros((0, x.shape[-1]), x.dtype)
    return RowValues(scalar, tuple(cones.J.product(x) for cones in rows.cones))


@stage
def residuals(rows: Rows, x: Array) -> RowValues:
    """J x - aref."""
    values = product(rows, x)
    cones = tuple(v - group.aref for v, group in zip(values.cones, rows.cones, strict=True))
    return RowValues(values.scalar - rows.aref, cones)


def pieces(rows: Rows, values: Array) -> list[tuple[Jacobian, Array]]:
    """Each Jacobian of scalar rows with its part of values `(k, W)`."""
    return list(zip(rows.J, split(values, [J.size for J in rows.J]), strict=True)) if rows.J else []


def transpose(rows: Rows, f: RowValues, like: Array) -> Array:
    """J^T f, `(nv, W)`; `like` is any array of that shape."""
    total = jnp.zeros_like(like)
    for J, part in pieces(rows, f.scalar):
        total = total + J.transpose(part)
    for cones, part in zip(rows.cones, f.cones, strict=True):
        total = total + cones.J.transpose(part)
    return total


def gram(rows: Rows, structure: TreeStructure, scalar: Array, cones: list[Curvature]) -> Array | int:
    """Entries of `J^T C J` for the curvature of scalar rows `(k, W)` and of elliptic contacts; 0 without rows."""
    total: Array | int = 0
    together = []
    weighted = [*pieces(rows, scalar), *((group.J, C) for group, C in zip(rows.cones, cones, strict=True))]
    for J, C in weighted:
        factors = J.factors(C)
        if factors is None:
            total = total + J.gram(structure, C)
        else:
            together.append(factors)
    return total + gram_of(together, structure) if together else total
