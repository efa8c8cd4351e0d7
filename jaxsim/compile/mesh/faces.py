"""The polygons that bound a convex hull: its triangles, merged where they lie in one plane."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from jaxsim.compile.mesh.bins import listed_order
from jaxsim.math.constants import MINVAL
from jaxsim.structure.lists import Lists, runs, starts

__all__ = ["hull_polygons", "join_polygons", "polygon_normals"]

_ANGLE = 0.01
"""Width of a bin of directions, rad: triangles whose normals fall into one bin, and that share an edge, are merged.

Bins are those of the C compiler, by azimuth and by angle to the z axis, and in its order; neighbours on two sides of a
bin's edge stay apart, however near their normals are.
"""


def hull_polygons(vert: np.ndarray, face: np.ndarray) -> Lists:
    """Merges the triangles of a hull.

    Args:
        vert: vertices (n, 3), in the frame in which the mesh was given.
        face: triangles (m, 3), counter-clockwise from outside.

    Returns:
        The vertices of each polygon, counter-clockwise from outside.
    """
    corner = vert[face]
    normal = np.cross(corner[:, 1] - corner[:, 0], corner[:, 2] - corner[:, 0])
    length = np.linalg.norm(normal, axis=1)
    solid = length >= MINVAL
    face, normal = face[solid], normal[solid] / length[solid, None] + 0.0
    polar = np.abs(normal[:, 2]) > 1 - 1e-7
    azimuth = np.where(polar, 0.0, np.round(np.arctan2(normal[:, 1], normal[:, 0]) / _ANGLE))
    angle = np.round(np.arccos(np.clip(normal[:, 2], -1, 1)) / _ANGLE)
    angle = np.where(polar, np.where(normal[:, 2] < 0, np.round(np.pi / _ANGLE), 0.0), angle)
    keys, first, bins = np.unique(
        np.stack([azimuth, angle], axis=1), axis=0, return_index=True, return_inverse=True
    )
    turn = np.argsort(first)
    rank = np.zeros(len(keys), int)
    rank[turn[listed_order(keys[turn])]] = np.arange(len(keys))
    return _outlines(face, rank[bins.reshape(-1)], len(vert))


def _outlines(face: np.ndarray, bins: np.ndarray, nvert: int) -> Lists:
    """The paths around groups of triangles of one bin that hang together by edges, in the order of the bins.

    A path goes along the edges that belong to one triangle of the group only, from the first of them; groups of a bin
    are in the order of their first triangles.
    """
    from scipy.sparse import coo_matrix
    from scipy.sparse.csgraph import connected_components

    triangle = np.repeat(np.arange(len(face)), 3)
    tail, head = face.ravel(), np.roll(face, -1, axis=1).ravel()
    here, across = ((bins[triangle] * nvert + a) * nvert + b for a, b in ((tail, head), (head, tail)))
    order = np.argsort(here)
    beside = order[np.searchsorted(here[order], across) % max(len(order), 1)]
    inner = here[beside] == across
    joined = coo_matrix(
        (inner[inner], (triangle[inner], triangle[beside[inner]])), shape=(len(face), len(face))
    )
    _, group = connected_components(joined, directed=False)
    _, seed = np.unique(group, return_index=True)
    rim = np.flatnonzero(~inner)
    rim = rim[np.lexsort((rim, seed[group[triangle[rim]]], bins[triangle[rim]]))]
    ends = np.flatnonzero(np.diff(group[triangle[rim]], append=-1)) + 1
    tails, heads = tail[rim].tolist(), head[rim].tolist()
    paths = [_path(tails[a:b], heads[a:b]) for a, b in pairwise([0, *ends.tolist()])]
    return Lists(
        np.array([v for path in paths for v in path], int), np.array([len(p) for p in paths if p], int)
    )


def _path(tails: list[int], heads: list[int]) -> list[int]:
    """The closed path along edges, from the first of them; empty if it does not close."""
    after = dict(zip(tails, heads, strict=True))
    path = tails[:1]
    while len(path) <= len(after) and (here := after.get(path[-1])) is not None:
        if here == path[0]:
            return path
        path.append(here)
    return []


def polygon_normals(vert: np.ndarray, polygons: Lists) -> np.ndarray:
    """Outward unit normals of polygons, (n, 3); of those that are not quite flat the mean by area."""
    if not len(polygons.sizes):
        return np.zeros((0, 3))
    first = np.repeat(vert[polygons.items[polygons.start]], polygons.sizes, axis=0)
    across = np.cross(vert[polygons.items] - first, vert[polygons.turned(1)] - first)
    vectors = np.add.reduceat(across, polygons.start)
    return vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), MINVAL)


def join_polygons(meshes: list[Lists], vertices: list[int]) -> dict[str, np.ndarray]:
    """Fields of all meshes' polygons.

    Args:
        meshes: the polygons of each mesh, by number within the mesh.
        vertices: number of vertices of each mesh.
    """
    none = np.zeros(0, int)
    counts = np.array([len(polygons.sizes) for polygons in meshes], int)
    sizes = np.concatenate([none, *(polygons.sizes for polygons in meshes)])
    listed = np.concatenate([none, *(polygons.items for polygons in meshes)])
    first = np.repeat(starts(np.array(vertices, int)), [len(polygons.items) for polygons in meshes])
    order = np.argsort(first + listed, kind="stable")
    per_vertex = np.bincount(first + listed, minlength=sum(vertices))
    return {
        "mesh_polynum": counts,
        "mesh_polyadr": starts(counts),
        "mesh_polyvertnum": sizes,
        "mesh_polyvertadr": starts(sizes),
        "mesh_polyvert": listed,
        "mesh_polymapnum": per_vertex,
        "mesh_polymapadr": starts(per_vertex),
        "mesh_polymap": np.repeat(runs(counts), sizes)[order],
    }
