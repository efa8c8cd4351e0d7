"""Plane against mesh: the lowest corner of its hull, and the face at it that lies flattest.

Of a face with more than four corners four are taken (`structure/quads.py`). The rule is the C engine's.
"""

from __future__ import annotations

from typing import NamedTuple

import jax.numpy as jnp
from jax import Array, lax

from jaxsim.collision.convex.hull import (
    ENTRIES,
    Hull,
    Tables,
    entries_of,
    entry_blocks,
    farthest_corners,
    hulls_of,
    places_from,
)
from jaxsim.collision.largest import entry_at, first_largest
from jaxsim.collision.points import Points, Shape, stack_points
from jaxsim.collision.vec import Vec
from jaxsim.enums import GeomType
from jaxsim.math.asked import where_asked
from jaxsim.math.gather import rows_by_world
from jaxsim.math.stage import long_stage
from jaxsim.structure.colliders import collider

__all__ = ["plane_mesh"]


class _Flattest(NamedTuple):
    """A face of a corner, (npair, W).

    Attributes:
      steepness: cosine of the angle between its normal and a direction.
      entry: which entry of the corner it is.
    """

    steepness: Array
    entry: Array


@collider(GeomType.PLANE, GeomType.MESH, points=4, assets=hulls_of, exhaustive=1 << 20)
@long_stage
def plane_mesh(geom1: Shape, geom2: Shape, margin: Array) -> Points:
    """Plane against mesh: up to four points, the first is the lowest."""
    plane, mesh = geom1.apart(), geom2.apart()
    meshes: Tables = geom2.assets
    normal = plane.axes.z
    down = -mesh.axes.to_local(normal)

    def placed(number: Array) -> tuple[Vec, Vec, Array]:
        """A corner in the mesh's frame and the world frame, and its height above the plane."""
        local = Vec.split(rows_by_world(meshes.vert, number))
        corner = mesh.pos + mesh.axes.to_world(local)
        return local, corner, (corner - plane.pos).dot(normal)

    (lowest,) = farthest_corners([(Hull(geom2.asset, meshes), down)])
    flattest = _flattest(meshes, lowest, down, placed(lowest)[2] < margin)
    others = rows_by_world(meshes.hulls.others, flattest)

    points = []
    for k in range(4):
        chosen = lowest if k == 0 else others[:, k - 1]
        local, corner, dist = placed(chosen)
        # a corner above the centre is on the far side of the mesh
        valid = (
            jnp.ones_like(dist, bool)
            if k == 0
            else (dist < margin) & (local.dot(down) > 0) & (chosen != lowest)
        )
        points.append(Points(dist, corner - normal * (0.5 * dist), normal, valid=valid))
    return stack_points(points)


def _flattest(meshes: Tables, corner: Array, down: Vec, asked: Array) -> Array:
    """The entry of a corner (npair, W) whose face looks down most, where it is asked; else the corner's first."""
    meshes, asked, corner, down = lax.stop_gradient((meshes, asked, corner, down))

    def few(asked: Array, corner: Array, down: Vec) -> Array:
        """`_flattest` of corners whose other entries than the first few are looked at if one is asked that has them."""

        def look(start: Array | int, best: _Flattest) -> _Flattest:
            entries = entries_of(meshes.hulls, corner, places_from(meshes, start))
            facing = Vec.split(rows_by_world(meshes.normal, rows_by_world(meshes.hulls.at, entries)))
            steepness = facing.dot(down.lifted()) / jnp.sqrt(facing.dot(facing))
            number = first_largest(steepness)
            new = _Flattest(entry_at(steepness, number), entry_at(entries, number))
            better = new.steepness > best.steepness
            return _Flattest(*(jnp.where(better, x, y) for x, y in zip(new, best, strict=True)))

        start = _Flattest(jnp.full_like(down.x, -jnp.inf), jnp.zeros_like(corner))
        if meshes.hulls.most <= ENTRIES:
            return look(0, start).entry
        blocks = entry_blocks(meshes, corner, asked)
        return lax.fori_loop(0, blocks, lambda k, best: look(k * ENTRIES, best), start).entry

    if meshes.vert.shape[-1] > 1:
        return few(asked, corner, down)
    found = where_asked(few, asked, corner, down)
    return jnp.where(asked, found, rows_by_world(meshes.hulls.entry, corner))
