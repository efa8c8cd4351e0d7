"""Four corners that stand for a polygon of more: what a flat face of a mesh touches a plane with."""

from __future__ import annotations

import numpy as np

from jaxsim.structure.lists import Lists, runs

__all__ = ["other_corners", "quads"]


def quads(polygons: Lists) -> np.ndarray:
    """Three more corners that span a large area with each corner: a local search, as the C engine's.

    Starting from the first four, the last corner moves on as long as the area grows; after each of its moves the third
    does, then the second.

    Args:
      polygons: positions of the corners of convex polygons (ncorner, 3), at least 4 of each.

    Returns:
      How many places after each corner of each polygon they come, (ncorner, 3).
    """
    owner, own = polygons.owner, runs(polygons.sizes)
    start, size = polygons.start[owner], polygons.sizes[owner]

    def area(k: np.ndarray, turn: np.ndarray) -> np.ndarray:
        """Twice the area that each of some corners spans with three more."""
        a, b, c, d = (
            polygons.items[start[k] + (own[k] + by) % size[k]] for by in (np.zeros_like(k), *turn.T)
        )
        return np.linalg.norm(np.cross(c - a, d - b), axis=1)

    found = np.repeat([[1, 2, 3]], len(owner), axis=0)
    best = area(np.arange(len(owner)), found)
    # which of the three each search moves: back to the one after where the area no longer grows
    moved = np.full(len(owner), 2)
    while len(k := np.flatnonzero(moved < 3)):
        turn = found[k]
        turn[np.arange(len(k)), moved[k]] += 1
        turn %= size[k, None]
        larger = area(k, turn)
        grown = larger > best[k]
        found[k[grown]], best[k[grown]] = turn[grown], larger[grown]
        moved[k] = np.where(grown, np.maximum(moved[k] - 1, 0), moved[k] + 1)
    return found


def other_corners(fields: dict[str, np.ndarray]) -> np.ndarray:
    """For each entry of `mesh_polymap`, a vertex and a polygon at it, three more corners of the polygon, in order.

    Args:
      fields: of all meshes: mesh_vert, mesh_vertadr, mesh_vertnum, and those that begin with mesh_poly.

    Returns:
      (nmeshpolymap, 3), by number within the mesh; a triangle has two more corners, and then the vertex itself.
    """
    polygons = Lists(np.asarray(fields["mesh_polyvert"]), np.asarray(fields["mesh_polyvertnum"]))
    first = np.repeat(np.asarray(fields["mesh_vertadr"]), fields["mesh_polynum"])[polygons.owner]
    size = polygons.sizes[polygons.owner]
    turns = np.minimum(np.arange(1, 4), size[:, None])
    many = polygons.sizes > 4
    corners = Lists(np.asarray(fields["mesh_vert"], float)[first + polygons.items], polygons.sizes)
    turns[many[polygons.owner]] = quads(corners.chosen(many))
    place = (runs(polygons.sizes)[:, None] + turns) % size[:, None]
    others = polygons.items[polygons.start[polygons.owner][:, None] + place]
    # entries go by vertex, then by polygon; corners above by polygon
    order = np.argsort(first + polygons.items, kind="stable")
    return others[order].astype(np.int32)
