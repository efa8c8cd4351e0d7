"""Surfaces of meshes and height fields as triangles, in clusters that a ray can skip: static, from their topology.

A ray looks at the bounding boxes of clusters first and then, one after the other, at the triangles of those it meets:
a volume hierarchy of two levels, of one shape for all meshes. Clusters are grown over neighbouring triangles, so they
know no coordinates; their boxes are computed from the vertices, wherever these are.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from jaxsim.enums import GeomType
from jaxsim.pytree import Static, index_array

__all__ = ["CLUSTER", "Triangles", "hfield_triangles", "triangles"]

CLUSTER = 32
"""Triangles of a cluster: fewer means more boxes to look at, more means more triangles in each."""


class Triangles(NamedTuple):
    """Triangles of all meshes and height fields that some geoms show.

    Attributes:
      meshes: meshes whose vertices come first, in this order.
      hfields: height fields whose vertices follow, in this order.
      corners: vertices of each triangle (ntriangle, 3), counted over all of these; counter-clockwise from outside.
      clusters: triangles of each cluster (ncluster, CLUSTER); the last is repeated to fill up.
      geom: row in the given list of geoms of each item (nitem,): one item for each cluster of each geom.
      cluster: cluster of each item (nitem,).
    """

    meshes: tuple[int, ...]
    hfields: tuple[int, ...]
    corners: np.ndarray
    clusters: np.ndarray
    geom: np.ndarray
    cluster: np.ndarray


@functools.lru_cache(maxsize=64)
def triangles(static: Static, geoms: Sequence[int]) -> Triangles:
    """The triangles of mesh and height field geoms, given as a tuple of ids."""
    kinds, data = static.geom_type[list(geoms)], static.geom_dataid[list(geoms)]
    meshes = tuple(int(i) for i in np.unique(data[kinds == GeomType.MESH]))
    hfields = tuple(int(i) for i in np.unique(data[kinds == GeomType.HFIELD]))
    shapes = [(GeomType.MESH, i) for i in meshes] + [(GeomType.HFIELD, i) for i in hfields]
    corners, clusters, of_shape = [], [], {}
    nvert = ntri = ncluster = 0
    for kind, i in shapes:
        if kind == GeomType.MESH:
            first, count = int(static.mesh_faceadr[i]), int(static.mesh_facenum[i])
            faces = static.mesh_face[first : first + count].reshape(-1, 3)
            own = _grown(faces)
            vertices = int(static.mesh_vertnum[i])
        else:
            faces, own, vertices = hfield_triangles(int(static.hfield_nrow[i]), int(static.hfield_ncol[i]))
        corners.append(faces + nvert)
        clusters.append(own + ntri)
        of_shape[kind, i] = np.arange(ncluster, ncluster + len(own))
        nvert, ntri, ncluster = nvert + vertices, ntri + len(faces), ncluster + len(own)
    items = [of_shape[GeomType(kind), int(i)] for kind, i in zip(kinds, data, strict=True)]
    return Triangles(
        meshes,
        hfields,
        index_array(np.concatenate(corners)),
        index_array(np.concatenate(clusters)),
        index_array(np.repeat(np.arange(len(items)), [len(item) for item in items])),
        index_array(np.concatenate(items)),
    )


def _grown(faces: np.ndarray) -> np.ndarray:
    """Clusters (n, CLUSTER) of triangles (m, 3), each grown from one triangle over shared vertices."""
    order = np.argsort(faces.reshape(-1), kind="stable")
    start = np.searchsorted(faces.reshape(-1)[order], np.arange(faces.max(initial=0) + 2))
    around = order // 3
    taken = np.zeros(len(faces), bool)
    clusters: list[list[int]] = [[]]
    front: list[int] = []
    for seed in range(len(faces)):
        if taken[seed]:
            continue
        front.append(seed)
        taken[seed] = True
        head = 0
        while head < len(front):
            face = front[head]
            head += 1
            clusters[-1].append(face)
            if (
                len(clusters[-1]) == CLUSTER
            ):  # what is left of the front seeds the next cluster, nearest first
                taken[front[head:]] = False
                front = front[head : head + 1]
                taken[front] = True
                head = 0
                clusters.append([])
            for vertex in faces[face]:
                for other in around[start[vertex] : start[vertex + 1]]:
                    if not taken[other]:
                        taken[other] = True
                        front.append(int(other))
        front = []
    return _filled([c for c in clusters if c])


def _filled(clusters: list[list[int]]) -> np.ndarray:
    return np.array([c + c[-1:] * (CLUSTER - len(c)) for c in clusters], int).reshape(-1, CLUSTER)


_BLOCK = (4, CLUSTER // 8)
"""Cells (rows, columns) of a height field in a cluster; each has two triangles."""


@functools.lru_cache(maxsize=16)
def hfield_triangles(nrow: int, ncol: int) -> tuple[np.ndarray, np.ndarray, int]:
    """Triangles of a height field: its surface, the walls under its rim and the box on which it stands.

    The vertices are those of the surface, row by row; then their projections on the ground, z = 0; then the eight
    corners of the box, x fastest, from below.

    Returns:
      corners (n, 3), clusters (m, CLUSTER) and the number of vertices.
    """
    at = np.arange(nrow * ncol).reshape(nrow, ncol)
    a, b, c, d = at[:-1, :-1], at[:-1, 1:], at[1:, 1:], at[1:, :-1]
    surface = np.stack([np.stack([a, b, c], -1), np.stack([a, c, d], -1)], axis=2)
    clusters = []
    numbers = np.arange(surface.size // 3).reshape(surface.shape[:3])
    for r in range(0, nrow - 1, _BLOCK[0]):
        for k in range(0, ncol - 1, _BLOCK[1]):
            clusters.append(numbers[r : r + _BLOCK[0], k : k + _BLOCK[1]].reshape(-1).tolist())
    parts, count = [surface.reshape(-1, 3)], surface.size // 3
    ground = nrow * ncol
    for rim in (at[0], at[:, -1], at[-1, ::-1], at[::-1, 0]):  # counter-clockwise from above
        p, q = rim[:-1], rim[1:]
        wall = np.stack([np.stack([p + ground, q + ground, q], -1), np.stack([p + ground, q, p], -1)], 1)
        parts.append(wall.reshape(-1, 3))
        clusters += _runs(count, parts[-1])
        count += len(parts[-1])
    parts.append(2 * ground + _BOX)
    clusters += _runs(count, _BOX)
    return np.concatenate(parts), _filled(clusters), 2 * ground + 8


def _runs(first: int, faces: np.ndarray) -> list[list[int]]:
    """Clusters of consecutive triangles."""
    numbers = list(range(first, first + len(faces)))
    return [numbers[k : k + CLUSTER] for k in range(0, len(numbers), CLUSTER)]


def _box() -> np.ndarray:
    """Triangles (12, 3) of a box whose corner number has the bits of x, y and z, counter-clockwise from outside."""
    faces = []
    for axis in range(3):
        u, v = 1 << (axis + 1) % 3, 1 << (axis + 2) % 3
        low = [0, v, u + v, u]
        high = [x + (1 << axis) for x in (0, u, u + v, v)]
        for a, b, c, d in (low, high):
            faces += [(a, b, c), (a, c, d)]
    return np.array(faces)


_BOX = _box()
