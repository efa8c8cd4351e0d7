"""Rotations of numpy arrays: quaternions (..., 4) are w x y z, matrices (..., 3, 3), vectors (..., 3).

numpy's own functions for small vectors cost more than the arithmetic; these are written out.
"""

from __future__ import annotations

import numpy as np

from jaxsim.math import hamilton
from jaxsim.math.constants import MINVAL

__all__ = ["apply", "conjugate", "cross", "from_vector", "matrix", "multiply", "to_vector", "unit"]


def cross(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Returns the vector products."""
    result = np.empty(np.broadcast_shapes(a.shape, b.shape))
    parts = ([x[..., k] for k in range(3)] for x in (a, b))
    result[..., 0], result[..., 1], result[..., 2] = hamilton.cross(*parts)
    return result


def apply(matrix: np.ndarray, vector: np.ndarray) -> np.ndarray:
    """Returns matrices times vectors."""
    return np.matmul(matrix, vector[..., None])[..., 0]


def unit(q: np.ndarray) -> np.ndarray:
    """Returns quaternions normalised; no rotation where there is no length."""
    length = np.linalg.norm(q, axis=-1, keepdims=True)
    none = length < MINVAL
    return np.where(none, (1.0, 0.0, 0.0, 0.0), q / np.where(none, 1.0, length))


def conjugate(q: np.ndarray) -> np.ndarray:
    """Returns the inverse rotations."""
    return q * (1.0, -1.0, -1.0, -1.0)


def multiply(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Returns the products: the rotations `b` followed by `a`."""
    result = np.empty(np.broadcast_shapes(a.shape, b.shape))
    for i, component in enumerate(hamilton.product(_components(a), _components(b))):
        result[..., i] = component
    return result


def matrix(q: np.ndarray) -> np.ndarray:
    """Returns the matrices of unit quaternions."""
    result = np.empty((*q.shape[:-1], 3, 3))
    for i, row in enumerate(hamilton.matrix(_components(q))):
        for j, entry in enumerate(row):
            result[..., i, j] = entry
    return result


def from_vector(vector: np.ndarray) -> np.ndarray:
    """Returns the quaternions of rotation vectors: axis times angle."""
    half = np.linalg.norm(vector, axis=-1, keepdims=True) / 2
    return np.concatenate([np.cos(half), np.sinc(half / np.pi) * vector / 2], axis=-1)


def to_vector(q: np.ndarray) -> np.ndarray:
    """Returns the rotation vectors of unit quaternions; their angles lie in (-pi, pi]."""
    sine = np.linalg.norm(q[..., 1:], axis=-1, keepdims=True)
    angle = 2 * np.arctan2(sine, q[..., :1])
    angle = np.where(angle > np.pi, angle - 2 * np.pi, angle)
    none = sine < MINVAL
    return np.where(none, 0.0, q[..., 1:] / np.where(none, 1.0, sine) * angle)


def _components(q: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    return q[..., 0], q[..., 1], q[..., 2], q[..., 3]
