"""Solution of tree-structured systems in one kernel of a GPU: a warp eliminates 32 worlds.

The elimination of `linalg` is dozens of small kernels, each of which a GPU has to launch. Here it is one Pallas kernel
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
from jaxsim.structure.sparsity import TreeStructure

__all__ = ["solve_in_kernel"]

_LANES = 32
"""Worlds of one program: a warp, so that 4,096 worlds keep all multiprocessors busy."""


def solve_in_kernel(structure: TreeStructure, A: Array, b: Array, interpret: bool = False) -> Array:
    """Solves A x = b, (n, W), for entries A (nnz, W) and b (n, W); pivots are clamped as in the C engine."""
    from jax.experimental import pallas as pl  # a second to import, and only programs for GPUs need it
    from jax.experimental.pallas import triton

    width = b.shape[-1]
    whole = -(-width // _LANES) * _LANES
    given = jnp.concatenate([widen(A, width), b])
    given = jnp.pad(given, ((0, 0), (0, whole - width)), constant_values=1)
    offset, cols = np.asarray(structure.offset, np.int32), np.asarray(structure.cols, np.int32)

    def worlds(rows: int) -> Any:
        return pl.BlockSpec((rows, _LANES), lambda i: (0, i))

    def table(x: np.ndarray) -> Any:
        return pl.BlockSpec(x.shape, lambda i: (0,))

    _, x = pl.pallas_call(
        _kernel,
        out_shape=[
            jax.ShapeDtypeStruct(given.shape, given.dtype),
            jax.ShapeDtypeStruct((structure.n, whole), b.dtype),
        ],
        grid=(whole // _LANES,),
        in_specs=[table(offset), table(cols), worlds(given.shape[0])],
        out_specs=[worlds(given.shape[0]), worlds(structure.n)],
        interpret=interpret,
        compiler_params=triton.CompilerParams(num_warps=_LANES // 32, num_stages=1),
        name="solve_tree",
    )(jnp.asarray(offset), jnp.asarray(cols), given)
    return x[:, :width]


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
        work[k, :] = given[k, :]

    def reduce(count: Array, none: None) -> None:
        """Takes a row, from the last to the first, out of those of its ancestors."""
        k = n - 1 - count
        first, last = offset[k], offset[k + 1] - 1
        inverse = 1 / jnp.maximum(work[last, :], LEAST_PIVOT)

        def ancestor(p: Array, none: None) -> None:
            i = cols[p]
            factor = work[p, :] * inverse
            start = offset[i]

            def entry(q: Array, none: None) -> None:
                work[start + q - first, :] = work[start + q - first, :] - factor * work[q, :]

            lax.fori_loop(first, p + 1, entry, None)
            work[right + i, :] = work[right + i, :] - factor * work[right + k, :]

        lax.fori_loop(first, last, ancestor, None)

    def substitute(k: Array, none: None) -> None:
        first, last = offset[k], offset[k + 1] - 1
        inverse = 1 / jnp.maximum(work[last, :], LEAST_PIVOT)

        def ancestor(p: Array, total: Array) -> Array:
            return total - work[p, :] * x[cols[p], :]

        x[k, :] = inverse * lax.fori_loop(first, last, ancestor, work[right + k, :])

    lax.fori_loop(0, right + n, copy, None)
    lax.fori_loop(0, n, reduce, None)
    lax.fori_loop(0, n, substitute, None)
