"""Solution of tree-structured systems in loops over rows, as one function of a CPU's machine code.

Written out block by block (`linalg`, `general`) an elimination is dozens of kernels, ten of which take as long to
compile as all of these loops: a quarter of the compile time of our humanoid's rollout, on one core of a noisy machine
32 and 23 s. It is up to a third faster, which a step does not show. The loops need the emitter of `few_kernels`, as
kernels of each round would have to be launched.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence

import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from jaxsim.math.constants import LEAST_PIVOT
from jaxsim.math.few_kernels import call_in_few_kernels
from jaxsim.math.gather import widen, width_of
from jaxsim.math.stage import divided, platform
from jaxsim.structure.sparsity import TreeStructure

__all__ = ["eliminate_in_loops", "has_loops", "solve_in_loops"]


def has_loops() -> bool:
    """Whether what is traced now may have functions of machine code with loops inside."""
    return platform() == "cpu" and not divided()


def solve_in_loops(structure: TreeStructure, sides: Sequence[Array], b: Array) -> Array:
    """`eliminate_in_loops` as one function of machine code."""
    return call_in_few_kernels(functools.partial(eliminate_in_loops, structure), sides, b)


def eliminate_in_loops(structure: TreeStructure, sides: Sequence[Array], b: Array) -> Array:
    """Solves A x = b, row by row from the leaves to the root and back (Featherstone, RBDA, section 6.5).

    Args:
      structure: which entries of A there are.
      sides: entries (i, j) between rows and their ancestors `(nnz, W)`, of a symmetric matrix; of another one these
        and entries (j, i), whose diagonal is not read. Pivots are clamped as in the C engine.
      b: right-hand sides, `(n, W)` or `(n, k, W)`.
    """
    n, width = structure.n, width_of((*sides, b))
    offset = jnp.asarray(structure.offset, jnp.int32)
    above = jnp.asarray(np.diff(structure.offset) - 1, jnp.int32)
    cols = jnp.asarray(structure.cols, jnp.int32)

    def at(rows: Array, k: Array) -> Array:
        return lax.dynamic_index_in_dim(rows, k, keepdims=False)

    def inverse(side: Array, k: Array) -> Array:
        return 1 / jnp.maximum(at(side, offset[k] + above[k]), LEAST_PIVOT)

    def reduce(count: Array, carry: tuple[list[Array], Array]) -> tuple[list[Array], Array]:
        """Takes a row, from the last to the first, out of those of its ancestors."""
        k = n - 1 - count
        start, pivot, right = offset[k], inverse(carry[0][0], k), at(carry[1], k)

        def ancestor(p: Array, carry: tuple[list[Array], Array]) -> tuple[list[Array], Array]:
            """Takes it out of one of them, as many entries as both have."""
            sides, rest = carry
            i = cols[start + p]
            first, factors = offset[i], [at(side, start + p) * pivot for side in reversed(sides)]

            def entry(j: Array, sides: list[Array]) -> list[Array]:
                new = []
                for side, factor in zip(sides, factors, strict=True):
                    own, row = (lax.dynamic_slice_in_dim(side, at + j, 1) for at in (first, start))
                    new.append(lax.dynamic_update_slice_in_dim(side, own - factor * row, first + j, 0))
                return new

            left = at(rest, i) - factors[0] * right
            sides = lax.fori_loop(0, p + 1, entry, sides)
            return sides, lax.dynamic_update_index_in_dim(rest, left, i, 0)

        return lax.fori_loop(0, above[k], ancestor, carry)

    def substitute(k: Array, x: Array) -> Array:
        """Adds the unknown of a row to those of the rows before."""

        def ancestor(p: Array, rest: Array) -> Array:
            return rest - at(rows, offset[k] + p) * at(x, cols[offset[k] + p])

        left = lax.fori_loop(0, above[k], ancestor, at(rest, k))
        return lax.dynamic_update_index_in_dim(x, left * inverse(rows, k), k, 0)

    wide = [widen(side, width) for side in sides]
    (rows, *_), rest = lax.fori_loop(0, n, reduce, (wide, widen(b, width)))
    return lax.fori_loop(0, n, substitute, jnp.zeros_like(rest))
