"""Binary STL files."""

from __future__ import annotations

import numpy as np

from jaxsim.compile.mesh.data import Triangles

__all__ = ["read_stl"]

_HEADER = 84
_MAX_FACES = 200000
_RECORD = np.dtype([("normal", "<f4", 3), ("vert", "<f4", (3, 3)), ("attribute", "<u2")])


def read_stl(content: bytes) -> Triangles:
    """Reads a binary STL file; identical corners become one vertex.

    Raises:
        ValueError: it is not such a file.
    """
    if len(content) < _HEADER:
        raise ValueError("the STL file has no header")
    count = int(np.frombuffer(content, "<u4", 1, 80)[0])
    if not 1 <= count <= _MAX_FACES:
        raise ValueError(f"expected a binary STL file of 1 to {_MAX_FACES} faces; this may be a text file")
    if len(content) != _HEADER + 50 * count:
        raise ValueError("the size of the STL file does not fit its count of faces")
    corners = np.frombuffer(content, _RECORD, count, _HEADER)["vert"].reshape(-1, 3) + np.float32(0)
    if not np.isfinite(corners).all():
        raise ValueError("a vertex coordinate is not finite")
    key = np.ascontiguousarray(corners).view(np.dtype((np.void, 12))).ravel()
    _, first, inverse = np.unique(key, return_index=True, return_inverse=True)
    order = np.argsort(first)
    rank = np.empty_like(order)
    rank[order] = np.arange(order.size)
    return Triangles(vert=corners[first[order]], face=rank[inverse].reshape(-1, 3))
