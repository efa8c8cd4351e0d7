"""The convex hulls of a model's meshes as tables that a program looks things up in."""

from __future__ import annotations

import numpy as np
from jax import Array

from jaxsim.pytree import Record, leaf, static

__all__ = ["Hulls"]


class Hulls(Record):
    """Tables of all meshes, made by `structure.hulls`; arrays, as constants they would be in a program many times.

    Vertices are rows of `mesh_vert`; polygons of all meshes are numbered together, and so are *entries*: a vertex and
    a polygon that it is a corner of, by vertex.
    """

    corners: Array = leaf(
        "nmesh nhullcorner", "vertices of each hull, filled up with the first; none: they are many", dtype=int
    )
    polygon: Array = leaf("nmeshpoly nside", "vertices of each polygon, of large ones some", dtype=np.int32)
    wide: Array = leaf("nwide", "polygons of more than four corners", dtype=np.int32)
    large: Array = leaf("nlarge nlargeside", "all vertices of each large polygon", dtype=np.int32)
    large_row: Array = leaf("nmeshpoly", "row of each polygon in `large`, -1: it is not", dtype=np.int32)
    entry: Array = leaf("nmeshvert", "first entry of each vertex", dtype=np.int32)
    entries: Array = leaf("nmeshvert", "entries of each vertex", dtype=np.int32)
    most: int = static("", "most entries of a vertex, at least 1")
    at: Array = leaf("nmeshpolymap", "polygon of each entry", dtype=np.int32)
    others: Array = leaf(
        "nmeshpolymap 3", "three more corners that span it, or the vertex: structure.quads", dtype=int
    )
    before: Array = leaf(
        "nmeshpolymap",
        "the corner that comes before: each edge from a vertex is in one of its entries",
        dtype=int,
    )
    cell: Array = leaf(
        "nmeshcell",
        "first row of each cell of directions, -1 - its first part: structure.directions",
        dtype=int,
    )
    row: Array = leaf("nmeshrow 9", "corners, and what follows the row", dtype=np.int32)
    near: Array = leaf("nmeshnear", "first row of each vertex's neighbours", dtype=np.int32)
    normal: Array = leaf("nmeshpoly 3", "unit normals of polygons, if there are cells; else none")
    vertex: Array = leaf("nhullvertex", "vertices of all hulls", dtype=np.int32)
    vertsum: Array = leaf("", "sum of their bits: whether they were moved since", dtype=np.int32)
