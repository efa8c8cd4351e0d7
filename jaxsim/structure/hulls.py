"""The tables of the convex hulls of meshes, from their graphs and polygons. Host code."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np

from jaxsim.structure.directions import direction_tables, hull_corners
from jaxsim.structure.lists import Lists
from jaxsim.structure.quads import other_corners

__all__ = ["hull_tables", "polygon_tilts", "vertex_sum"]

_SIDES = 16
"""Most corners of a polygon that is not large."""
_WHOLE = 96
"""Corners up to which hulls are searched as a whole."""


def hull_tables(fields: dict[str, Any], normals: np.ndarray) -> dict[str, Any]:
    """The fields of `Hulls`.

    Polygons are clockwise, filled up with their first corner: the model's last, through which the C engine lays the
    plane of a polygon that is not quite flat.

    Args:
      fields: of all meshes: mesh_vert, mesh_vertadr, mesh_vertnum, mesh_graphadr, mesh_graph and those that begin with
        mesh_poly.
      normals: unit normals of the polygons, (nmeshpoly, 3).
    """
    static = SimpleNamespace(
        **{name: np.asarray(x) for name, x in fields.items() if name.startswith("mesh_")}
    )
    vertex = static.mesh_vertadr
    corners = [hull_corners(static, k) for k in range(len(vertex))]
    whole = max(map(len, corners), default=0) <= _WHOLE
    vertices = np.concatenate([np.zeros(0, int), *corners])
    hulls = Lists(vertices, np.array([len(c) for c in corners], int))
    polygons = _polygons(static)
    large = polygons.sizes > _SIDES
    # entries go by vertex, then by polygon; corners of polygons by polygon
    order = np.argsort(polygons.items, kind="stable")
    mesh = np.repeat(np.arange(len(vertex)), static.mesh_vertnum)
    at = static.mesh_polymap + np.repeat(static.mesh_polyadr[mesh], static.mesh_polymapnum)
    others = other_corners(fields) + np.repeat(vertex[mesh], static.mesh_polymapnum)[:, None]
    return {
        "corners": hulls.rows() if whole else np.zeros((len(corners), 0), int),
        "polygon": _polygon_table(polygons),
        "wide": np.flatnonzero(polygons.sizes > 4),
        "large": polygons.chosen(large).rows(backward=True),
        "large_row": np.where(large, np.cumsum(large) - 1, -1),
        "entry": static.mesh_polymapadr,
        "entries": static.mesh_polymapnum,
        "most": max(1, int(np.max(static.mesh_polymapnum, initial=0))),
        "at": at,
        "others": others,
        "before": polygons.turned(-1)[order],
        "normal": normals[:0] if whole else normals,
        "vertex": vertices,
        "vertsum": vertex_sum(np.asarray(static.mesh_vert, np.float32)[vertices]),
        **direction_tables(static, [] if whole else corners),
    }


def vertex_sum(vert: Any) -> Any:
    """A sum of the bits of vertices (n, 3, ...) in single precision that changes with them; of JAX's arrays too."""
    bits = vert.view(np.int32)
    weights = (2 * np.arange(len(bits), dtype=np.int32) + 1)[:, None] * np.array([1, 3, 5], np.int32)
    return (bits * weights.reshape(*weights.shape, *[1] * (bits.ndim - 2))).sum(axis=(0, 1), dtype=np.int32)


def _polygons(static: Any) -> Lists:
    """Vertices of each polygon, rows of `mesh_vert`, as the model lists them."""
    first = np.repeat(static.mesh_vertadr, static.mesh_polynum)
    return Lists(np.repeat(first, static.mesh_polyvertnum) + static.mesh_polyvert, static.mesh_polyvertnum)


def _polygon_table(polygons: Lists) -> np.ndarray:
    return polygons.rows(4, most=_SIDES, backward=True)


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
