"""What the functions of sensors share.

A function takes all sensors of its type at once, `(model, data, ids)`, and returns their outputs one after the other,
(sum of dims, W).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from jax import Array

from jaxsim.data import Data
from jaxsim.math.axis import replace_rows, take
from jaxsim.math.vector import matvec_transposed
from jaxsim.model import Model
from jaxsim.pipeline import objects

__all__ = ["Compute", "flat", "in_reference", "measured", "reference", "referred"]

Compute = Callable[[Model, Data, np.ndarray], Array]
"""How all sensors of a type are computed."""

Objects = tuple[np.ndarray, np.ndarray]
"""Types and ids of objects."""


def flat(x: Array) -> Array:
    """Outputs (n, k, W) of n sensors as rows (n k, W)."""
    return x.reshape(-1, x.shape[-1])


def measured(m: Model, i: np.ndarray) -> Objects:
    """The objects of sensors."""
    return m.sensor_objtype[i], m.sensor_objid[i]


def reference(m: Model, i: np.ndarray) -> Objects:
    """The reference frames of sensors that have one."""
    return m.sensor_reftype[i], m.sensor_refid[i]


def referred(m: Model, i: np.ndarray) -> np.ndarray:
    """Which of the sensors have a reference frame, as indices into `i`."""
    return np.flatnonzero(m.sensor_refid[i] >= 0)


def in_reference(m: Model, d: Data, i: np.ndarray, x: Array) -> Array:
    """World vectors (n, 3, W) in the axes of each sensor's reference frame, if it has one."""
    given = referred(m, i)
    if not len(given):
        return x
    turned = matvec_transposed(objects.matrix(m, d, *reference(m, i[given])), take(x, given))
    return replace_rows(x, given, turned)
