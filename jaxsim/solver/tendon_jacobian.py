"""Rows of the tendon Jacobian as constraints need them: with an entry for every degree of freedom."""

from __future__ import annotations

import numpy as np
from jax import Array

from jaxsim.data import Data
from jaxsim.math.axis import add_rows, take
from jaxsim.model import Model
from jaxsim.structure.tendons import tendon_entries

__all__ = ["tendon_jacobian"]


def tendon_jacobian(model: Model, data: Data, tendons: np.ndarray) -> Array:
    """Rates (k, nv, W) at which chosen tendons (k) lengthen with each degree of freedom."""
    rows, cols = tendon_entries(model.static)
    entries = [np.flatnonzero(rows == t) for t in tendons]
    chosen = np.concatenate([np.zeros(0, int), *entries])
    row = np.repeat(np.arange(len(tendons)), [len(e) for e in entries])
    J = add_rows(take(data.work.ten_J, chosen), row * model.nv + cols[chosen], len(tendons) * model.nv)
    return J.reshape(len(tendons), model.nv, J.shape[-1])
