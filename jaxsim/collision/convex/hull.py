"""The corner of a hull that is farthest in a direction: a mesh's, or that of a few points made on the device.

Small hulls are searched as a whole: their corners, filled up to the most that a mesh of the model has, are compared
in one kernel. Over large ones a search climbs from neighbour to neighbour and starts near its end
(`structure/climb.py`), all pairs and worlds in one loop; meshes of different sizes share it.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from jaxsim.collision.largest import along, entry_at, first_largest
from jaxsim.collision.vec import Vec
from jaxsim.math.axis import concat, take
from jaxsim.math.gather import rows_by_world
from jaxsim.math.safe import normalize
from jaxsim.math.vector import cross
from jaxsim.model import Model
from jaxsim.structure.climb import CELLS, CLIMBED, Ladder, ladder
from jaxsim.structure.hulls import Hulls, hulls

__all__ = [
    "Corners",
    "Hull",
    "Tables",
    "corner_at",
    "corners_of",
    "direction_cell",
    "farthest_corners",
    "hulls_of",
    "searchable",
]


class Tables(NamedTuple):
    """What the hulls of a model are searched by.

    Attributes:
      hulls: tables of corners and polygons.
      vert: vertices, m (nmeshvert, 3, 1 or W).
      normal: outward normals of polygons, nearly of length 1 (npoly, 3, 1 or W).
      ladder: neighbours; None: the hulls are small.
      starts: where climbs begin, see `structure.climb.starting_corners`; empty: as above.
    """

    hulls: Hulls
    vert: Array
    normal: Array
    ladder: Ladder | None
    starts: np.ndarray


class Hull(NamedTuple):
    """The hull of each pair's mesh.

    Attributes:
      mesh: which mesh, (npair, 1 or W).
      tables: of all meshes.
      rows: rows of its corners in `mesh_vert`, (npair, k, 1 or W), see `searchable`; None: it is climbed over.
      points: the corners, m (npair, k, 3, 1 or W).
    """

    mesh: Array
    tables: Tables
    rows: Array | None = None
    points: Array | None = None


class Corners(NamedTuple):
    """A hull of few points, others for each pair and world, in the place of a mesh's tables in `Shape.assets`.

    Attributes:
      points: the corners, m, components (npair, k, 1 or W).
    """

    points: Vec


def corners_of(assets: Any) -> Any:
    """The corners of hulls in the `assets` of a `Shape`, a tree of arrays (..., 1 or W); None: it has none."""
    return assets.vert if isinstance(assets, Tables) else assets


def hulls_of(model: Model) -> Tables:
    """The tables of a model, once a step."""
    tables = hulls(model.static)
    normal = normalize(_area_vectors(model.mesh_vert, tables.polygon))[0] + model.mesh_polytilt
    large = tables.corners.shape[1] > CLIMBED
    return Tables(tables, model.mesh_vert, normal, ladder(model.static) if large else None, model.mesh_start)


def _area_vectors(vert: Array, polygon: np.ndarray) -> Array:
    """Twice the area along the normal of polygons (npoly, n): of those that are not quite flat it is their mean.

    What fills up a triangle or a quadrilateral, its first corner, adds nothing.
    """
    first, second, third, fourth = (take(vert, polygon[:, k]) for k in range(4))
    vectors = cross(third - first, second - fourth)
    many = np.flatnonzero(np.any(polygon[:, 4:] != polygon[:, :1], axis=1))
    if not len(many):
        return vectors
    sides = [take(vert, polygon[many, k]) - take(vert, polygon[many, 0]) for k in range(1, polygon.shape[1])]
    whole = sum((cross(b, a) for a, b in itertools.pairwise(sides)), start=jnp.zeros_like(sides[0]))
    return vectors.at[many].set(whole)


def searchable(hull: Hull | Corners) -> Hull | Corners:
    """With the corners of hulls that are searched as a whole: gathered once, not in each round."""
    if isinstance(hull, Corners) or hull.rows is not None or hull.tables.ladder is not None:
        return hull
    rows = rows_by_world(jnp.asarray(hull.tables.hulls.corners)[..., None], jnp.maximum(hull.mesh, 0))
    return hull._replace(rows=rows, points=rows_by_world(hull.tables.vert, rows))


def corner_at(hull: Hull | Corners, row: Array) -> Vec:
    """The corner of a number, in the geom's frame."""
    if isinstance(hull, Corners):
        points = hull.points
        corner = Vec(*(c[:, 0] for c in points))
        for k in range(1, points.x.shape[1]):
            corner = Vec(*(c[:, k] for c in points)).where(row == k, corner)
        return corner
    return Vec.split(rows_by_world(hull.tables.vert, row))


