"""The corner of a hull that is farthest in a direction: a mesh's, or that of a few points made on the device.

Small hulls are searched as a whole: their corners, filled up to the most that a mesh of the model has, are compared
in one kernel. Of large ones a table tells which few corners may be farthest in a direction
(`structure/directions.py`), so that meshes of different sizes share one program and cost the same.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array, lax

from jaxsim.collision.convex.hull_kernel import climb_of_lanes, compare_of_lanes, look_up_in_kernel
from jaxsim.collision.largest import along, entry_at, first_largest
from jaxsim.collision.vec import Vec
from jaxsim.hulls import Hulls
from jaxsim.math.axis import concat
from jaxsim.math.gather import rows_by_world, widen, width_of
from jaxsim.math.linear import operation
from jaxsim.math.one_kernel import LANE, fits_one_kernel
from jaxsim.math.ruled import ruled
from jaxsim.math.safe import normalize
from jaxsim.math.stage import apart, platform
from jaxsim.math.vector import cross
from jaxsim.math.whole import remainder
from jaxsim.model import Model
from jaxsim.structure.directions import CELLS, CLIMB, FINER, LEVELS, LISTED, NEXT, WIDTH
from jaxsim.structure.hulls import vertex_sum

__all__ = [
    "ENTRIES",
    "Corners",
    "Hull",
    "Tables",
    "cell_of",
    "corner_at",
    "corners_of",
    "entries_of",
    "entry_blocks",
    "farthest_corners",
    "first_row",
    "hulls_of",
    "places_from",
    "searchable",
]


ENTRIES = 8
"""How many entries of a corner are looked at together: most have five or six, the middle of a disk all of its rim."""


class Tables(NamedTuple):
    """What the hulls of a model are searched by.

    Attributes:
      hulls: tables of corners, polygons and directions.
      vert: vertices, m (nmeshvert, 3, 1 or W).
      normal: outward normals of polygons, nearly of length 1 (npoly, 3, 1 or W).
      moved: whether vertices are not those that the table of directions was made of, (1 or W,); None: there is none.
    """

    hulls: Hulls
    vert: Array
    normal: Array
    moved: Array | None


class Hull(NamedTuple):
    """The hull of each pair's mesh.

    Attributes:
      mesh: which mesh, (npair, 1 or W).
      tables: of all meshes.
      rows: rows of its corners in `mesh_vert`, (npair, k, 1 or W), see `searchable`; None: they are looked up.
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
    tables, vert, tilt = model.mesh_hulls, model.mesh_vert, model.mesh_polytilt
    if not len(tables.cell):
        return Tables(tables, vert, _normals(vert, tilt, tables), None)
    moved = _were_moved(vert, tables.vertex, tables.vertsum)
    # of many polygons they are looked up on a CPU; on accelerators a branch costs more than the few kernels
    normal = (
        _known_normals(vert, tilt, tables, moved) if platform() == "cpu" else _normals(vert, tilt, tables)
    )
    return Tables(tables, vert, normal, moved)


@apart
def _were_moved(vert: Array, corners: Array, known: Array) -> Array:
    """Whether corners of hulls are not where they were when the model was compiled, in each world."""
    found = rows_by_world(lax.stop_gradient(vert), corners)
    return vertex_sum(found.astype(jnp.float32)) != known


def _normals(vert: Array, tilt: Array, hulls: Hulls) -> Array:
    return normalize(_area_vectors(vert, hulls))[0] + tilt


@ruled
def _known_normals(vert: Array, tilt: Array, hulls: Hulls, moved: Array) -> Array:
    """`_normals`, of vertices that were not moved those that the model knows; derivatives are the same."""
    width = width_of((vert, tilt, hulls.normal))
    known = widen(hulls.normal, width)
    return lax.cond(jnp.any(moved), lambda: widen(_normals(vert, tilt, hulls), width), lambda: known)


@_known_normals.defjvp
def _known_normals_jvp(primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Array, Array]:
    (vert, tilt, hulls, _), (by_vert, by_tilt) = primals, tangents[:2]
    width = width_of((vert, tilt, hulls.normal))
    return jax.jvp(
        lambda vert, tilt: widen(_normals(vert, tilt, hulls), width), (vert, tilt), (by_vert, by_tilt)
    )


