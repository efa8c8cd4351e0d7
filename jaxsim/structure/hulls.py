"""The convex hulls of meshes as tables that a program can index: static, from the model's graphs and polygons."""

from __future__ import annotations

import functools
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np

from jaxsim.pytree import Static, index_array

__all__ = ["Hulls", "hull_corners", "hulls", "polygon_tilts"]

_SIDES = 16
"""Most corners of a polygon that is not large."""


class Hulls(NamedTuple):
    """Tables of all meshes; vertices are rows of `mesh_vert`, polygons of all meshes are numbered together.

    Attributes:
      corners: vertices of each mesh's hull (nmesh, k), filled up with the first; none: those of mesh 0.
      polygon: vertices of each polygon (npoly, n >= 4), clockwise, filled up with the first: the model's last, through
        which the C engine lays the plane of a polygon that is not quite flat. Of large ones some are left out.
      large: all vertices of each large polygon, (nlarge, k), in the same way.
      large_row: for each polygon its row there (npoly,); -1: it is not large.
      entries: for each vertex the entries below that are its own (nmeshvert, d), filled up with the first.
      at: polygon of each entry: a vertex and a polygon that it is a corner of (nentry,).
      others: up to three more corners of that polygon (nentry, 3), see `mesh_polyothers`; filled up with the vertex.
      before: the corner of that polygon that comes before (nentry,): each edge from a vertex is in one of its entries.
    """

    corners: np.ndarray
    polygon: np.ndarray
    large: np.ndarray
    large_row: np.ndarray
    entries: np.ndarray
    at: np.ndarray
    others: np.ndarray
    before: np.ndarray


@functools.lru_cache(maxsize=64)
def hulls(static: Static) -> Hulls:
    """The tables of a model."""
    vertex = np.asarray(static.mesh_vertadr)
    corners = [hull_corners(static, k) for k in range(static.nmesh)]
    polygons = _polygons(static)
    turned = [np.roll(p, 1) for p in polygons]
    large = np.array([len(p) > _SIDES for p in polygons], bool)
    # entries go by vertex, then by polygon; corners of polygons by polygon
    order = np.argsort(np.concatenate([*polygons, np.zeros(0, int)]), kind="stable")
    mesh = np.repeat(np.arange(static.nmesh), static.mesh_vertnum)
    mine = [np.arange(a, a + n) for a, n in zip(static.mesh_polymapadr, static.mesh_polymapnum, strict=True)]
    at = static.mesh_polymap + np.repeat(static.mesh_polyadr[mesh], static.mesh_polymapnum)
    others = static.mesh_polyothers + np.repeat(vertex[mesh], static.mesh_polymapnum)[:, None]
    return Hulls(
        corners=_filled(corners, 1),
        polygon=_polygon_table(polygons),
        large=_filled([p[::-1] for p, is_large in zip(polygons, large, strict=True) if is_large], 1),
        large_row=index_array(np.where(large, np.cumsum(large) - 1, -1)),
        entries=_filled(mine, 1),
        at=index_array(at),
        others=index_array(others),
        before=index_array(np.concatenate([*turned, np.zeros(0, int)])[order]),
    )


def _polygons(static: Any) -> list[np.ndarray]:
    """Vertices of each polygon, rows of `mesh_vert`, as the model lists them."""
    first = np.repeat(static.mesh_vertadr, static.mesh_polynum)
    starts, sizes = static.mesh_polyvertadr, static.mesh_polyvertnum
    return [first[p] + static.mesh_polyvert[starts[p] : starts[p] + sizes[p]] for p in range(len(sizes))]


def _polygon_table(polygons: list[np.ndarray]) -> np.ndarray:
    return _filled([_thinned(p)[::-1] for p in polygons], 4)


def polygon_tilts(fields: dict[str, Any], normals: np.ndarray) -> np.ndarray:
    """What the polygons' unit normals lack if they are taken from the vertices and polygons that a program sees.

    These are rounded to single precision, and of large polygons some corners are left out.

    Args:
      fields: of all meshes: mesh_vert, mesh_vertadr and those that begin with mesh_poly.
      normals: unit normals of the polygons as they were given, (nmeshpoly, 3).
    """
    if not len(normals):
        return np.zeros((0, 3))
    corners = np.asarray(fields["mesh_vert"], float)[_polygon_table(_polygons(SimpleNamespace(**fields)))]
    sides = corners[:, 1:] - corners[:, :1]
    vectors = np.sum(np.cross(sides[:, 1:], sides[:, :-1]), axis=1)
    length = np.linalg.norm(vectors, axis=1, keepdims=True)
    return normals - np.where(length > 0, vectors / np.where(length > 0, length, 1.0), [1.0, 0.0, 0.0])


def hull_corners(static: Static, mesh: int) -> np.ndarray:
    """Vertices of a mesh's hull, rows of `mesh_vert`, in the order of its graph; none if it has no graph."""
    start = static.mesh_graphadr[mesh]
    if start < 0:
        return np.zeros(0, int)
    count = static.mesh_graph[start]
    return static.mesh_vertadr[mesh] + static.mesh_graph[start + 2 + count : start + 2 + 2 * count]


def _thinned(polygon: np.ndarray) -> np.ndarray:
    """At most so many corners of a polygon."""
    n = len(polygon)
    return polygon if n <= _SIDES else polygon[np.arange(_SIDES) * n // _SIDES]


def _filled(rows: list[np.ndarray], least: int) -> np.ndarray:
    """Rows of one length."""
    width = max([len(r) for r in rows] + [least])
    full = [np.concatenate([r, np.full(width - len(r), r[0] if len(r) else 0)]) for r in rows]
    return index_array(np.stack(full) if full else np.zeros((0, width)))
