"""Constraint forces of a known acceleration. Native layout.

The forces of the optimum are a function of each row's acceleration alone, so that no iteration is needed (computation
chapter, "Inverse dynamics").
"""

from __future__ import annotations

import jax.numpy as jnp

from jaxsim.data import Data
from jaxsim.math.axis import concat
from jaxsim.model import Model
from jaxsim.solver.adjoint import evaluate
from jaxsim.solver.assembly import Problem
from jaxsim.solver.rows import Rows

__all__ = ["inv_constraint"]


def inv_constraint(model: Model, data: Data) -> Data:
    """Computes qfrc_constraint and efc_force from `qacc` and `data.work.rows`."""
    del model
    rows: Rows = data.work.rows
    if not rows.D.shape[0] and not rows.cones:
        none = jnp.zeros((0, data.qacc.shape[-1]), data.qacc.dtype)
        return data.replace(qfrc_constraint=jnp.zeros_like(data.qacc), efc_force=none)
    _, push, f = evaluate(Problem(M=data.M, force=data.qfrc_smooth, rows=rows), data.qacc)
    by_row = [f.scalar, *(x.reshape(-1, x.shape[-1]) for x in f.cones)]
    return data.replace(qfrc_constraint=push, efc_force=concat(by_row))
