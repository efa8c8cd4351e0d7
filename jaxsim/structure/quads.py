"""Four corners that stand for a polygon of more: what a flat face of a mesh touches a plane with."""

from __future__ import annotations

import math

import numpy as np

__all__ = ["other_corners", "quad"]


def quad(corners: np.ndarray) -> tuple[int, int, int]:
    """Three corners of a convex polygon that span a large area with its first: a local search, as the C engine's.

    Starting from the first four, the last corner moves on as long as the area grows; after each of its moves the third
    does, then the second.

    Args:
      corners: (n, 3), n at least 4.
    """
    # numbers of Python's: for so few, numpy takes ten times as long
    points, n = corners.tolist(), len(corners)
    x, y, z = points[0]

    def area(b: int, c: int, d: int) -> float:
        (bx, by, bz), (cx, cy, cz), (dx, dy, dz) = points[b], points[c], points[d]
        ux, uy, uz, vx, vy, vz = cx - x, cy - y, cz - z, dx - bx, dy - by, dz - bz
        return math.hypot(uy * vz - uz * vy, uz * vx - ux * vz, ux * vy - uy * vx)

    b, c, d = 1, 2, 3
    best = area(b, c, d)
    while (larger := area(b, c, (d + 1) % n)) > best:
        best, d = larger, (d + 1) % n
        while (larger := area(b, (c + 1) % n, d)) > best:
            best, c = larger, (c + 1) % n
        while (larger := area((b + 1) % n, c, d)) > best:
            best, b = larger, (b + 1) % n
    return b, c, d


def other_corners(fields: dict[str, np.ndarray]) -> np.ndarray:
    """For each entry of `mesh_polymap`, a vertex and a polygon at it, three more corners of the polygon, in order.

    Args:
      fields: of all meshes: mesh_vert, mesh_vertadr, mesh_vertnum, and those that begin with mesh_poly.

    Returns:
      (nmeshpolymap, 3), by number within the mesh; a triangle has two more corners, and then the vertex itself.
    """
    listed, sizes = np.asarray(fields["mesh_polyvert"]), np.asarray(fields["mesh_polyvertnum"])
    starts = np.asarray(fields["mesh_polyvertadr"])
    polygon = np.repeat(np.arange(len(sizes)), sizes)
    mesh = np.repeat(np.arange(len(fields["mesh_polynum"])), fields["mesh_polynum"])[polygon]
    place = np.arange(len(listed)) - starts[polygon]
    turns = np.minimum(np.arange(1, 4), sizes[polygon][:, None])
    for p in np.flatnonzero(sizes > 4):
        path = listed[starts[p] : starts[p] + sizes[p]]
        corners = np.asarray(fields["mesh_vert"], float)[fields["mesh_vertadr"][mesh[starts[p]]] + path]
        for k in range(sizes[p]):
            turns[starts[p] + k] = quad(np.roll(corners, -k, axis=0))
    others = listed[starts[polygon][:, None] + (place[:, None] + turns) % sizes[polygon][:, None]]
    # entries go by vertex, then by polygon; corners above by polygon
    order = np.argsort(np.asarray(fields["mesh_vertadr"])[mesh] + listed, kind="stable")
    return others[order].astype(np.int32)
