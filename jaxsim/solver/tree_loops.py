"""Solution of tree-structured systems in loops over rows, as one function of a CPU's machine code.

Written out block by block (`linalg`, `general`) an elimination is dozens of kernels, ten of which take as long to
compile as all of these loops: a quarter of the compile time of our humanoid's rollout, on one core of a noisy machine
32 and 23 s. It is up to a third faster, which a step does not show. The loops need the emitter of `few_kernels`, as
kernels of each round would have to be launched.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from jaxsim.math.constants import LEAST_PIVOT
from jaxsim.math.few_kernels import call_in_few_kernels
from jaxsim.math.gather import widen, width_of
from jaxsim.math.stage import divided, platform
from jaxsim.structure.sparsity import TreeStructure

__all__ = ["eliminate_in_loops", "has_loops", "off_zero", "solve_in_loops", "solver_in_loops"]


def off_zero(pivot: Array, least: Array | float = LEAST_PIVOT) -> Array:
    """Pivots of a matrix that need not be positive definite: small ones become `least`."""
    return jnp.where(jnp.abs(pivot) < least, least, pivot)


def has_loops(width: int) -> bool:
    """Whether systems of so many worlds are solved in loops: of several on a CPU whose program XLA does not divide."""
    return width > 1 and platform() == "cpu" and not divided()


def solve_in_loops(structure: TreeStructure, sides: Sequence[Array], b: Array) -> Array:
    """`eliminate_in_loops` as one function of machine code."""
    return call_in_few_kernels(functools.partial(eliminate_in_loops, structure), sides, b)


def solver_in_loops(structure: TreeStructure, A: Array) -> Callable[[Array], Array]:
    """The function `b -> A^-1 b` of a symmetric matrix, whose rows are eliminated once, each as one of machine code."""
    sides = call_in_few_kernels(functools.partial(_eliminated, structure), [A])
    return lambda b: call_in_few_kernels(functools.partial(_substituted, structure), sides, b)


def eliminate_in_loops(structure: TreeStructure, sides: Sequence[Array], b: Array) -> Array:
    """Solves A x = b, row by row from the leaves to the root and back (Featherstone, RBDA, section 6.5).

    Args:
      structure: which entries of A there are.
      sides: entries (i, j) between rows and their ancestors `(nnz, W)`, of a symmetric matrix, whose pivots are
        clamped to be positive as in the C engine; of another one these and entries (j, i), whose diagonal is not read.
      b: right-hand sides, `(n, W)` or `(n, k, W)`.
    """
    return _substituted(structure, _eliminated(structure, sides), b)


class _Rows(NamedTuple):
    """Where the entries of rows are.

    Attributes:
      start: of each row, (n,).
      above: ancestors of each, (n,).
      cols: the column of each entry, (nnz,).
    """

    start: Array
    above: Array
    cols: Array

    def inverse(self, sides: Sequence[Array], k: Array) -> Array:
        """One over the pivot of a row, (W,)."""
        pivot = _at(sides[0], self.start[k] + self.above[k])
        return 1 / (jnp.maximum(pivot, LEAST_PIVOT) if len(sides) == 1 else off_zero(pivot))


def _rows_of(structure: TreeStructure) -> _Rows:
    offset = np.asarray(structure.offset, np.int32)
    numbers = (offset[:-1], np.diff(offset) - 1, np.asarray(structure.cols, np.int32))
    return _Rows(*map(jnp.asarray, numbers))


def _at(x: Array, k: Array) -> Array:
    return lax.dynamic_index_in_dim(x, k, keepdims=False)


def _eliminated(structure: TreeStructure, sides: Sequence[Array]) -> list[Array]:
    """The sides once each row, from the last to the first, is taken out of those of its ancestors."""
    rows, width = _rows_of(structure), width_of(sides)

    def reduce(count: Array, sides: list[Array]) -> list[Array]:
        """Takes one row out."""
        k = structure.n - 1 - count
        start, inverse = rows.start[k], rows.inverse(sides, k)

        def ancestor(p: Array, sides: list[Array]) -> list[Array]:
            """Takes it out of one of them, as many entries as both have."""
            first = rows.start[rows.cols[start + p]]
            factors = [_at(side, start + p) * inverse for side in reversed(sides)]

            def entry(j: Array, sides: list[Array]) -> list[Array]:
                new = []
                for side, factor in zip(sides, factors, strict=True):
                    own, row = (lax.dynamic_slice_in_dim(side, at + j, 1) for at in (first, start))
                    new.append(lax.dynamic_update_slice_in_dim(side, own - factor * row, first + j, 0))
                return new

            return lax.fori_loop(0, p + 1, entry, sides)

        return lax.fori_loop(0, rows.above[k], ancestor, sides)

    return lax.fori_loop(0, structure.n, reduce, [widen(side, width) for side in sides])


def _substituted(structure: TreeStructure, sides: Sequence[Array], b: Array) -> Array:
    """The solution, of sides whose rows are eliminated: of right-hand sides the same, then from the root on."""
    rows, n = _rows_of(structure), structure.n
    lower, upper = sides[0], sides[-1]

    def reduce(count: Array, rest: Array) -> Array:
        """Takes one right-hand side out of those of its row's ancestors."""
        k = n - 1 - count
        right = _at(rest, k) * rows.inverse(sides, k)

        def ancestor(p: Array, rest: Array) -> Array:
            i = rows.cols[rows.start[k] + p]
            left = _at(rest, i) - _at(upper, rows.start[k] + p) * right
            return lax.dynamic_update_index_in_dim(rest, left, i, 0)

        return lax.fori_loop(0, rows.above[k], ancestor, rest)

    def substitute(k: Array, x: Array) -> Array:
        """Adds the unknown of a row to those of the rows before."""

        def ancestor(p: Array, left: Array) -> Array:
            return left - _at(lower, rows.start[k] + p) * _at(x, rows.cols[rows.start[k] + p])

        left = lax.fori_loop(0, rows.above[k], ancestor, _at(rest, k))
        return lax.dynamic_update_index_in_dim(x, left * rows.inverse(sides, k), k, 0)

    rest = lax.fori_loop(0, n, reduce, widen(b, width_of((*sides, b))))
    return lax.fori_loop(0, n, substitute, jnp.zeros_like(rest))