def _area_vectors(vert: Array, hulls: Hulls) -> Array:
    """Twice the area along the normal of polygons: of those that are not quite flat it is their mean.

    What fills up a triangle or a quadrilateral, its first corner, adds nothing.
    """
    first, second, third, fourth = (rows_by_world(vert, hulls.polygon[:, k]) for k in range(4))
    vectors = cross(third - first, second - fourth)
    if not len(hulls.wide):
        return vectors
    corners = rows_by_world(vert, rows_by_world(hulls.polygon, hulls.wide))
    sides = [corners[:, k] - corners[:, 0] for k in range(1, corners.shape[1])]
    whole = sum((cross(b, a) for a, b in itertools.pairwise(sides)), start=jnp.zeros_like(sides[0]))
    return vectors.at[hulls.wide[..., 0]].set(whole)


def searchable(hull: Hull | Corners) -> Hull | Corners:
    """With the corners of hulls that are searched as a whole: gathered once, not in each round."""
    if isinstance(hull, Corners) or hull.rows is not None or hull.tables.moved is not None:
        return hull
    if _read_in_a_kernel(hull):
        return hull
    rows, points = _gathered(hull.tables.hulls.corners, hull.tables.vert, hull.mesh)
    return hull._replace(rows=rows, points=points)


def _gathered(corners: Array, vert: Array, mesh: Array) -> tuple[Array, Array]:
    """Rows of the corners of hulls, and the corners."""
    rows = rows_by_world(corners, jnp.maximum(mesh, 0))
    return rows, rows_by_world(vert, rows)


def _read_in_a_kernel(hull: Hull) -> bool:
    """Whether a search is one kernel of a GPU (`fits_one_kernel`), without room for all corners of each lane."""
    return platform() == LANE or (fits_one_kernel(hull.mesh, ()) and hull.tables.vert.shape[-1] == 1)


