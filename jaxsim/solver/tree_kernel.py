"""Solution of tree-structured systems in one kernel of a GPU or TPU, whose lanes are worlds.

The elimination of `linalg` is dozens of small kernels, each of which has to be launched. Here it is one Pallas kernel:
loops over the rows, with the structure read from small tables and the rows that are done kept in a scratch that stays
in the cache. Rows are vectors, and some descendants of a row are looked at together: few lanes wait for what they load
at a time, so much must be on its way. The plain elimination is its reference.

Written out row by row instead, the kernel took minutes to compile: for each load Triton looks at the whole program.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from jaxsim.math.axis import take
from jaxsim.math.constants import LEAST_PIVOT
from jaxsim.math.gather import widen
from jaxsim.math.lanes import in_lanes, wait_for_lanes
from jaxsim.math.stage import platform
from jaxsim.structure.sparsity import TreeStructure

__all__ = ["solve_in_kernel"]

_TOGETHER = 4
"""Descendants of a row that are looked at together."""

_WARP = 8
"""Numbers of a row in each lane of a warp."""


def solve_in_kernel(structure: TreeStructure, A: Array, b: Array, interpret: bool = False) -> Array:
    """Solves A x = b, (n, W), for entries A (nnz, W) and b (n, W); pivots are clamped as in the C engine."""
    places, first, below = _tables(structure)
    n, length, dtype = structure.n, places.shape[1], b.dtype
    tables, given = [first, below], [widen(A, b.shape[-1]), b]
    if platform() == "cuda":
        tables.append(places.reshape(-1))
    else:  # TPUs have no vectors of places in memory
        entries = jnp.concatenate([*given, jnp.zeros_like(b[:1])])
        given = [take(entries, places.reshape(-1)).reshape(n, length, -1)]
    results = [
        jax.ShapeDtypeStruct((*shape, b.shape[-1]), dtype) for shape in ((length,), *[(n, length)] * 2)
    ]
    kernel = functools.partial(_kernel, structure, (lambda: None) if interpret else wait_for_lanes)
    warps, tables = max(1, length // _WARP), list(map(jnp.asarray, tables))
    return in_lanes(kernel, "solve_tree", given, results, tables, warps, interpret=interpret)[0][:n]


@functools.lru_cache(maxsize=256)
def _tables(structure: TreeStructure) -> tuple[np.ndarray, ...]:
    """Where the numbers of each row are among entries, right-hand side and a zero, and the tables of `_kernel`.

    A row has a column for each degree of freedom, zeros up to a power of two and, last, its right-hand side.
    """
    n, size = structure.n, structure.size
    places = np.full((n, 1 << n.bit_length()), size + n)
    places[structure.rows, structure.cols] = np.arange(size)
    places[:, -1] = size + np.arange(n)
    below = [d for under in structure.descendants for d in under] or [0]
    first = np.cumsum([0, *map(len, structure.descendants)])
    found = (np.asarray(x, np.int32) for x in (places, first, below))
    return tuple(found)


def _kernel(structure: TreeStructure, wait: Callable[[], None], first: Any, below: Any, *refs: Any) -> None:
    """Eliminates from the leaves to the root, then substitutes back (Featherstone, RBDA, section 6.5).

    Args:
      structure: of the system.
      wait: waits until what is written can be read.
      first: where the list of each row's descendants starts, and its end (n + 1).
      below: these descendants.
      refs: the rows (n, length, lanes), or where their numbers are, entries (nnz, lanes) and right-hand side
        (n, lanes); the solution, at the places of the columns (length, lanes); two scratches (n, length, lanes): rows
        when their descendants are taken out of them, and the same by their pivots.
    """
    *given, x, work, scaled = refs
    n, length = structure.n, x.shape[0]
    column = lax.broadcasted_iota(jnp.int32, x.shape, 0)

    def row_of(k: Array | int) -> Array:
        """A row as it is given."""
        if len(given) == 1:
            return given[0][k]
        from jax.experimental import pallas as pl

        places, A, b = given
        place = places[pl.ds(k * length, length)]
        entries = jnp.where((place < structure.size)[:, None], A[jnp.minimum(place, structure.size - 1)], 0)
        return jnp.where(column == length - 1, b[k], entries)

    def reduce(count: Array, own: Array) -> Array:
        """Takes its descendants out of a row, from the last row to the first; returns the next row."""
        k = n - 1 - count
        begin, end = first[k], first[k + 1]
        following = row_of(jnp.maximum(k - 1, 0))  # is on its way while this one is computed

        def descendants(trip: Array, row: Array) -> Array:
            for u in range(_TOGETHER):
                j = begin + trip * _TOGETHER + u
                d = below[jnp.minimum(j, end - 1)]
                row = row - jnp.where(j < end, scaled[d, k], 0) * work[d]
            return row

        trips = lax.div(end - begin + (_TOGETHER - 1), jnp.asarray(_TOGETHER, begin.dtype))
        row = lax.fori_loop(0, trips, descendants, own)
        pivot = jnp.sum(jnp.where(column == k, row, 0), axis=0)  # of registers: what is written is far away
        work[k], scaled[k] = row, row * (1 / jnp.maximum(pivot, LEAST_PIVOT))
        wait()
        return following

    def substitute(k: Array, carry: tuple[Array, Array]) -> tuple[Array, Array]:
        """Adds a row's unknown to those that are found; the right-hand side counts as one that is minus one."""
        row, found = carry
        following = scaled[jnp.minimum(k + 1, n - 1)]
        return following, jnp.where(column == k, -jnp.sum(row * found, axis=0), found)

    lax.fori_loop(0, n, reduce, row_of(n - 1))
    none = jnp.where(column == length - 1, jnp.asarray(-1, x.dtype), 0)
    x[...] = lax.fori_loop(0, n, substitute, (scaled[0], none))[1]
