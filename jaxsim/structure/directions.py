"""Which corners of a hull are farthest in which directions: tables that stand for a search. Host code.

Directions are those of a cube around the origin: on each of its faces a direction is (1, u, v), along which the height
of a corner is linear in u and v. So a corner that another one exceeds at the four corners of a cell of the face is
exceeded in all of the cell. What is left is a short list: cells of which it is longer than a row are divided, and the
few that still have more, where a direction is the normal of a large polygon, list several rows, or some corners from
all around it, from the best of which it is climbed.

A climb goes from neighbour to better neighbour: a linear function on a convex polytope has no local maximum beside the
global one. It starts from a cell's list and is all that there is where vertices were moved since the model was made.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from jaxsim.structure.lists import runs, starts

__all__ = ["CELLS", "CLIMB", "FINER", "LEVELS", "LISTED", "NEXT", "WIDTH", "direction_tables", "hull_corners"]

WIDTH = 8
"""Corners in a row: about as many as most corners have neighbours."""
CELLS = 16
"""Cells along a side of the cube of directions."""
FINER = 4
"""Cells along a side of one that is divided."""
LEVELS = 2
"""How often a cell is divided at most: the smallest are a third of a degree wide."""
END, NEXT, LISTED, CLIMB = 0, 1, 2, 4
"""What follows a row: nothing, or the next one; `LISTED` is added in rows of cells, of which some are climbed from."""
_MOST = 32
"""Corners that a cell lists at most."""
_STARTS = 16
"""Corners that a cell with more lists: a climb from the best of them is short."""


def direction_tables(static: Any, corners: list[np.ndarray]) -> dict[str, np.ndarray]:
    """The tables of all hulls.

    Args:
      static: of all meshes: mesh_vert, mesh_graphadr and mesh_graph.
      corners: vertices of each hull, see `hull_corners`; none: searches are to do without, and the tables are empty.

    Returns:
      `cell`, `row` and `near` of `Hulls`.
    """
    if not corners:
        return {"cell": np.zeros(0, int), "row": np.zeros((0, WIDTH + 1), int), "near": np.zeros(0, int)}
    vert = np.asarray(static.mesh_vert, float)
    edges = _edges(static, corners, len(vert))
    near, first = _neighbour_rows(edges)
    cell, listed = _cells(vert, corners, edges, len(near))
    return {"cell": cell, "row": np.concatenate([near, listed]), "near": first}


def hull_corners(static: Any, mesh: int) -> np.ndarray:
    """Vertices of a mesh's hull, rows of `mesh_vert`, in the order of its graph; none if it has no graph."""
    start = static.mesh_graphadr[mesh]
    if start < 0:
        return np.zeros(0, int)
    count = static.mesh_graph[start]
    return static.mesh_vertadr[mesh] + static.mesh_graph[start + 2 + count : start + 2 + 2 * count]


class _Edges(NamedTuple):
    """Neighbours of each vertex: those numbered from `start[v]` to `start[v + 1]` of `other`."""

    start: np.ndarray
    other: np.ndarray


def _edges(static: Any, corners: list[np.ndarray], count: int) -> _Edges:
    """Of the hulls in `mesh_graph`, in its order."""
    owners, others = [np.zeros(0, int)], [np.zeros(0, int)]
    for own, adr in zip(corners, static.mesh_graphadr, strict=True):
        if not len(own):
            continue
        graph = static.mesh_graph[adr:]
        nvert, nface = graph[:2]
        begin, _, around = np.split(graph[2 : 2 + 3 * nvert + 3 * nface], [nvert, 2 * nvert])
        # lists follow each other, each ended by a negative number
        stops = np.flatnonzero(around < 0)
        sizes = stops[np.searchsorted(stops, begin)] - begin
        owners.append(np.repeat(own, sizes))
        others.append(own[around[np.repeat(begin, sizes) + runs(sizes)]])
    owner, other = np.concatenate(owners), np.concatenate(others)
    order = np.argsort(owner, kind="stable")
    start = np.concatenate([[0], np.cumsum(np.bincount(owner, minlength=count))])
    return _Edges(start, other[order])


def _neighbour_rows(edges: _Edges) -> tuple[np.ndarray, np.ndarray]:
    """Rows of the neighbours of each vertex, and the first of each vertex, 0 of those inside hulls."""
    degree = np.diff(edges.start)
    vertex = np.flatnonzero(degree)
    rows, count = _rows_of_lists(edges.other, degree[vertex], vertex, END)
    first = np.zeros(len(degree), int)
    first[vertex] = starts(count)
    return rows, first


