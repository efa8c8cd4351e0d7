"""Vertex normals for drawing."""

from __future__ import annotations

import numpy as np

from jaxsim.math.constants import MINVAL

__all__ = ["vertex_normals"]

_SHARP = 0.8
"""Cosine of the angle between a face and its vertex normal beyond which the face does not count."""


def vertex_normals(vert: np.ndarray, face: np.ndarray, smooth: bool) -> np.ndarray:
    """Returns (nvert, 3) unit normals: averages of the faces around a vertex, weighted by area.

    Args:
        vert: (nvert, 3) positions.
        face: (nface, 3) vertex indices.
        smooth: whether faces at a sharp angle to the average count too.
    """
    a, b, c = vert[face[:, 0]], vert[face[:, 1]], vert[face[:, 2]]
    weighted = np.cross(b - a, c - a)
    normal = np.zeros_like(vert)
    for k in range(3):
        np.add.at(normal, face[:, k], weighted)
    if not smooth:
        units = _unit(weighted)
        average = _unit(normal)
        for k in range(3):
            sharp = np.einsum("ij,ij->i", units, average[face[:, k]]) < _SHARP
            np.subtract.at(normal, face[sharp, k], weighted[sharp])
    length = np.linalg.norm(normal, axis=1, keepdims=True)
    return np.where(length > MINVAL, normal / np.where(length > MINVAL, length, 1.0), (0.0, 0.0, 1.0))


def _unit(v: np.ndarray) -> np.ndarray:
    length = np.linalg.norm(v, axis=1, keepdims=True)
    return v / np.where(length > MINVAL, length, 1.0)
