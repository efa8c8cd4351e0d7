"""The corner of a hull that is farthest in a direction: a mesh's, or that of a few points made on the device.

Small hulls are searched as a whole: their corners, filled up to the most that a mesh of the model has, are compared
in one kernel. Over large ones a search climbs from neighbour to neighbour (`structure/climb.py`), starting at the best
corner for one of 26 directions, all pairs and worlds in one loop; meshes of different sizes share it.
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
from jaxsim.structure.climb import Ladder, ladder
from jaxsim.structure.hulls import Hulls, hulls

__all__ = [
    "Corners",
    "Hull",
    "Tables",
    "corner_at",
    "corners_of",
    "farthest_corners",
    "hulls_of",
    "searchable",
]

_WHOLE = 96
"""Most corners of hulls that are searched as a whole: on a CPU as dear as a climb's gathers."""
_DIRECTIONS = np.stack(np.meshgrid(*[[-1.0, 0.0, 1.0]] * 3, indexing="ij"), axis=-1).reshape(-1, 3)
"""Where climbs start; row 9 (x + 1) + 3 (y + 1) + z + 1."""


class Tables(NamedTuple):
    """What the hulls of a model are searched by.

    Attributes:
      hulls: tables of corners and polygons.
      vert: vertices, m (nmeshvert, 3, 1 or W).
      normal: outward normals of polygons, nearly of length 1 (npoly, 3, 1 or W).
      ladder: neighbours; None: the hulls are small.
      starts: the farthest corner in each of the directions (27 nmesh, 1 or W); None: as above.
    """

    hulls: Hulls
    vert: Array
    normal: Array
    ladder: Ladder | None
    starts: Array | None


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
    corners = tables.corners
    if corners.shape[1] <= _WHOLE:
        return Tables(tables, model.mesh_vert, normal, None, None)
    points = rows_by_world(lax.stop_gradient(model.mesh_vert), jnp.asarray(corners)[..., None])
    toward = jnp.asarray(_DIRECTIONS, points.dtype)
    heights = Vec.split(points[:, None]).dot(Vec(*(toward[None, :, k, None, None] for k in range(3))))
    best = first_largest(heights.reshape(-1, *heights.shape[2:]))
    rows = jnp.repeat(jnp.asarray(corners), len(_DIRECTIONS), axis=0)
    starts = jnp.take_along_axis(rows, best, axis=1)
    return Tables(tables, model.mesh_vert, normal, ladder(model.static), starts)


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
    assert tables.starts is not None
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

    corner = rows_by_world(tables.starts, jnp.maximum(hull.mesh, 0) * len(_DIRECTIONS) + _cell(direction))
    height = corner_at(hull, corner).dot(direction)
    ledge = first.at[corner].get(mode="promise_in_bounds")
    start = _Climb(corner, height, ledge, jnp.ones_like(height, bool))
    return lax.while_loop(lambda at: jnp.any(at.running), go_on, start).corner


def _cell(direction: Vec) -> Array:
    """The number of the tabulated direction near a direction."""
    x, y, z = (jnp.abs(c) for c in direction)
    most = jnp.maximum(jnp.maximum(x, y), z)
    half = 0.5 * jnp.where(most > 0, most, 1.0)
    signs = [(c > half).astype(jnp.int32) - (c < -half).astype(jnp.int32) for c in direction]
    return 9 * (signs[0] + 1) + 3 * (signs[1] + 1) + signs[2] + 1
