"""Rotations of numpy arrays: quaternions (..., 4) are w x y z, matrices (..., 3, 3), vectors (..., 3).

numpy's own functions for small vectors cost more than the arithmetic; these are written out.
"""

from __future__ import annotations

import numpy as np

__all__ = ["apply", "conjugate", "cross", "from_vector", "matrix", "multiply", "to_vector", "unit"]

_NO_AXIS = 1e-15
"""Sine of half an angle below which a rotation counts as none."""


def cross(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Returns the vector products."""
    result = np.empty(np.broadcast_shapes(a.shape, b.shape))
    x, y, z = a[..., 0], a[..., 1], a[..., 2]
    u, v, w = b[..., 0], b[..., 1], b[..., 2]
    result[..., 0], result[..., 1], result[..., 2] = y * w - z * v, z * u - x * w, x * v - y * u
    return result


def apply(matrix: np.ndarray, vector: np.ndarray) -> np.ndarray:
    """Returns matrices times vectors."""
    return (matrix @ vector[..., None])[..., 0]


def unit(q: np.ndarray) -> np.ndarray:
    """Returns quaternions normalised; no rotation where there is no length."""
    length = np.linalg.norm(q, axis=-1, keepdims=True)
    none = length < _NO_AXIS
    return np.where(none, (1.0, 0.0, 0.0, 0.0), q / np.where(none, 1.0, length))


def conjugate(q: np.ndarray) -> np.ndarray:
    """Returns the inverse rotations."""
    return q * (1.0, -1.0, -1.0, -1.0)


def multiply(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Returns the products: the rotations `b` followed by `a`."""
    result = np.empty(np.broadcast_shapes(a.shape, b.shape))
    w, x, y, z = a[..., 0], a[..., 1], a[..., 2], a[..., 3]
    s, t, u, v = b[..., 0], b[..., 1], b[..., 2], b[..., 3]
    result[..., 0] = w * s - x * t - y * u - z * v
    result[..., 1] = w * t + x * s + y * v - z * u
    result[..., 2] = w * u - x * v + y * s + z * t
    result[..., 3] = w * v + x * u - y * t + z * s
    return result


def matrix(q: np.ndarray) -> np.ndarray:
    """Returns the matrices of unit quaternions."""
    w, x, y, z = q[..., 0], q[..., 1], q[..., 2], q[..., 3]
    result = np.empty((*q.shape[:-1], 3, 3))
    xx, yy, zz = x * x, y * y, z * z
    xy, xz, yz, wx, wy, wz = x * y, x * z, y * z, w * x, w * y, w * z
    result[..., 0, 0], result[..., 0, 1], result[..., 0, 2] = 1 - 2 * (yy + zz), 2 * (xy - wz), 2 * (xz + wy)
    result[..., 1, 0], result[..., 1, 1], result[..., 1, 2] = 2 * (xy + wz), 1 - 2 * (xx + zz), 2 * (yz - wx)
    result[..., 2, 0], result[..., 2, 1], result[..., 2, 2] = 2 * (xz - wy), 2 * (yz + wx), 1 - 2 * (xx + yy)
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
    none = sine < _NO_AXIS
    return np.where(none, 0.0, q[..., 1:] / np.where(none, 1.0, sine) * angle)
