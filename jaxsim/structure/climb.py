"""Which corners of a hull are neighbours, in rows of few: how a search climbs over large hulls. Static.

A linear function on a convex polytope has no local maximum beside the global one, so a search that moves to better
neighbours ends at the farthest corner. A corner has as many rows as its neighbours need: a search looks at one row
at a time, so that its cost does not grow with the largest number of neighbours. It begins near the end: at the corner
that is farthest in one of many directions, tabulated when the model is made.
"""

from __future__ import annotations

import functools
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np

from jaxsim.pytree import Static, index_array
from jaxsim.structure.hulls import hull_corners

__all__ = ["CELLS", "CLIMBED", "WIDTH", "Ladder", "ladder", "starting_corners"]

WIDTH = 8
"""Neighbours in a row: about as many as most corners have."""
CELLS = 16
"""Cells along a side of the cube of directions: their centres are a sixteenth of a right angle apart or less."""
CLIMBED = 96
"""Corners above which a hull is climbed over; fewer are searched as a whole, on a CPU as dear as a climb's gathers."""


class Ladder(NamedTuple):
    """Rows of all corners of the hulls of a model; vertices are rows of `mesh_vert`.

    Attributes:
      first: first row of each vertex (nmeshvert,); 0 for vertices inside hulls, which have none.
      rows: neighbours (nrow, WIDTH), filled up with the vertex itself.
      more: whether the next row is of the same vertex (nrow,).
    """

    first: np.ndarray
    rows: np.ndarray
    more: np.ndarray


def starting_corners(fields: dict[str, Any]) -> np.ndarray:
    """The corner that is farthest in the direction of each cell's centre, for `Model.mesh_start`.

    Cells are those of the six faces of a cube around the origin: at -x, +x, -y, ..., and on each of them by the next
    two coordinates in turn, as in `collision.convex.hull`. A hint: if vertices are moved later, climbs take longer.

    Args:
      fields: of all meshes: mesh_vert, mesh_vertadr, mesh_graphadr and mesh_graph.

    Returns:
      Rows of mesh_vert, 6 CELLS^2 for each mesh; none if all hulls are small.
    """
    static: Any = SimpleNamespace(**fields)
    corners = [hull_corners(static, mesh) for mesh in range(len(static.mesh_graphadr))]
    if max(map(len, corners), default=0) <= CLIMBED:
        return np.zeros(0, np.int32)
    middle = (np.arange(CELLS) + 0.5) * (2 / CELLS) - 1
    major, u, v = (x.ravel() for x in np.meshgrid([-1.0, 1.0], middle, middle, indexing="ij"))
    toward = np.concatenate([np.roll(np.stack([major, u, v], axis=1), k, axis=1) for k in range(3)])
    vert, found = np.asarray(static.mesh_vert, float), np.zeros((len(corners), len(toward)), np.int32)
    for rows, own in zip(corners, found, strict=True):
        if len(rows):
            own[:] = rows[np.argmax(np.dot(toward, vert[rows].T), axis=1)]
    return found.ravel()


@functools.lru_cache(maxsize=64)
def ladder(static: Static) -> Ladder:
    """The rows of a model's `mesh_graph`."""
    first = np.zeros(max(len(static.mesh_polymapnum), 1), int)
    rows: list[np.ndarray] = []
    more: list[bool] = []
    for mesh in range(static.nmesh):
        start = static.mesh_graphadr[mesh]
        if start < 0:
            continue
        graph = static.mesh_graph[start:]
        count, faces = graph[:2]
        edge, _, around = np.split(graph[2 : 2 + 3 * count + 3 * faces], [count, 2 * count])
        vertex = hull_corners(static, mesh)
        for k in range(count):
            stop = edge[k] + np.argmax(around[edge[k] :] < 0)
            near = vertex[around[edge[k] : stop]]
            first[vertex[k]] = len(rows)
            parts = [near[n : n + WIDTH] for n in range(0, len(near), WIDTH)]
            rows += [np.concatenate([p, np.full(WIDTH - len(p), vertex[k])]) for p in parts]
            more += [n + 1 < len(parts) for n in range(len(parts))]
    table = np.stack(rows) if rows else np.zeros((1, WIDTH), int)
    return Ladder(index_array(first), index_array(table), np.array(more or [False]))
