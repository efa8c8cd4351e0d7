"""Equality rows (Computation chapter, "Equality"). Native layout."""

from __future__ import annotations

from jax import Array

from jaxsim.data import Data
from jaxsim.model import Model
from jaxsim.solver.jacobian import ScalarRows
from jaxsim.solver.layout import RowLayout

__all__ = ["equality_rows"]


def equality_rows(model: Model, data: Data, layout: RowLayout) -> tuple[ScalarRows, Array] | None:
    """Rows of all equality constraints, and which of them are in use."""
    if not layout.n_equality:
        return None
    raise NotImplementedError
