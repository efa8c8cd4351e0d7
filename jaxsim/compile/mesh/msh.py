"""MuJoCo's binary MSH files."""

from __future__ import annotations

import numpy as np

from jaxsim.compile.mesh.data import Triangles

__all__ = ["read_msh"]


def read_msh(content: bytes) -> Triangles:
    """Reads an MSH file: four counts, then vertices, normals, texture coordinates and faces.

    Raises:
        ValueError: it is not such a file.
    """
    if len(content) < 16:
        raise ValueError("the MSH file has no header")
    nvert, nnormal, ntexcoord, nface = (int(n) for n in np.frombuffer(content, "<i4", 4))
    if nvert < 4 or nface < 0 or nnormal not in (0, nvert) or ntexcoord not in (0, nvert):
        raise ValueError("the MSH file has invalid sizes")
    if len(content) != 16 + 12 * nvert + 12 * nnormal + 8 * ntexcoord + 12 * nface:
        raise ValueError("the size of the MSH file does not fit its header")
    offset = 16

    def take(dtype: str, rows: int, width: int) -> np.ndarray:
        nonlocal offset
        array = np.frombuffer(content, dtype, rows * width, offset).reshape(rows, width)
        offset += 4 * rows * width
        return array

    vert, normal, texcoord = take("<f4", nvert, 3), take("<f4", nnormal, 3), take("<f4", ntexcoord, 2)
    face = take("<i4", nface, 3).astype(np.int64)
    if not np.isfinite(vert).all():
        raise ValueError("a vertex coordinate is not finite")
    result = Triangles(vert=vert, face=face, normal=normal, texcoord=texcoord)
    if nface:
        result.facenormal = face
        if ntexcoord:
            result.facetexcoord = face
    return result
