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
from jaxsim.math.lanes import in_lanes, wait_for_lanes, warps_for
from jaxsim.math.stage import platform
from jaxsim.structure.sparsity import TreeStructure

__all__ = ["solve_in_kernel"]

_DESCENDANTS, _ANCESTORS = 4, 8
"""How many of them are looked at together."""


def solve_in_kernel(structure: TreeStructure, A: Array, b: Array, interpret: bool = False) -> Array:
    """Solves A x = b, (n, W), for entries A (nnz, W) and b (n, W); pivots are clamped as in the C engine."""
    places, *tables = _tables(structure)
    given, shape = [widen(A, b.shape[-1]), b], (*places.shape, b.shape[-1])
    if platform() != "cuda":  # TPUs have no vectors of places
        entries = jnp.concatenate([*given, jnp.zeros_like(b[:1])])
        given = [take(entries, places.reshape(-1)).reshape(shape)]
    results = [jax.ShapeDtypeStruct(x, b.dtype) for x in (b.shape, shape, b.shape)]
    kernel = functools.partial(_kernel, (lambda: None) if interpret else wait_for_lanes)
    warps, tables = warps_for(places.shape[1]), list(map(jnp.asarray, tables))
    return in_lanes(kernel, "solve_tree", given, results, tables, warps, interpret=interpret)[0]


@functools.lru_cache(maxsize=256)
def _tables(structure: TreeStructure) -> tuple[np.ndarray, ...]:
    """Where the numbers of each row are among entries, right-hand side and a zero, and the tables of `_kernel`.

    A row is its right-hand side, its entries and zeros up to a power of two.
    """
    n, offset = structure.n, np.array(structure.offset)
    size = np.diff(offset)
    place = np.arange(1 << int(size.max()).bit_length())
    places = np.where(place <= size[:, None], offset[:-1, None] + place - 1, structure.size + n)
    places[:, 0] = structure.size + np.arange(n)
    below = [d for under in structure.descendants for d in under] or [0]
    first = np.cumsum([0, *map(len, structure.descendants)])
    return places, *(np.asarray(x, np.int32) for x in (offset, structure.cols, first, below))


def _parts(count: Array, most: int) -> Array:
    """How many parts of so many make up a number that is not negative."""
    return lax.div(count + (most - 1), jnp.asarray(most, count.dtype))


def _kernel(wait: Callable[[], None], offset: Any, cols: Any, first: Any, below: Any, *refs: Any) -> None:
    """Eliminates from the leaves to the root, then substitutes back (Featherstone, RBDA, section 6.5).

    Args:
      wait: waits until what is written can be read.
      offset: where each row's entries start, and their number (n + 1).
      cols: the ancestor of each entry (nnz).
      first: where the list of each row's descendants starts, and its end (n + 1).
      below: these descendants.
      refs: the rows (n, length, lanes), or entries (nnz, lanes) and right-hand side (n, lanes); the solution
        (n, lanes); rows when their descendants are taken out of them (n, length, lanes) and inverses of their pivots
        (n, lanes), both scratches.
    """
    *given, x, work, inverse = refs
    n, shape = x.shape[0], work.shape[1:]

    def row_of(k: Array | int) -> Array:
        """A row as it is given."""
        if len(given) == 1:
            return given[0][k]
        A, b = given
        begin, end = offset[k], offset[k + 1]
        place = begin - 1 + lax.broadcasted_iota(jnp.int32, (shape[0],), 0)
        entries = jnp.where((place < end)[:, None], A[jnp.clip(place, 0, A.shape[0] - 1)], 0)
        return jnp.where(lax.broadcasted_iota(jnp.int32, shape, 0) == 0, b[k], entries)

    def reduce(count: Array, own: Array) -> Array:
        """Takes its descendants out of a row, from the last row to the first; returns the next row."""
        k = n - 1 - count
        place, begin, end = offset[k + 1] - offset[k], first[k], first[k + 1]
        following = row_of(jnp.maximum(k - 1, 0))  # is on its way while this one is computed

        def descendants(trip: Array, row: Array) -> Array:
            for u in range(_DESCENDANTS):
                j = begin + trip * _DESCENDANTS + u
                d = below[jnp.minimum(j, end - 1)]
                factor = jnp.where(j < end, work[d, place] * inverse[d], 0)
                row = row - factor * work[d]
            return row

        work[k] = lax.fori_loop(0, _parts(end - begin, _DESCENDANTS), descendants, own)
        wait()
        inverse[k] = 1 / jnp.maximum(work[k, place], LEAST_PIVOT)
        wait()
        return following

    def substitute(k: Array, none: None) -> None:
        """Finds a row's unknown from those of its ancestors, from the first row to the last."""
        entries = offset[k]
        last = offset[k + 1] - entries - 1

        def ancestors(trip: Array, total: Array) -> Array:
            for u in range(_ANCESTORS):
                q = trip * _ANCESTORS + u
                p = jnp.minimum(q, last - 1)
                total = total - jnp.where(q < last, work[k, 1 + p] * x[cols[entries + p]], 0)
            return total

        x[k] = inverse[k] * lax.fori_loop(0, _parts(last, _ANCESTORS), ancestors, work[k, 0])
        wait()

    lax.fori_loop(0, n, reduce, row_of(n - 1))
    lax.fori_loop(0, n, substitute, None)
