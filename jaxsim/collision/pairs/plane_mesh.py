"""Plane against mesh: the lowest corner of its hull, and the face at it that lies flattest.

Of a face with more than four corners four are taken (`structure/quads.py`). The rule is the C engine's.
"""

from __future__ import annotations

import jax.numpy as jnp
from jax import Array

from jaxsim.collision.convex.hull import Hull, Tables, entries_of, farthest_corners, hulls_of
from jaxsim.collision.largest import entry_at, first_largest
from jaxsim.collision.points import Points, Shape, stack_points
from jaxsim.collision.vec import Vec
from jaxsim.enums import GeomType
from jaxsim.math.gather import rows_by_world
from jaxsim.math.stage import stage
from jaxsim.structure.colliders import collider

__all__ = ["plane_mesh"]


@collider(GeomType.PLANE, GeomType.MESH, points=4, assets=hulls_of, exhaustive=1 << 20)
@stage
def plane_mesh(geom1: Shape, geom2: Shape, margin: Array) -> Points:
    """Plane against mesh: up to four points, the first is the lowest."""
    plane, mesh = geom1.apart(), geom2.apart()
    meshes: Tables = geom2.assets
    tables, vert = meshes.hulls, meshes.vert
    normal = plane.axes.z
    down = -mesh.axes.to_local(normal)

    (lowest,) = farthest_corners([(Hull(geom2.asset, meshes), down)])
    entries = entries_of(tables, lowest)
    facing = Vec.split(rows_by_world(meshes.normal, rows_by_world(tables.at, entries)))
    steepness = facing.dot(down.lifted()) / jnp.sqrt(facing.dot(facing))
    flattest = entry_at(entries, first_largest(steepness))
    others = rows_by_world(tables.others, flattest)

    points = []
    for k in range(4):
        chosen = lowest if k == 0 else others[:, k - 1]
        local = Vec.split(rows_by_world(vert, chosen))
        corner = mesh.pos + mesh.axes.to_world(local)
        dist = (corner - plane.pos).dot(normal)
        # a corner above the centre is on the far side of the mesh
        valid = (
            jnp.ones_like(dist, bool)
            if k == 0
            else (dist < margin) & (local.dot(down) > 0) & (chosen != lowest)
        )
        points.append(Points(dist, corner - normal * (0.5 * dist), normal, valid=valid))
    return stack_points(points)
