"""Rotations that the reader itself needs, in numpy: quaternions are w x y z, in float64."""

from __future__ import annotations

import numpy as np

__all__ = ["euler_quat", "matrix", "multiply", "rotate", "z_frame"]

Array = np.ndarray


def multiply(a: Array, b: Array) -> Array:
    """Returns the quaternion product of two rotations, b first."""
    w, v = a[0] * b[0] - a[1:] @ b[1:], a[0] * b[1:] + b[0] * a[1:] + np.cross(a[1:], b[1:])
    return np.concatenate([[w], v])


def rotate(quat: Array, vector: Array) -> Array:
    """Returns a vector turned by a unit quaternion."""
    return matrix(quat) @ vector


def matrix(quat: Array) -> Array:
    """Returns the rotation matrix (3, 3) of a unit quaternion."""
    w, x, y, z = quat
    return np.array(
        [
            [w * w + x * x - y * y - z * z, 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), w * w - x * x + y * y - z * z, 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), w * w - x * x - y * y + z * z],
        ]
    )


def euler_quat(angles: Array, sequence: str) -> Array:
    """Returns the quaternion of three successive rotations.

    Args:
        angles: in radian.
        sequence: three axes; lower case turns with the body, upper case stays with the parent frame.
    """
    quat = np.array([1.0, 0.0, 0.0, 0.0])
    for angle, axis in zip(angles, sequence, strict=True):
        turn = np.zeros(4)
        turn[0] = np.cos(angle / 2)
        turn[1 + "xyz".index(axis.lower())] = np.sin(angle / 2)
        quat = multiply(quat, turn) if axis.islower() else multiply(turn, quat)
    return quat / np.linalg.norm(quat)


def z_frame(axis: Array) -> Array:
    """Returns a rotation matrix (3, 3) whose third column is the given axis, normalised: the shortest turn of z."""
    normal = np.cross([0.0, 0.0, 1.0], axis)
    sine = np.linalg.norm(normal)
    direction = normal / sine if sine > 1e-10 else np.array([1.0, 0.0, 0.0])
    angle = np.arctan2(sine, axis[2])
    return matrix(np.concatenate([[np.cos(angle / 2)], np.sin(angle / 2) * direction]))
