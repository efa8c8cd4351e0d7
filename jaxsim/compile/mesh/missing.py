"""Hulls of meshes for which the compiler made none, as they collided with nothing, but which are asked for.

A sensor measures their distance, or a geom of an MjModel was let collide. The C engine looks for the farthest of all
vertices then, which is a corner of the hull. `Model.mesh_graph` is without these hulls, as mjModel's is: they are in
jaxsim's own tables alone.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np

from jaxsim.compile.mesh.faces import hull_polygons, join_polygons, polygon_normals
from jaxsim.compile.mesh.hull import convex_hull
from jaxsim.enums import GeomType
from jaxsim.structure.lists import Lists
from jaxsim.structure.shaped import may_collide, measured_geoms

__all__ = ["with_missing_hulls"]


def with_missing_hulls(fields: dict[str, Any], normals: np.ndarray) -> tuple[dict[str, Any], np.ndarray]:
    """The fields of a model with hulls of all meshes that need one, and the normals of their polygons.

    Meshes without volume stay without.

    Args:
      fields: of a model.
      normals: unit normals of the polygons, (nmeshpoly, 3).
    """
    m = SimpleNamespace(**fields)
    missing = [k for k in _needed_meshes(m) if m.mesh_graphadr[k] < 0]
    if not missing:
        return fields, normals
    graph, polygons = [np.asarray(m.mesh_graph)], _polygons(m)
    parts = np.split(normals, np.cumsum(m.mesh_polynum)[:-1])
    address = np.array(m.mesh_graphadr)
    for k in missing:
        vert = np.asarray(m.mesh_vert, float)[m.mesh_vertadr[k] : m.mesh_vertadr[k] + m.mesh_vertnum[k]]
        try:
            hull = convex_hull(vert, -1)
        except ValueError:
            continue
        address[k] = sum(map(len, graph))
        graph.append(hull.graph)
        polygons[k] = hull_polygons(vert, hull.face)
        parts[k] = polygon_normals(vert, polygons[k])
    hulls = {"mesh_graphadr": address, "mesh_graph": np.concatenate(graph)}
    return fields | hulls | join_polygons(polygons, m.mesh_vertnum), np.concatenate(parts)


def _needed_meshes(m: Any) -> list[int]:
    """Meshes of geoms whose distance a sensor measures, or that may collide."""
    geoms = {*measured_geoms(m), *np.flatnonzero(may_collide(m)).tolist()}
    return sorted({int(m.geom_dataid[g]) for g in geoms if m.geom_type[g] == GeomType.MESH})


def _polygons(m: Any) -> list[Lists]:
    """Those of each mesh's hull, by number of the vertices within the mesh."""
    ends = np.cumsum(m.mesh_polynum)
    sizes = np.split(np.asarray(m.mesh_polyvertnum), ends[:-1])
    items = np.split(np.asarray(m.mesh_polyvert), np.cumsum([own.sum() for own in sizes])[:-1])
    return [Lists(own, count) for own, count in zip(items, sizes, strict=True)]
