"""The polygons that bound a convex hull: its triangles, merged where they lie in one plane."""

from __future__ import annotations

import numpy as np

from jaxsim.compile.mesh.bins import listed_order
from jaxsim.math.constants import MINVAL

__all__ = ["Polygons", "hull_polygons", "join_polygons", "polygon_normals"]

_ANGLE = 0.01
"""Width of a bin of directions, rad: triangles whose normals fall into one bin, and that share an edge, are merged.

Bins are those of the C compiler, by azimuth and by angle to the z axis, and in its order; neighbours on two sides of a
bin's edge stay apart, however near their normals are.
"""

Polygons = list[list[int]]
"""Vertices of each polygon, counter-clockwise from outside."""


def hull_polygons(vert: np.ndarray, face: np.ndarray) -> Polygons:
    """Merges the triangles of a hull.

    Args:
        vert: vertices (n, 3), in the frame in which the mesh was given.
        face: triangles (m, 3), counter-clockwise from outside.
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
    found: Polygons = []
    for b in turn[listed_order(keys[turn])]:
        for triangles in _connected(face[bins.reshape(-1) == b]):
            found += _outline(triangles)
    return found


def _connected(face: np.ndarray) -> list[np.ndarray]:
    """Groups of triangles that hang together by edges."""
    if len(face) == 1:
        return [face]
    edges = {(int(t[i]), int(t[i - 2])): k for k, t in enumerate(face) for i in range(3)}
    group = np.full(len(face), -1)
    for seed in range(len(face)):
        front = [seed] if group[seed] < 0 else []
        while front:
            k = front.pop()
            group[k] = seed
            beside = (edges.get((int(face[k, i - 2]), int(face[k, i]))) for i in range(3))
            front += [n for n in beside if n is not None and group[n] < 0]
    return [face[group == seed] for seed in np.unique(group)]


def _outline(face: np.ndarray) -> Polygons:
    """The closed path along the edges that belong to one triangle only, from the first of them."""
    edges = [(int(t[i]), int(t[(i + 1) % 3])) for t in face for i in range(3)]
    all_edges = set(edges)
    after = {a: b for a, b in edges if (b, a) not in all_edges}
    path = [next(iter(after))]
    while len(path) <= len(after) and (here := after.get(path[-1])) is not None:
        if here == path[0]:
            return [path]
        path.append(here)
    return []


def polygon_normals(vert: np.ndarray, polygons: Polygons) -> np.ndarray:
    """Outward unit normals of polygons, (n, 3); of those that are not quite flat the mean by area."""
    if not polygons:
        return np.zeros((0, 3))
    sizes = np.array([len(p) for p in polygons])
    starts = np.cumsum(sizes) - sizes
    rows = np.concatenate(polygons)
    place = np.arange(len(rows)) - np.repeat(starts, sizes)
    following = rows[np.repeat(starts, sizes) + (place + 1) % np.repeat(sizes, sizes)]
    first = np.repeat(vert[rows[starts]], sizes, axis=0)
    vectors = np.add.reduceat(np.cross(vert[rows] - first, vert[following] - first), starts)
    return vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), MINVAL)


def join_polygons(meshes: list[Polygons], vertices: list[int]) -> dict[str, np.ndarray]:
    """Fields of all meshes' polygons.

    Args:
        meshes: the polygons of each mesh.
        vertices: number of vertices of each mesh.
    """
    counts = [len(polygons) for polygons in meshes]
    sizes = np.array([len(p) for polygons in meshes for p in polygons], int)
    listed = np.array([v for polygons in meshes for p in polygons for v in p], int)
    first = np.repeat(np.cumsum([0, *vertices])[:-1], [sum(map(len, polygons)) for polygons in meshes])
    number = np.concatenate([np.arange(n) for n in counts]) if meshes else np.zeros(0, int)
    order = np.argsort(first + listed, kind="stable")
    per_vertex = np.bincount(first + listed, minlength=sum(vertices))
    return {
        "mesh_polynum": np.array(counts, int),
        "mesh_polyadr": np.cumsum([0, *counts])[: len(meshes)],
        "mesh_polyvertnum": sizes,
        "mesh_polyvertadr": np.cumsum([0, *sizes])[: len(sizes)],
        "mesh_polyvert": listed,
        "mesh_polymapnum": per_vertex,
        "mesh_polymapadr": np.cumsum([0, *per_vertex])[: sum(vertices)],
        "mesh_polymap": np.repeat(number, sizes)[order],
    }
