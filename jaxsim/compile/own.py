"""Fields of Model that the C engine's has not, worked out from those that it has."""

from __future__ import annotations

from typing import Any

import numpy as np

from jaxsim.compile.mesh.missing import with_missing_hulls
from jaxsim.structure.cells import cells_under
from jaxsim.structure.hulls import hull_tables, polygon_tilts
from jaxsim.structure.snaps import frame_snaps

__all__ = ["OWN", "own_fields"]

OWN = (
    "mesh_hulls",
    "mesh_hulled",
    "mesh_polytilt",
    "geom_hfieldcells",
    "body_snap",
    "geom_snap",
    "site_snap",
)
"""Their names."""


def own_fields(fields: dict[str, Any], normals: np.ndarray) -> dict[str, Any]:
    """These fields by name.

    Args:
      fields: all others.
      normals: unit normals of the meshes' polygons, (nmeshpoly, 3).
    """
    shaped, normals = with_missing_hulls(fields, normals)
    return {
        "mesh_hulls": hull_tables(shaped, normals),
        "mesh_hulled": np.asarray(shaped["mesh_graphadr"]) >= 0,
        "mesh_polytilt": polygon_tilts(shaped, normals),
        "geom_hfieldcells": cells_under(fields),
        **frame_snaps(fields),
    }
