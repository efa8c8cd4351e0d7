"""What the builders of constraint rows return, before all rows are stacked. Native layout."""

from __future__ import annotations

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxsim.math.axis import concat
from jaxsim.math.stage import stage
from jaxsim.solver.jacobian import DofJacobian
from jaxsim.solver.stack import Block, Elliptic, Jacobian, Rows

__all__ = ["Part", "stack"]

_FIELDS = ("D", "aref", "low", "high")


class Part(NamedTuple):
    """Scalar rows with a Jacobian of one kind, k of them.

    Attributes:
      J: Jacobian; of base rows for pyramids.
      D: inverse regularisation, 0 out of use, `(k, W)`.
      aref: reference acceleration, `(k, W)`.
      low: least force, `(k, W)`.
      high: greatest force, `(k, W)`.
      friction: friction coefficients of pyramids, `(n, dim - 1, W)`.
    """

    J: Jacobian
    D: Array
    aref: Array
    low: Array
    high: Array
    friction: Array | None = None


def stack(nv: int, parts: list[Part], elliptic: list[Elliptic]) -> Rows:
    """Joins the rows of a state, in the order of `efc_force`."""
    if not parts:
        none = jnp.zeros((0, 1))
        J = DofJacobian(dof=np.zeros(0, int), sign=np.zeros(0), nv=nv)
        parts = [Part(J=J, D=none, aref=none, low=none, high=none)]
    blocks = tuple(Block(J=part.J, size=part.D.shape[0], friction=part.friction) for part in parts)
    fields = _concatenated([{name: getattr(part, name) for name in _FIELDS} for part in parts])
    return Rows(blocks=blocks, elliptic=tuple(elliptic), **fields)


@stage
def _concatenated(parts: list[dict[str, Array]]) -> dict[str, Array]:
    return {name: concat([part[name] for part in parts]) for name in _FIELDS}