def farthest_corners(asked: Sequence[tuple[Hull | Corners, Vec]]) -> list[Array]:
    """The number of the corner that is farthest in a direction: the row of `mesh_vert`, or of `Corners`.

    Args:
      asked: hulls and directions in the geoms' frames, of any length, components (npair, W). Meshes are searched
        together.
    """
    found: dict[int, Array] = {}
    alike: dict[int, list[int]] = {}
    for k, (hull, direction) in enumerate(asked):
        if isinstance(hull, Corners):
            heights = hull.points.dot(direction.lifted())
            found[k] = first_largest(lax.stop_gradient(heights))
        else:
            alike.setdefault(hull.mesh.shape[-1], []).append(k)
    for own in alike.values():
        hulls, directions = zip(*((searchable(asked[k][0]), asked[k][1]) for k in own), strict=True)
        numbers = _farthest(_together(hulls), Vec.concat(directions))
        found |= zip(own, lax.split(numbers, [len(v.x) for v in directions]), strict=True)
    return [found[k] for k in range(len(asked))]


def _together(parts: Sequence[Hull]) -> Hull:
    """Hulls one after the other; their tables are the same."""
    rows, points = (None if x[0] is None else concat(x) for x in zip(*(h[2:] for h in parts), strict=True))
    return Hull(concat([h.mesh for h in parts]), parts[0].tables, rows, points)


def _farthest(hull: Hull, direction: Vec) -> Array:
    held, toward = lax.stop_gradient((hull, direction))
    rows, points = held.rows, held.points
    if rows is None or points is None:
        return _climbed(held, toward)
    return entry_at(rows, first_largest(along(toward, points)))


class _Climb(NamedTuple):
    """Where each search stands, (npair, W): a corner, how far it is, the row of neighbours to be looked at."""

    corner: Array
    height: Array
    ledge: Array
    running: Array


def _climbed(hull: Hull, direction: Vec) -> Array:
    """The end of a climb from neighbour to better neighbour."""
    tables, steps = hull.tables, hull.tables.ladder
    assert steps is not None
    first, rows, more = (jnp.asarray(x) for x in steps)

    def go_on(at: _Climb) -> _Climb:
        """Looks at one row of neighbours of each corner."""
        near = rows_by_world(rows[..., None], at.ledge)
        heights = along(direction, rows_by_world(tables.vert, near))
        number = first_largest(heights)
        best, corner = entry_at(heights, number), entry_at(near, number)
        better = at.running & (best > at.height)
        last = ~more.at[at.ledge].get(mode="promise_in_bounds")
        ledge = jnp.where(better, first.at[corner].get(mode="promise_in_bounds"), at.ledge + ~last)
        return _Climb(
            jnp.where(better, corner, at.corner),
            jnp.where(better, best, at.height),
            ledge,
            at.running & (better | ~last),
        )

    cell = jnp.maximum(hull.mesh, 0) * (6 * CELLS * CELLS) + direction_cell(direction)
    corner = jnp.asarray(tables.starts).at[cell].get(mode="promise_in_bounds")
    height = corner_at(hull, corner).dot(direction)
    ledge = first.at[corner].get(mode="promise_in_bounds")
    start = _Climb(corner, height, ledge, jnp.ones_like(height, bool))
    return lax.while_loop(lambda at: jnp.any(at.running), go_on, start).corner


def direction_cell(direction: Vec) -> Array:
    """The number of the cell that a direction is in, see `structure.climb.starting_corners`."""
    x, y, z = (jnp.abs(c) for c in direction)
    along_x, along_y = (x >= y) & (x >= z), y >= z
    turned = Vec(direction.y, direction.z, direction.x).where(
        along_y, Vec(direction.z, direction.x, direction.y)
    )
    major, *minor = direction.where(along_x, turned)
    scale = 0.5 * CELLS / jnp.where(major != 0, jnp.abs(major), 1.0)
    u, v = (jnp.clip((c * scale + 0.5 * CELLS).astype(jnp.int32), 0, CELLS - 1) for c in minor)
    face = 2 * jnp.where(along_x, 0, jnp.where(along_y, 1, 2)) + (major > 0)
    return (face * CELLS + u) * CELLS + v
