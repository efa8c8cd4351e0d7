"""Raw triangles of a mesh, as a file or the model gives them."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

__all__ = ["Triangles"]


def _none(width: int, dtype: type) -> np.ndarray:
    return np.zeros((0, width), dtype)


@dataclass(eq=False)
class Triangles:
    """Vertices, faces and, as far as given, normals and texture coordinates.

    Attributes:
        vert: (nvert, 3) float32 positions.
        face: (nface, 3) vertex indices; empty if the convex hull is meant.
        normal: (nnormal, 3) float32.
        texcoord: (ntexcoord, 2) float32.
        facenormal: (nface, 3) normal indices, or empty.
        facetexcoord: (nface, 3) texture coordinate indices, or empty.
    """

    vert: np.ndarray = field(default_factory=lambda: _none(3, np.float32))
    face: np.ndarray = field(default_factory=lambda: _none(3, np.int64))
    normal: np.ndarray = field(default_factory=lambda: _none(3, np.float32))
    texcoord: np.ndarray = field(default_factory=lambda: _none(2, np.float32))
    facenormal: np.ndarray = field(default_factory=lambda: _none(3, np.int64))
    facetexcoord: np.ndarray = field(default_factory=lambda: _none(3, np.int64))
