"""Height fields against convex geoms: prisms under the geom, each a convex body of its own.

Two triangles make the surface over a cell of the grid, split by the diagonal of its first and last corner. A prism
reaches from a triangle down to the base of the field. Every prism that touches gives one contact, as in the C engine.
Spheres are collided in closed form, other geoms by the general collider. Cells are looked at in a window below the geom
whose size is static (`structure/cells.py`); of its prisms, if they are many, those that reach farthest up to the geom
are collided.

Source: reference text, computation chapter, collision detection.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from jaxsim.collision.ball_prism import ball_prism
from jaxsim.collision.convex import collide_convex
from jaxsim.collision.convex.curved import height_along
from jaxsim.collision.convex.hull import Corners, Tables, hulls_of
from jaxsim.collision.convex.solid import KINDS, solid_of
from jaxsim.collision.points import Points, Portion, Search, Shape
from jaxsim.collision.select import pick_least
from jaxsim.collision.vec import Frame, Pose, Vec
from jaxsim.enums import GeomType
from jaxsim.math.asked import derived_of_few
from jaxsim.math.axis import take
from jaxsim.math.choices import Choices
from jaxsim.math.gather import rows_by_world, width_of
from jaxsim.math.stage import long_stage
from jaxsim.math.whole import quotient, remainder
from jaxsim.model import Model
from jaxsim.pytree import Static
from jaxsim.structure.colliders import Collider, collider
from jaxsim.structure.pairs import GeomPairs

__all__ = ["MOST_PRISMS"]

MOST_PRISMS = 50
"""Most prisms of a pair that are collided; the C engine stops at as many contacts (mjMAXCONPAIR)."""
_USUAL = 8
"""Prisms that a small geom touches: around a corner of the grid there are six."""


class _Fields(NamedTuple):
    """All height fields of a model.

    Attributes:
      size: half width, half depth, height, base, m (nhfield, 4, 1 or W).
      data: heights in [0, 1], (nhfielddata, 1 or W).
      grid: rows, columns and address of each field in `data`, (nhfield, 3).
      hulls: the meshes, if the other geoms are meshes.
    """

    size: Array
    data: Array
    grid: np.ndarray
    hulls: Tables | None


class _Grid(NamedTuple):
    """The field of each pair, (npair, 1 or W).

    Attributes:
      size: half width, half depth, height, base, m.
      step: width and depth of a cell, m.
      last: number of columns and rows of cells.
      start: number of its first height, and of heights in a row.
      data: as in `_Fields`.
    """

    size: tuple[Array, Array, Array, Array]
    step: tuple[Array, Array]
    last: tuple[Array, Array]
    start: tuple[Array, Array]
    data: Array


class _Cells(NamedTuple):
    """Cells below a geom, (npair, W).

    Attributes:
      first: column and row of the first cell of the window.
      end: columns and rows from there on are not below the geom.
      lowest: height of the geom's lowest point above the field's origin, m.
      near: whether the geom is neither above the highest possible point nor below the base.
      dropped: whether the window does not hold them all.
    """

    first: tuple[Array, Array]
    end: tuple[Array, Array]
    lowest: Array
    near: Array
    dropped: Array


class _Prism(NamedTuple):
    """Corners of the triangle on top of a prism, in the frame of the field, components (npair, nprism, W)."""

    first: Vec
    last: Vec
    third: Vec


def _against(kind: GeomType) -> Callable[..., Points]:
    """The collider of height fields and geoms of a type."""

    def collide(
        field: Shape, geom: Shape, reach: Array, search: Search, choices: Choices, *, window: tuple[int, int]
    ) -> Points:
        """As other iterative colliders; `window` has columns and rows of cells."""
        geom = geom._replace(assets=field.assets.hulls)
        grid = _grid(field)
        held = lax.stop_gradient((grid, field, geom, reach))
        first, picked, active, dropped = choices.of(_meeting, *held, search.active, kind=kind, window=window)
        number = _all_of(window) if picked is None else picked
        prisms = _prisms(grid, first, number, columns=window[0])
        if kind == GeomType.SPHERE:
            found = _balls(field, geom, grid, prisms, reach)
        else:
            found = _collided(kind, field, geom, grid, prisms, active, reach, search, choices)
        valid = active if found.valid is None else active & found.valid
        return found._replace(valid=valid, dropped=dropped)

    return collide


def _all_of(window: tuple[int, int]) -> Array:
    """Numbers of all prisms in a window of columns and rows, (1, nprism, 1)."""
    return jnp.arange(2 * window[0] * window[1], dtype=jnp.int32)[None, :, None]


def _meeting(
    grid: _Grid,
    field: Shape,
    geom: Shape,
    reach: Array,
    asked: Array,
    *,
    kind: GeomType,
    window: tuple[int, int],
) -> tuple[tuple[Array, Array], Array | None, Array, Array]:
    """The prisms that may meet a geom.

    Returns:
      column and row of the window's first cell, (npair, W) each; numbers of prisms in the window (None: all) and
      whether each may meet the geom, (npair, nprism, W); whether there are more of them, (npair, W).
    """
    cells = _cells(grid, _extents(field, geom, kind=kind), reach, window=window)
    number = _all_of(window)
    below = _below(grid, cells, reach, asked, number, columns=window[0])
    if number.size <= MOST_PRISMS:
        return cells.first, None, below <= 0, cells.dropped
    if kind != GeomType.MESH:
        prisms = _prisms(grid, cells.first, number, columns=window[0])
        below = _apart(field, geom, prisms, reach, below, kind=kind)
    number, active, more = _highest(below)
    return cells.first, number, active, cells.dropped | more


def _collided(
    kind: GeomType,
    field: Shape,
    geom: Shape,
    grid: _Grid,
    prisms: _Prism,
    active: Array,
    reach: Array,
    search: Search,
    choices: Choices,
) -> Points:
    """Every prism against the geom of its pair."""
    npair, count, _ = active.shape
    rows = np.repeat(np.arange(npair), count)

    def many(x: Any) -> Any:
        return jax.tree.map(lambda a: take(a, rows), x)

    shape = _prism_shape(many(field.pos), many(field.axes), grid, prisms)
    other = geom.each(many)
    asked = search._replace(active=active.reshape(npair * count, -1))
    portion = Portion(((GeomType.HFIELD,), (kind,)), len(rows), 1)
    (found,) = collide_convex([portion], shape, other, many(reach), asked, choices)
    return jax.tree.map(lambda a: a.reshape(npair, count, -1), found)


def _balls(field: Shape, geom: Shape, grid: _Grid, prisms: _Prism, reach: Array) -> Points:
    """Every prism against the sphere of its pair."""
    centre, base = field.axes.to_local(geom.pos - field.pos), -grid.size[3][:, None]
    top = (prisms.first, prisms.last, prisms.third)
    given = (top, base, centre.lifted(), geom.size.x[:, None], reach[:, None])
    shape = prisms.first.x.shape[:2]
    each = jax.tree.map(lambda x: jnp.broadcast_to(x, (*shape, x.shape[-1])).reshape(-1, x.shape[-1]), given)
    found = derived_of_few(lambda own, _: ball_prism(*own[:-1]), lambda own, of: own.dist < of[-1], each)
    found = jax.tree.map(lambda x: x.reshape(*shape, -1), found)
    axes = field.axes.lifted()
    return found._replace(
        pos=field.pos.lifted() + axes.to_world(found.pos), normal=axes.to_world(found.normal)
    )


@long_stage
def _prism_shape(pos: Vec, axes: Frame, grid: _Grid, prisms: _Prism) -> Shape:
    """Prisms as geoms, one a row, centred at their top triangles."""
    tops = list(prisms)
    centre = (tops[0] + tops[1] + tops[2]) * (1 / 3)
    base = -grid.size[3][:, None]
    corners = [top - centre for top in tops]
    corners += [Vec(c.x, c.y, base - centre.z) for c in corners]
    flat = [Vec(*(x.reshape(-1, x.shape[-1]) for x in c)) for c in (centre, *corners)]
    width = width_of(flat)
    points = Vec(
        *(
            jnp.stack([jnp.broadcast_to(x, (len(x), width)) for x in parts], axis=1)
            for parts in zip(*flat[1:], strict=True)
        )
    )
    pose = Pose.of(pos + axes.to_world(flat[0]), axes)
    kind = jnp.full((len(pose.numbers), 1), int(GeomType.HFIELD), jnp.int32)
    return Shape(pose, jnp.zeros_like(pose.numbers[:, :3, :1]), kind * 0, kind, Corners(points))


@long_stage
def _grid(field: Shape) -> _Grid:
    fields: _Fields = field.assets
    size = rows_by_world(fields.size, field.asset)
    nrow, ncol, start = (rows_by_world(jnp.asarray(column)[:, None], field.asset) for column in fields.grid.T)
    half, rest = (size[:, 0], size[:, 1]), (size[:, 2], size[:, 3])
    last = ncol - 1, nrow - 1
    step = tuple(2.0 * h / n.astype(h.dtype) for h, n in zip(half, last, strict=True))
    return _Grid((*half, *rest), (step[0], step[1]), last, (start, ncol), fields.data)


@long_stage
def _extents(field: Shape, geom: Shape, *, kind: GeomType) -> tuple[Vec, Vec]:
    """The least and the largest coordinates of geoms in the frames of fields, m (npair, W)."""
    offset = field.axes.to_local(geom.pos - field.pos)
    width = width_of((offset, field.axes.x))
    faces = [axis * sign for sign in (-1.0, 1.0) for axis in field.axes]
    wide = (Vec(*(jnp.broadcast_to(c, (len(c), width)) for c in face)) for face in faces)
    direction = Vec(*(jnp.concatenate(parts) for parts in zip(*wide, strict=True)))
    six = geom.each(lambda x: jnp.concatenate([x] * 6))
    reach = height_along(solid_of([kind], six), six.axes, direction)
    low_x, low_y, low_z, high_x, high_y, high_z = jnp.split(reach, 6)
    return offset - Vec(low_x, low_y, low_z), offset + Vec(high_x, high_y, high_z)


@long_stage
def _cells(grid: _Grid, box: tuple[Vec, Vec], reach: Array, *, window: tuple[int, int]) -> _Cells:
    """The window of cells below geoms with given extents; where it is too small, its middle is below theirs."""
    low, high = box
    first, end = [], []
    dropped = jnp.zeros((), bool)
    for least, most, half, step, last, count in zip(
        low[:2], high[:2], grid.size[:2], grid.step, grid.last, window, strict=True
    ):
        # what is far away need not fit into an integer
        begin = jnp.clip(jnp.floor((least - reach + half) / step), 0, last).astype(jnp.int32)
        stop = jnp.clip(jnp.ceil((most + reach + half) / step), 0, last).astype(jnp.int32)
        middle = jnp.clip(jnp.floor((0.5 * (least + most) + half) / step), 0, last).astype(jnp.int32)
        many = stop - begin > count
        first.append(jnp.where(many, jnp.clip(middle - count // 2, begin, stop - count), begin))
        end.append(stop)
        dropped = dropped | many
    near = (low.z - reach <= grid.size[2]) & (high.z + reach >= -grid.size[3])
    near = near & (end[0] > first[0]) & (end[1] > first[1])
    return _Cells((first[0], first[1]), (end[0], end[1]), low.z, near, dropped & near)


def _highest(below: Array) -> tuple[Array, Array, Array]:
    """The prisms that are not below, at most `MOST_PRISMS`: numbers, which places are in use, where there are more."""
    npair, count, width = below.shape
    rows, filled, dropped = pick_least(jnp.moveaxis(below, 1, 0).reshape(count, -1), slots=MOST_PRISMS)
    rows, filled = (jnp.moveaxis(x.reshape(-1, npair, width), 1, 0) for x in (rows, filled))
    return rows, filled, dropped.reshape(npair, width)


@long_stage
def _apart(field: Shape, geom: Shape, prisms: _Prism, reach: Array, below: Array, *, kind: GeomType) -> Array:
    """`below`, or if that is more, the gap between prism and geom along the line from triangle to geom beyond reach.

    It is a lower bound of their distance, which tells apart prisms that all are high enough.
    """
    npair, count, _ = prisms.first.x.shape
    rows = np.repeat(np.arange(npair), count)
    many = geom.each(lambda x: take(x, rows))
    turn = jax.tree.map(lambda x: take(x, rows), field.axes)
    centre = (prisms.first + prisms.last + prisms.third) * (1 / 3)
    offset = field.axes.to_local(geom.pos - field.pos)
    line = offset.lifted() - centre
    square = line.dot(line)
    some = (square > 0) & (line.z > 0)
    toward = line * jnp.where(some, 1.0 / jnp.sqrt(jnp.where(some, square, 1.0)), 0.0)
    tops = [(corner - centre).dot(toward) for corner in prisms]
    flat = Vec(*(x.reshape(npair * count, -1) for x in toward))
    own = height_along(solid_of([kind], many), many.axes, -turn.to_world(flat))
    gap = (
        line.dot(toward) - jnp.maximum(jnp.maximum(tops[0], tops[1]), tops[2]) - own.reshape(npair, count, -1)
    )
    return jnp.maximum(below, jnp.where(some, gap - reach[:, None], below))


@long_stage
def _below(grid: _Grid, cells: _Cells, reach: Array, asked: Array, number: Array, *, columns: int) -> Array:
    """How far prisms end below the reach of the geom, m (npair, nprism, W); positive where they do not matter."""
    column, row, _ = _place(cells.first, number, columns)
    under = (column < cells.end[0][:, None]) & (row < cells.end[1][:, None])
    heights = [corner.z for corner in _prisms(grid, cells.first, number, columns=columns)]
    top = jnp.maximum(jnp.maximum(heights[0], heights[1]), heights[2])
    key = (cells.lowest - reach)[:, None] - top
    return jnp.where(under & (cells.near & asked)[:, None], key, 1.0)


def _place(first: tuple[Array, Array], number: Array, columns: int) -> tuple[Array, Array, Array]:
    """Column and row of a prism's cell in the field, and which of the two it is: 0 has the row's, 1 the next."""
    cell = quotient(number, 2)
    column, row = remainder(cell, columns), quotient(cell, columns)
    return first[0][:, None] + column, first[1][:, None] + row, remainder(number, 2)


@long_stage
def _prisms(grid: _Grid, first: tuple[Array, Array], number: Array, *, columns: int) -> _Prism:
    """Prisms of the window by number; outside of the field some prism of it."""
    column, row, second = _place(first, number, columns)
    column = jnp.minimum(column, grid.last[0][:, None] - 1)
    row = jnp.minimum(row, grid.last[1][:, None] - 1)

    def corner(right: Array | int, up: Array | int) -> Vec:
        x, y = column + right, row + up
        at = grid.start[0][:, None] + y * grid.start[1][:, None] + x
        height = rows_by_world(grid.data, at)
        east, north = (
            n.astype(step.dtype) * step[:, None] - half[:, None]
            for n, step, half in zip((x, y), grid.step, grid.size[:2], strict=True)
        )
        return Vec(east, north, height * grid.size[2][:, None])

    return _Prism(corner(0, 0), corner(1, 1), corner(second, 1 - second))


def _fields(model: Model, *, meshes: bool) -> _Fields:
    """The tables that `Shape.asset` chooses from."""
    grid = np.stack([model.hfield_nrow, model.hfield_ncol, model.hfield_adr], axis=1).astype(np.int32)
    return _Fields(model.hfield_size, model.hfield_data, grid, hulls_of(model) if meshes else None)


def _fitted(own: Collider, static: Static, pairs: GeomPairs) -> Collider:
    """With a window for the largest of the geoms that meet a height field."""
    columns, rows = (int(n) for n in static.geom_hfieldcells[pairs.geom2].max(axis=0))
    points = min(2 * columns * rows, MOST_PRISMS)
    function = functools.partial(own.function, window=(columns, rows))
    return own._replace(function=function, points=points, usual=min(points, _USUAL), fitted=None)


for _kind in KINDS:
    if _kind != GeomType.HFIELD:
        _assets = functools.partial(_fields, meshes=_kind == GeomType.MESH)
        _enter = collider(
            GeomType.HFIELD,
            _kind,
            points=MOST_PRISMS,
            exhaustive=64,
            iterative=True,
            assets=_assets,
            fitted=_fitted,
        )
        _enter(_against(_kind))
