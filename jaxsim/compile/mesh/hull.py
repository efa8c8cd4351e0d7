"""Convex hulls, in the encoding of mjModel's mesh_graph."""

from __future__ import annotations

import numpy as np

from jaxsim.math.constants import MINVAL

__all__ = ["Hull", "convex_hull"]


class Hull:
    """A convex hull: `face` (n, 3) are vertex indices, counter-clockwise from outside; `graph` encodes it.

    The graph holds the counts of vertices and faces, for each vertex where its neighbours begin and its index in
    the mesh, the neighbours (indices into the hull's vertices, each list ended by -1), and the faces.
    """

    def __init__(self, face: np.ndarray) -> None:
        self.face = face
        self.graph = _graph(face)


def convex_hull(vert: np.ndarray, most: int) -> Hull:
    """Computes a convex hull.

    Args:
        vert: (nvert, 3) points.
        most: most vertices of the hull; -1: all.

    Raises:
        ValueError: the points lie in a plane, or the hull cannot be computed.
    """
    from scipy.spatial import ConvexHull, QhullError

    _check_solid(vert)
    options = "Qt" if most < 0 else f"Qt Q9 TA{most - 4}"
    try:
        hull = ConvexHull(vert, qhull_options=options)
    except QhullError as error:
        raise ValueError(f"no convex hull: {str(error).splitlines()[0]}") from None
    face = hull.simplices.astype(np.int64)
    a, b, c = vert[face[:, 0]], vert[face[:, 1]], vert[face[:, 2]]
    inward = np.einsum("ij,ij->i", np.cross(b - a, c - a), hull.equations[:, :3]) < 0
    face[inward] = face[inward][:, [1, 0, 2]]
    return Hull(face)


def _check_solid(vert: np.ndarray) -> None:
    """Checks that the points span a volume."""
    edges = vert - vert[0]
    lengths = np.linalg.norm(edges, axis=1)
    distinct = np.flatnonzero(lengths > MINVAL)
    if not distinct.size:
        raise ValueError("all vertices coincide: use a small sphere instead of the mesh")
    first = distinct[0]
    normals = np.cross(edges[first], edges)
    norms = np.linalg.norm(normals, axis=1)
    wide = np.flatnonzero((norms > MINVAL * lengths[first] * lengths) & (lengths >= MINVAL))
    if not wide.size:
        raise ValueError("all vertices lie on a line: use a thin capsule instead of the mesh")
    normal = normals[wide[0]] / norms[wide[0]]
    if (np.abs(vert @ normal - vert[0] @ normal) <= MINVAL * lengths[first]).all():
        raise ValueError("all vertices lie in a plane: use a plane or a thin box instead of the mesh")


def _graph(face: np.ndarray) -> np.ndarray:
    vertices, local = np.unique(face, return_inverse=True)
    local = local.reshape(-1, 3)
    pairs = np.concatenate([local[:, [0, 1]], local[:, [1, 2]], local[:, [2, 0]]])
    ways = np.concatenate([pairs, pairs[:, ::-1]])
    pairs = np.stack(np.divmod(np.unique(ways @ [vertices.size, 1]), vertices.size), axis=1)
    counts = np.bincount(pairs[:, 0], minlength=vertices.size)
    starts = np.concatenate([[0], np.cumsum(counts + 1)])[:-1]
    edges = np.full(int((counts + 1).sum()), -1)
    place = np.arange(len(pairs)) + pairs[:, 0]
    edges[place] = pairs[:, 1]
    return np.concatenate([[vertices.size, len(face)], starts, vertices, edges, face.ravel()]).astype(
        np.int32
    )