def entry_blocks(tables: Tables, corner: Array, asked: Array) -> Array:
    """How many times `ENTRIES` have to be looked at for all entries of the corners (..., W) that are asked, ()."""
    entries = jnp.where(asked, rows_by_world(tables.hulls.entries, corner), 1)
    return -(-jnp.maximum(jnp.max(entries), 1) // ENTRIES)


def entries_of(hulls: Hulls, vertex: Array, places: Array) -> Array:
    """The entries of vertices (..., W) at places (k,), beyond the last it again: (..., k, W)."""
    first, count = rows_by_world(hulls.entry, vertex), rows_by_world(hulls.entries, vertex)
    return first[..., None, :] + jnp.minimum(places[:, None], jnp.maximum(count, 1)[..., None, :] - 1)


def places_from(tables: Tables, start: Array | int) -> Array:
    """The places of as many entries as are looked at together."""
    return start + jnp.arange(min(tables.hulls.most, ENTRIES), dtype=jnp.int32)


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
    if held.tables.moved is not None:
        return _looked_up(held, toward)
    if rows is None or points is None:
        return _compared(held.tables.hulls.corners, held.tables.vert, held.mesh, *toward)
    return _best(rows, points, toward)


def _best(rows: Array, points: Array, toward: Vec) -> Array:
    """The first of the farthest corners (npair, k, ...), (npair, W)."""
    return entry_at(rows, first_largest(along(toward, points)))


def _all_corners(corners: Array, vert: Array, mesh: Array, x: Array, y: Array, z: Array) -> Array:
    """The farthest corners of hulls `mesh` that are read as they are compared, (npair, W)."""
    return _best(*_gathered(corners, vert, mesh), Vec(x, y, z))


_compared = operation(_all_corners, _all_corners, compare_of_lanes)


class _Search(NamedTuple):
    """Where each search stands, (npair, W): a corner, how far it is, the row of corners to be looked at."""

    corner: Array
    height: Array
    row: Array
    running: Array


def _looked_up(hull: Hull, direction: Vec) -> Array:
    """The farthest of the corners that are listed for a direction, or what is found from there by a climb."""
    tables, vert, _, moved = hull.tables
    assert moved is not None
    row = first_row(tables, hull.mesh, direction)
    if platform() == "cuda":
        return look_up_in_kernel(tables, vert, moved, direction, row)
    return _climbed(tables.row, tables.near, vert, moved, *direction, row)


def _all_at_once(
    rows: Array, near_of: Array, vert: Array, moved: Array, x: Array, y: Array, z: Array, row: Array
) -> Array:
    """What searches find that begin at a row, (npair, W): all of them look at a row, and at the next one."""
    direction = Vec(x, y, z)

    def go_on(at: _Search) -> _Search:
        """Looks at one row of corners."""
        row = rows_by_world(rows, at.row)
        near, what = row[:, :WIDTH], row[:, WIDTH]
        heights = along(direction, rows_by_world(vert, near))
        number = first_largest(heights)
        best = entry_at(heights, number)
        better = at.running & (best > at.height)
        corner = jnp.where(better, entry_at(near, number), at.corner)
        more = what & NEXT > 0
        # a climb goes on from each better corner, a list is looked at as a whole
        climbs = ~more & ((what & CLIMB > 0) | moved)
        climbs = jnp.where(what & LISTED > 0, climbs, better)
        return _Search(
            corner,
            jnp.where(better, best, at.height),
            jnp.where(climbs, rows_by_world(near_of, corner), at.row + more),
            at.running & (climbs | more),
        )

    everyone = jnp.ones(row.shape, bool)
    corner = rows_by_world(rows[:, 0], row)
    start = _Search(corner, jnp.full(row.shape, -jnp.inf, x.dtype), row, everyone)
    return lax.while_loop(lambda at: jnp.any(at.running), go_on, start).corner


def _one_by_one(rows: Array, near_of: Array, vert: Array, moved: Array, *lanes: Array) -> Array:
    """The same, one search after the other: together all would look at as many rows as the longest of them."""
    if vert.shape[-1] > 1:
        return _all_at_once(rows, near_of, vert, moved, *lanes)
    shape = lanes[-1].shape
    lanes = tuple(x.reshape(1, -1) for x in lanes)

    def put(k: Array, found: Array) -> Array:
        own = (lax.dynamic_slice_in_dim(x, k, 1, axis=1) for x in lanes)
        corner = _all_at_once(rows, near_of, vert, moved, *own)
        return lax.dynamic_update_slice_in_dim(found, corner, k, axis=1)

    none = jnp.zeros((1, lanes[-1].size), rows.dtype)
    return lax.fori_loop(0, lanes[-1].size, put, none).reshape(shape)


_climbed = operation(_all_at_once, _one_by_one, climb_of_lanes)


def first_row(tables: Hulls, mesh: Array, direction: Vec) -> Array:
    """The row of corners that are listed for directions."""
    face, u, v = cell_of(direction)

    def place(side: int) -> list[Array]:
        return [jnp.clip((c * side).astype(jnp.int32), 0, side - 1) for c in (u, v)]

    side, (i, j) = CELLS, place(CELLS)
    found = rows_by_world(tables.cell, ((jnp.maximum(mesh, 0) * 6 + face) * CELLS + i) * CELLS + j)
    for _ in range(LEVELS):
        side *= FINER
        i, j = (remainder(k, FINER) for k in place(side))
        part = rows_by_world(tables.cell, jnp.maximum(-1 - found, 0) + FINER * i + j)
        found = jnp.where(found < 0, part, found)
    return found


def cell_of(direction: Vec) -> tuple[Array, Array, Array]:
    """Where directions leave a cube around the origin: its face, and two coordinates on that between 0 and 1.

    The faces are those at -x, +x, -y, ..., and the coordinates the next two in turn, as in `structure.directions`.
    """
    x, y, z = (jnp.abs(c) for c in direction)
    along_x, along_y = (x >= y) & (x >= z), y >= z
    turned = Vec(direction.y, direction.z, direction.x).where(
        along_y, Vec(direction.z, direction.x, direction.y)
    )
    major, *minor = direction.where(along_x, turned)
    scale = 0.5 / jnp.where(major != 0, jnp.abs(major), 1.0)
    u, v = (jnp.clip(c * scale + 0.5, 0, 1) for c in minor)
    return 2 * jnp.where(along_x, 0, jnp.where(along_y, 1, 2)) + (major > 0), u, v
