"""The search for the farthest corners of large hulls in one kernel of a GPU, whose lanes are pairs in worlds.

Written out for XLA, each row of corners that is looked at is some kernels, after which the host is asked whether to go
on. Here lanes wait for those of their warp alone. `hull` has the same in XLA's own words.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array, lax

from jaxsim.collision.vec import Vec
from jaxsim.hulls import Hulls
from jaxsim.math.lanes import in_lanes, rows_together
from jaxsim.math.one_kernel import Lanes, Table, Value
from jaxsim.structure.directions import CLIMB, LISTED, NEXT, WIDTH

__all__ = ["climb_of_lanes", "compare_of_lanes", "look_up_in_kernel"]

_TOGETHER = 16
"""Most corners of a small hull that are compared at once."""


def look_up_in_kernel(
    tables: Hulls, vert: Array, moved: Array, direction: Vec, row: Array, interpret: bool = False
) -> Array:
    """The farthest of the corners that are listed in a row, or what is found from there by a climb, (npair, W).

    Args:
      tables: of all hulls.
      vert: vertices, m (nmeshvert, 3, 1 or W).
      moved: whether vertices are not those that the tables were made of, (1 or W,).
      direction: directions in the geoms' frames, components (npair, W).
      row: the row of corners to begin with, (npair, W).
      interpret: whether to run the kernel without compiling it, for tests.
    """
    shape, worlds = row.shape, vert.shape[-1]
    world = jnp.broadcast_to(jnp.arange(shape[-1], dtype=jnp.int32) if worlds > 1 else jnp.int32(0), shape)
    per_lane = [*direction, jnp.broadcast_to(moved, shape).astype(jnp.int32), world, row]
    given = [x.reshape(-1) for x in per_lane]
    shared = [x.reshape(-1) for x in (tables.row, tables.near, vert)]
    result = jax.ShapeDtypeStruct(given[-1].shape, jnp.int32)
    kernel = functools.partial(_kernel, worlds)
    return in_lanes(kernel, "farthest_corner", given, [result], shared, interpret=interpret)[0].reshape(shape)


def _kernel(
    worlds: int,
    rows: Any,
    near: Any,
    vert: Any,
    x: Any,
    y: Any,
    z: Any,
    moved: Any,
    world: Any,
    start: Any,
    found: Any,
) -> None:
    """Looks at one row of corners after the other.

    Args:
      worlds: of how many worlds there are vertices.
      rows: corners, and what follows them, row by row.
      near: the row of each corner's neighbours.
      vert: vertices.
      x: component of the direction, as `y` and `z`.
      y: the next one.
      z: the last one.
      moved: whether a search is a climb.
      world: whose vertices are looked at.
      start: the first row.
      found: the farthest corner.
    """
    toward, climbing = (x[...], y[...], z[...]), moved[...] > 0
    found[...] = _climb((rows, near, vert), worlds, world[...], toward, climbing, start[...])


def climb_of_lanes(lanes: Lanes, rows: Table, near: Table, vert: Table, moved: Table, *asked: Value) -> Value:
    """The same in a kernel of other things: components of directions and first rows (n, W); n is a power of two."""
    n = len(asked[0].entries)
    x, y, z, first = (lanes.block(list(own.entries.flat), n, own.dtype) for own in asked)
    climbing = jnp.broadcast_to(moved.entries[0], x.shape)
    corner = _climb((rows.ref, near.ref, vert.ref), 1, 0, (x, y, z), climbing, first)
    return lanes.value(lanes.rows(corner, n))


def compare_of_lanes(lanes: Lanes, corners: Table, vert: Table, *asked: Value) -> Value:
    """The farthest of all corners of small hulls, in such a kernel: meshes and components of directions (n, W)."""
    n, count = len(asked[0].entries), corners.places.shape[1]
    mesh, x, y, z = (lanes.block(list(own.entries.flat), n, own.dtype) for own in asked)
    some, first = rows_together(count, _TOGETHER), jnp.maximum(mesh, 0) * count
    number = lax.broadcasted_iota(jnp.int32, (some, *mesh.shape), 0)

    def look(trip: Array, carry: tuple[Array, Array]) -> tuple[Array, Array]:
        """Looks at some corners: the best so far, and how far it is."""
        corner, height = carry
        rows = corners.ref[first + jnp.minimum(trip * some + number, count - 1)]
        best, best_height = _first_highest(_heights(vert.ref, rows, (x, y, z)), number, rows)
        better = best_height > height
        return jnp.where(better, best, corner), jnp.where(better, best_height, height)

    start = corners.ref[first], jnp.full(x.shape, -jnp.inf, x.dtype)
    corner, _ = lax.fori_loop(jnp.int32(0), jnp.int32(-(-count // some)), look, start)
    return lanes.value(lanes.rows(corner, n))


def _heights(vert: Any, corners: Array, toward: Sequence[Array], worlds: int = 1, own: Any = 0) -> Array:
    """How far corners are in a direction; `own` are the worlds, of so many, whose vertices are read."""
    at = corners * (3 * worlds) + own
    return toward[0] * vert[at] + toward[1] * vert[at + worlds] + toward[2] * vert[at + 2 * worlds]


def _first_highest(heights: Array, number: Array, corners: Array) -> tuple[Array, Array]:
    """Of corners (k, ..., lanes) with their heights the first that is highest, and how high it is."""
    highest = jnp.max(heights, axis=0)
    first = jnp.min(jnp.where(heights == highest, number, len(number)), axis=0)
    return jnp.sum(jnp.where(number == first, corners, 0), axis=0, dtype=corners.dtype), highest


def _climb(
    tables: Sequence[Any],
    worlds: int,
    own: Array | int,
    toward: Sequence[Array],
    climbing: Array,
    first: Array,
) -> Array:
    """The farthest corner, of lanes (..., lanes).

    Args:
      tables: corners, and what follows them, row by row; the row of each corner's neighbours; vertices.
      worlds: of how many worlds there are vertices.
      own: whose are looked at.
      toward: components of the direction.
      climbing: whether a search is a climb.
      first: the first row.
    """
    rows, near, vert = tables
    number = lax.broadcasted_iota(jnp.int32, (WIDTH, *first.shape), 0)

    def go_on(carry: tuple[Array, ...]) -> tuple[Array, ...]:
        """Looks at one row: the best corner so far, how far it is, the row, and who is going, (..., lanes)."""
        corner, height, row, going = carry
        place = row * (WIDTH + 1)
        listed, what = rows[place + number], rows[place + WIDTH]
        best, best_height = _first_highest(_heights(vert, listed, toward, worlds, own), number, listed)
        better = (going > 0) & (best_height > height)
        corner, height = jnp.where(better, best, corner), jnp.where(better, best_height, height)
        more = what & NEXT > 0
        # a climb goes on from each better corner, a list is looked at as a whole
        climbs = jnp.where(what & LISTED > 0, ~more & ((what & CLIMB > 0) | climbing), better)
        row = jnp.where(climbs, near[corner], row + more)
        return corner, height, row, jnp.where(climbs | more, going, 0)

    corner = rows[first * (WIDTH + 1)]
    height = jnp.full(first.shape, -jnp.inf, toward[0].dtype)
    carry = corner, height, first, jnp.ones(first.shape, jnp.int32)
    return lax.while_loop(lambda carry: jnp.max(carry[3]) > 0, go_on, carry)[0]
