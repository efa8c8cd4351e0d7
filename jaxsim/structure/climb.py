"""Which corners of a hull are neighbours, in rows of few: how a search climbs over large hulls. Static.

A linear function on a convex polytope has no local maximum beside the global one, so a search that moves to better
neighbours ends at the farthest corner. A corner has as many rows as its neighbours need: a search looks at one row
at a time, so that its cost does not grow with the largest number of neighbours.
"""

from __future__ import annotations

import functools
from typing import NamedTuple

import numpy as np

from jaxsim.pytree import Static, index_array
from jaxsim.structure.hulls import hull_corners

__all__ = ["WIDTH", "Ladder", "ladder"]

WIDTH = 8
"""Neighbours in a row: about as many as most corners have."""


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
