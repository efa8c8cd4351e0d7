"""The friction rows of a state: what slips, and the forces that hold it. Native layout.

The no-slip solver takes the forces of all other rows as known (computation chapter, "Constraint solver"). Friction
loss is bounded by the loss. Of a contact the tangential axes are its friction rows, each scaled by its friction
coefficient: their forces are then bounded by normal forces alone. In an elliptic cone they are a vector no longer than
the normal force. A pyramid's pair of opposite edges shares a normal force of its own, their sum; their difference is
between it and its negative.
"""

from __future__ import annotations

import jax.numpy as jnp
from jax import Array

from jaxsim.math import safe
from jaxsim.math.axis import concat, take
from jaxsim.math.matrix import multiply
from jaxsim.pytree import Record, leaf, static
from jaxsim.solver.contact_jacobian import ContactJacobian
from jaxsim.solver.curvature import Curvature
from jaxsim.solver.jacobian import DofJacobian, EdgeJacobian, Jacobian
from jaxsim.solver.rows import Rows, RowValues, pieces
from jaxsim.structure.rows import RowLayout
from jaxsim.structure.sparsity import TreeStructure

__all__ = ["Friction", "friction_rows", "with_friction"]


class Friction(Record):
    """Friction rows of one kind, in blocks: one row, or the scaled tangential axes of a contact."""

    J: Jacobian | ContactJacobian = leaf("", "Jacobian, not scaled")
    scale: Array = leaf("n d", "what the rows are scaled by")
    aref: Array = leaf("n d", "their reference acceleration, scaled")
    bound: Array = leaf("n d", "greatest force, along each axis or in all")
    round: bool = static("", "whether the bound is of the length of a block's force", dtype=bool)
    dim: int = static("", "contact dimension; 0: friction loss")

    def moved(self, x: Array) -> Array:
        """J x, `(n, d, W)`."""
        along = self.J.product(x)
        return self.scale * (along if isinstance(self.J, ContactJacobian) else along[:, None])

    def residual(self, x: Array) -> Array:
        """J x - aref, `(n, d, W)`."""
        return self.moved(x) - self.aref

    def inverse_inertia(self, inverse: Array) -> Array:
        """The diagonal of J diag(inverse) J^T, `(n, d, W)`, for `inverse (nv, W)`."""
        if isinstance(self.J, DofJacobian):
            return self.scale**2 * take(inverse, self.J.dof)[:, None]
        assert not isinstance(self.J, EdgeJacobian)
        J = self.J.J if isinstance(self.J, ContactJacobian) else self.J.J[:, None]
        weighted = multiply((J * J).reshape(-1, *J.shape[2:]), inverse)
        return self.scale**2 * weighted.reshape(*J.shape[:2], -1)

    def transpose(self, y: Array) -> Array:
        """J^T y, `(nv, W)`."""
        y = self.scale * y
        return self.J.transpose(y) if isinstance(self.J, ContactJacobian) else self.J.transpose(y[:, 0])

    def gram(self, structure: TreeStructure, C: Curvature) -> Array:
        """Entries of J^T C J."""
        n = range(self.scale.shape[1])
        scaled: Curvature = [[_times(C[i][j], self.scale[:, i] * self.scale[:, j]) for j in n] for i in n]
        if isinstance(self.J, ContactJacobian):
            return self.J.gram(structure, scaled)
        entry = scaled[0][0]
        assert entry is not None
        return self.J.gram(structure, entry)


def _times(c: Array | None, factor: Array) -> Array | None:
    return None if c is None else c * factor


def friction_rows(layout: RowLayout, rows: Rows, f: RowValues) -> tuple[list[Friction], list[Array]]:
    """The friction rows, and their forces `(n, d, W)`: losses, then contacts by group.

    Args:
      layout: tells which rows are of friction loss.
      rows: all rows.
      f: the forces of all rows.
    """
    parts: list[Friction] = []
    forces: list[Array] = []
    numbers = zip(*(pieces(rows, x) for x in (rows.aref, rows.high, f.scalar)), strict=True)
    start = 0
    for (J, aref), (_, high), (_, force) in numbers:
        if isinstance(J, EdgeJacobian):
            if J.friction.shape[1]:
                parts.append(_pyramids(J, aref, force))
                both = _edges(J, force)
                forces.append(both[:, :, 0] - both[:, :, 1])
        elif _is_loss(layout, start):
            one = jnp.ones_like(aref[:, None])
            parts.append(
                Friction(J=J, scale=one, aref=aref[:, None], bound=high[:, None], round=False, dim=0)
            )
            forces.append(force[:, None])
        start += J.size
    for group, force in zip(rows.cones, f.cones, strict=True):
        J = ContactJacobian(J=group.J.matrix()[:, 1:])
        scaled = group.friction * group.aref[:, 1:]
        bound = jnp.broadcast_to(force[:, :1], force[:, 1:].shape)
        dim = 1 + group.friction.shape[1]
        parts.append(Friction(J=J, scale=group.friction, aref=scaled, bound=bound, round=True, dim=dim))
        forces.append(safe.divide(force[:, 1:], jnp.broadcast_to(group.friction, force[:, 1:].shape)))
    return parts, forces


def _is_loss(layout: RowLayout, row: int) -> bool:
    """Whether a row of `efc_force` is one of friction loss."""
    return any(c.kind.count == "nf" and c.start <= row < c.stop for c in layout.classes.values())


def _edges(J: EdgeJacobian, x: Array) -> Array:
    """Numbers of edges, `(n, d, 2, W)`."""
    n, d = J.friction.shape[:2]
    return x.reshape(n, d, 2, x.shape[-1])


def _pyramids(J: EdgeJacobian, aref: Array, force: Array) -> Friction:
    aref, force = _edges(J, aref), _edges(J, force)
    return Friction(
        J=ContactJacobian(J=J.contacts.matrix()[:, 1:]),
        scale=J.friction,
        aref=0.5 * (aref[:, :, 0] - aref[:, :, 1]),
        bound=force[:, :, 0] + force[:, :, 1],
        round=False,
        dim=1 + J.friction.shape[1],
    )


def with_friction(rows: Rows, f: RowValues, parts: list[Friction], y: list[Array]) -> RowValues:
    """The forces f of all rows, with other forces y of their friction rows."""
    left = list(zip(parts, y, strict=True))
    losses = [force[:, 0] for part, force in left if not part.dim]
    contacts = [(part, force) for part, force in left if part.dim]
    scalar: list[Array] = []
    for J, force in pieces(rows, f.scalar):
        if isinstance(J, EdgeJacobian) and J.friction.shape[1]:
            part, difference = contacts.pop(0)
            both = jnp.stack([part.bound + difference, part.bound - difference], axis=2)
            scalar.append(0.5 * both.reshape(J.size, -1))
        elif any(part.J is J for part in parts):
            scalar.append(losses.pop(0))
        else:
            scalar.append(force)
    cones = [
        concat([force[:, :1], part.scale * own], axis=1)
        for force, (part, own) in zip(f.cones, contacts, strict=True)
    ]
    return RowValues(concat(scalar) if scalar else f.scalar, tuple(cones))