def _rows_of_lists(
    listed: np.ndarray, sizes: np.ndarray, fill: np.ndarray, kind: int | np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Lists that follow each other as rows of few, with what follows each row; and how many rows each takes."""
    count = np.maximum(-(-sizes // WIDTH), 1)
    owner, place = np.repeat(np.arange(len(sizes)), sizes), runs(sizes)
    rows = np.repeat(fill, count)[:, None] + np.zeros(WIDTH + 1, int)
    start = starts(count)
    rows[start[owner] + place // WIDTH, place % WIDTH] = listed
    rows[:, WIDTH] = np.repeat(np.broadcast_to(kind, sizes.shape) & ~CLIMB, count) | NEXT
    rows[start + count - 1, WIDTH] = kind
    return rows, count


class _Grid(NamedTuple):
    """Cells of one size, and candidates for the corners that are farthest in some of their directions.

    Attributes:
      face: face of the cube of directions of each cell, six to a mesh (ncell,).
      u: place along the first side (ncell,).
      v: place along the second side.
      side: cells along a side.
      cell: the cell of each candidate, in ascending order (ncandidate,).
      corner: the candidates, vertices.
    """

    face: np.ndarray
    u: np.ndarray
    v: np.ndarray
    side: int
    cell: np.ndarray
    corner: np.ndarray

    @property
    def sizes(self) -> np.ndarray:
        """Candidates of each cell."""
        return np.bincount(self.cell, minlength=len(self.face))

    def halved(self) -> _Grid:
        """Each cell in four."""
        n, (du, dv) = len(self.face), np.divmod(np.arange(4), 2)
        u, v = ((2 * own[:, None] + d).ravel() for own, d in ((self.u, du), (self.v, dv)))
        count = self.sizes
        place = np.repeat(starts(count), 4 * count) + runs(np.repeat(count, 4))
        cell = np.repeat(np.arange(4 * n), np.repeat(count, 4))
        return _Grid(np.repeat(self.face, 4), u, v, 2 * self.side, cell, self.corner[place])

    def chosen(self, cells: np.ndarray) -> _Grid:
        """Some of the cells."""
        number = np.full(len(self.face), -1)
        number[cells] = np.arange(len(cells))
        kept = number[self.cell] >= 0
        face, u, v = self.face[cells], self.u[cells], self.v[cells]
        return _Grid(face, u, v, self.side, number[self.cell[kept]], self.corner[kept])


def _pruned(grid: _Grid, vert: np.ndarray, edges: _Edges) -> _Grid:
    """Without candidates that the best at a corner of the cell, or a neighbour, exceeds in all of it."""
    axis, up = np.divmod(grid.face % 6, 2)
    low, high = ((2 / grid.side) * (np.stack([grid.u, grid.v]) + d) - 1 for d in (0, 1))
    # coordinates along a face's axis and along its two sides
    along = vert[:, (np.arange(3)[:, None] + np.arange(3)) % 3].swapaxes(0, 1).copy()

    def heights(corner: np.ndarray, cell: np.ndarray) -> np.ndarray:
        """At the four corners of the cell, (4, n)."""
        x, y, z = along[axis[cell], corner].T
        base = np.where(up[cell], x, -x)
        (y0, z0), (y1, z1) = ((y * u[cell], z * v[cell]) for u, v in (low, high))
        return np.stack([base + y0 + z0, base + y0 + z1, base + y1 + z0, base + y1 + z1])

    own = heights(grid.corner, grid.cell)
    begin = np.flatnonzero(np.diff(grid.cell, prepend=-1))
    most = np.maximum.reduceat(own, begin, axis=1) if len(begin) else own
    rank = np.repeat(np.arange(len(begin)), np.diff(begin, append=len(grid.cell)))
    kept = np.ones(len(rank), bool)
    for k in range(4):
        best = np.flatnonzero(own[k] == most[k, rank])
        champion = np.zeros(len(begin), int)
        champion[rank[best]] = best
        kept &= ~np.all(own[:, champion][:, rank] > own, axis=0)
    cell, corner, own = grid.cell[kept], grid.corner[kept], own[:, kept]
    degree = edges.start[corner + 1] - edges.start[corner]
    mine = np.repeat(np.arange(len(corner)), degree)
    other = edges.other[np.repeat(edges.start[corner], degree) + runs(degree)]
    over = np.all(heights(other, cell[mine]) > own[:, mine], axis=0)
    rest = np.ones(len(corner), bool)
    rest[mine[over]] = False
    return grid._replace(cell=cell[rest], corner=corner[rest])


def _cells(
    vert: np.ndarray, corners: list[np.ndarray], edges: _Edges, first_row: int
) -> tuple[np.ndarray, np.ndarray]:
    """Each cell's first row, or -1 - the first of the cells that it is divided into; and the rows of all cells."""
    sizes = np.repeat([len(own) for own in corners], 6)
    nface = len(sizes)
    none, cell = np.zeros(nface, int), np.repeat(np.arange(nface), sizes)
    grid = _Grid(
        np.arange(nface), none, none, 1, cell, np.concatenate([c for own in corners for c in [own] * 6])
    )
    grid = _pruned(grid, vert, edges)
    while grid.side < CELLS:
        grid = _pruned(grid.halved(), vert, edges)
    table = np.zeros(nface * CELLS**2, int)
    places = (grid.face * CELLS + grid.u) * CELLS + grid.v
    rows, total = [np.zeros((0, WIDTH + 1), int)], first_row
    for level in range(LEVELS + 1):
        count = grid.sizes
        long = (count > WIDTH) & (level < LEVELS)
        divided, listed = np.flatnonzero(long), np.flatnonzero((count > 0) & ~long)
        made, taken = _listed(*_spread(grid.chosen(listed), vert))
        table[places[listed]] = total + taken
        rows.append(made)
        total += len(made)
        if not len(divided):
            break
        table[places[divided]] = -1 - (len(table) + FINER**2 * np.arange(len(divided)))
        grid = grid.chosen(divided)
        for _ in range(FINER.bit_length() - 1):
            grid = _pruned(grid.halved(), vert, edges)
        parent = np.repeat(np.arange(len(divided)), FINER**2)
        places = len(table) + FINER**2 * parent + (grid.u % FINER) * FINER + grid.v % FINER
        table = np.concatenate([table, np.zeros(len(places), int)])
    return table, np.concatenate(rows)


def _spread(grid: _Grid, vert: np.ndarray) -> tuple[_Grid, np.ndarray]:
    """With few of too many candidates of a cell, from all around it; and which cells had too many."""
    count = grid.sizes
    many = count > _MOST
    # the candidates are about a polygon across the directions: round it by the two coordinates along the cube's face
    axis = (grid.face % 6 // 2)[grid.cell]
    across = np.take_along_axis(vert[grid.corner], np.stack([axis + 1, axis + 2], axis=1) % 3, axis=1)
    middle = [np.bincount(grid.cell, x, len(count)) / np.maximum(count, 1) for x in across.T]
    angle = np.arctan2(*((x - m[grid.cell]) for x, m in zip(across.T, middle, strict=True)))
    order = np.lexsort((np.where(many[grid.cell], angle, 0), grid.cell))
    place = runs(count)
    # of n candidates number i * n / k, rounded down, for the k that stay
    stay = np.where(many, _STARTS, count)[grid.cell]
    chosen = order[stay * place % count[grid.cell] < stay]
    return grid._replace(cell=grid.cell[chosen], corner=grid.corner[chosen]), many


def _listed(grid: _Grid, climbed: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Rows of the candidates, once for cells that have the same; and the first of each cell.

    From the best candidate of some cells a climb goes on.
    """
    sizes = grid.sizes
    start = starts(sizes)
    table = np.full((len(sizes), _MOST), -1)
    owner, place = np.repeat(np.arange(len(sizes)), sizes), runs(sizes)
    table[owner, place] = grid.corner[start[owner] + place]
    table = np.column_stack([table, climbed])
    # as bytes from the highest on, rows are in the order of their numbers and compared as one
    words = np.ascontiguousarray((table + 1).astype(">u4"))
    rows = words.view(f"V{words.itemsize * words.shape[1]}").ravel()
    _, first, same = np.unique(rows, return_index=True, return_inverse=True)
    table = table[first]
    sizes = np.sum(table[:, :_MOST] >= 0, axis=1)
    kind = LISTED + CLIMB * table[:, _MOST]
    rows, taken = _rows_of_lists(table[:, :_MOST][table[:, :_MOST] >= 0], sizes, table[:, 0], kind)
    return rows, starts(taken)[same.ravel()]
