"""Solution of tree-structured systems in one kernel of a GPU or TPU, whose lanes are worlds.

The elimination of `linalg` is dozens of small kernels, each of which has to be launched. Here it is one Pallas kernel
whose lanes are worlds: loops over the rows, with the structure read from small tables and the entries kept in a scratch
that stays in the cache. Written out row by row instead, the kernel took minutes to compile. The plain elimination is
its reference.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from jaxsim.math.constants import LEAST_PIVOT
from jaxsim.math.gather import widen
from jaxsim.math.lanes import in_lanes
from jaxsim.structure.sparsity import TreeStructure

__all__ = ["solve_in_kernel"]


def solve_in_kernel(structure: TreeStructure, A: Array, b: Array, interpret: bool = False) -> Array:
    """Solves A x = b, (n, W), for entries A (nnz, W) and b (n, W); pivots are clamped as in the C engine."""
    given = jnp.concatenate([widen(A, b.shape[-1]), b])
    tables = [jnp.asarray(np.asarray(x, np.int32)) for x in (structure.offset, structure.cols)]
    results = [jax.ShapeDtypeStruct(x.shape, x.dtype) for x in (given, b)]
    return in_lanes(_kernel, "solve_tree", [given], results, tables, interpret)[1]


def _kernel(offset: Any, cols: Any, given: Any, work: Any, x: Any) -> None:
    """Eliminates from the leaves to the root, then substitutes back (Featherstone, RBDA, section 6.5).

    Args:
      offset: where each row's entries start, and their number (n + 1).
      cols: the ancestor of each entry (nnz).
      given: entries, then the right-hand side (nnz + n, lanes).
      work: the same, reduced; a scratch.
      x: the solution (n, lanes).
    """
    n = x.shape[0]
    right = cols.shape[0]

    def copy(k: Array, none: None) -> None:
        work[k] = given[k]

    def reduce(count: Array, none: None) -> None:
        """Takes a row, from the last to the first, out of those of its ancestors."""
        k = n - 1 - count
        first, last = offset[k], offset[k + 1] - 1
        inverse = 1 / jnp.maximum(work[last], LEAST_PIVOT)

        def ancestor(p: Array, none: None) -> None:
            i = cols[p]
            factor = work[p] * inverse
            start = offset[i]

            def entry(q: Array, none: None) -> None:
                work[start + q - first] = work[start + q - first] - factor * work[q]

            lax.fori_loop(first, p + 1, entry, None)
            work[right + i] = work[right + i] - factor * work[right + k]

        lax.fori_loop(first, last, ancestor, None)

    def substitute(k: Array, none: None) -> None:
        first, last = offset[k], offset[k + 1] - 1
        inverse = 1 / jnp.maximum(work[last], LEAST_PIVOT)

        def ancestor(p: Array, total: Array) -> Array:
            return total - work[p] * x[cols[p]]

        x[k] = inverse * lax.fori_loop(first, last, ancestor, work[right + k])

    lax.fori_loop(0, right + n, copy, None)
    lax.fori_loop(0, n, reduce, None)
    lax.fori_loop(0, n, substitute, None)
