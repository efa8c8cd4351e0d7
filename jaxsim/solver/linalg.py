"""Factorisation and solution of many small symmetric positive definite systems, worlds on the last axis.

Both the dense and the tree-structured matrices are factorised as A = L^T L from the last row upwards. Row i of L has
entries only at the ancestors of i, and at i itself; a dense matrix is the tree in which every row descends from the one
before. There is no fill-in (Featherstone, Rigid Body Dynamics Algorithms, section 6.5).

Derivatives are those of the linear system: one more solve with the same factor, in forward and in reverse mode.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from jaxsim.pytree import Record, leaf, record

__all__ = [
    "SpdFactor",
    "TreeFactor",
    "TreeStructure",
    "dense_from_tree",
    "factor_spd",
    "factor_tree",
    "mul_tree",
    "solve_spd",
    "solve_tree",
    "tree_structure",
]


class TreeStructure:
    """Which entries of a symmetric matrix are stored: those between a degree of freedom and its ancestors.

    Attributes:
      parent: degree of freedom above each, -1: none.
      paths: for each, its ancestors from the root down, itself last.
      offset: where each one's row starts in the list of entries.
      descendants: for each, those strictly below it.
    """

    __slots__ = ("_hash", "cols", "descendants", "n", "offset", "parent", "paths", "rows")

    def __init__(self, parent: Sequence[int]):
        self.parent = tuple(int(p) for p in parent)
        self._hash = hash(self.parent)
        self.n = len(self.parent)
        paths: list[tuple[int, ...]] = []
        for i, p in enumerate(self.parent):
            if not -1 <= p < i:
                raise ValueError(f"parent of degree of freedom {i} is {p}; it must be -1 or a smaller index")
            paths.append(((*paths[p], i)) if p >= 0 else (i,))
        self.paths = tuple(paths)
        self.offset = tuple(int(x) for x in np.cumsum([0, *(len(p) for p in paths)]))
        below: list[list[int]] = [[] for _ in paths]
        for i, path in enumerate(paths):
            for j in path[:-1]:
                below[j].append(i)
        self.descendants = tuple(tuple(b) for b in below)
        self.rows = np.array([i for i, path in enumerate(paths) for _ in path], dtype=np.int32)
        self.cols = np.array([j for path in paths for j in path], dtype=np.int32)

    @property
    def size(self) -> int:
        """Number of stored entries, nM."""
        return self.offset[-1]

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, TreeStructure) and self.parent == other.parent)


@functools.lru_cache(maxsize=256)
def _structure(parent: tuple[int, ...]) -> TreeStructure:
    return TreeStructure(parent)


def tree_structure(dof_parentid: Any) -> TreeStructure:
    """Structure of the joint-space inertia of a model, from `model.dof_parentid`; cached."""
    return _structure(tuple(int(p) for p in dof_parentid))


def _chain(n: int) -> TreeStructure:
    return _structure(tuple(range(-1, n - 1)))


@record
class TreeFactor(Record):
    """Factor of a tree-structured matrix."""

    matrix: Array = leaf("nM", "the matrix; its derivatives enter here")
    rows: tuple[Array, ...] = leaf("", "rows of L without the diagonal, then 1 / diagonal, as (length, W)")


@record
class SpdFactor(Record):
    """Factor of a dense matrix."""

    matrix: Array = leaf("n n", "the matrix; its derivatives enter here")
    rows: tuple[Array, ...] = leaf("", "rows of L without the diagonal, then 1 / diagonal, as (length, W)")


def _factor(structure: TreeStructure, row: Callable[[int], Array]) -> tuple[Array, ...]:
    """Rows of L, the diagonal inverted; `row(i)` is the stored row i of the matrix, (len(path), W)."""
    out: list[Any] = [None] * structure.n
    for i in range(structure.n - 1, -1, -1):
        r = row(i)
        d = r.shape[0]
        for k in structure.descendants[i]:
            r = r - out[k][:d] * out[k][d - 1]
        r = lax.optimization_barrier(r)
        inverse = lax.rsqrt(r[-1:])
        out[i] = lax.optimization_barrier(jnp.concatenate([r[:-1] * inverse, inverse]) if d > 1 else inverse)
    return tuple(out)


def _solve(structure: TreeStructure, rows: tuple[Array, ...], b: Array) -> Array:
    """Solves L^T L x = b for b (n, ..., W), W the common width."""
    n = structure.n
    inverse = [r[-1] for r in rows]
    y: list[Any] = [None] * n
    for i in range(n - 1, -1, -1):
        d = len(structure.paths[i])
        acc = b[i]
        for k in structure.descendants[i]:
            acc = acc - rows[k][d - 1] * y[k]
        y[i] = lax.optimization_barrier(acc * inverse[i])
    x: list[Any] = [None] * n
    for i in range(n):
        acc = y[i]
        for a, j in enumerate(structure.paths[i][:-1]):
            acc = acc - rows[i][a] * x[j]
        x[i] = lax.optimization_barrier(acc * inverse[i])
    return jnp.stack(x)


def _widen(width: int, b: Array) -> Array:
    return jnp.broadcast_to(b, (*b.shape[:-1], width)) if b.shape[-1] != width else b


def _linear_solve(structure: TreeStructure, rows: tuple[Array, ...], multiply: Callable, b: Array) -> Array:
    width = max([b.shape[-1], *(r.shape[-1] for r in rows)]) if structure.n else b.shape[-1]
    if structure.n == 0:
        return b
    rows = jax.tree.map(lax.stop_gradient, rows)
    return lax.custom_linear_solve(
        multiply, _widen(width, b), lambda _, r: _solve(structure, rows, r), symmetric=True
    )


def factor_tree(structure: TreeStructure, M: Array) -> TreeFactor:
    """Factorises a matrix of entries between degrees of freedom and their ancestors, (nM, W)."""
    raw = lax.stop_gradient(M)
    o = structure.offset
    return TreeFactor(matrix=M, rows=_factor(structure, lambda i: raw[o[i] : o[i + 1]]))


def solve_tree(structure: TreeStructure, factor: TreeFactor, b: Array) -> Array:
    """Solves M x = b for b (n, W) or (n, k, W)."""
    return _linear_solve(
        structure, factor.rows, lambda x: mul_tree(structure, lax.optimization_barrier(factor.matrix), x), b
    )


def mul_tree(structure: TreeStructure, M: Array, x: Array) -> Array:
    """M @ x for M (nM, W) and x (n, W) or (n, k, W)."""
    o = structure.offset
    out = []
    for i in range(structure.n):
        path = structure.paths[i]
        terms = [M[o[i] + a] * x[j] for a, j in enumerate(path)]
        terms += [M[o[k] + len(path) - 1] * x[k] for k in structure.descendants[i]]
        out.append(functools.reduce(jnp.add, terms))
    if not out:
        return x
    return jnp.stack(out)


def dense_from_tree(structure: TreeStructure, M: Array) -> Array:
    """The full symmetric matrix (n, n, W)."""
    n = structure.n
    index = np.full((n, n), structure.size)
    index[structure.rows, structure.cols] = np.arange(structure.size)
    index[structure.cols, structure.rows] = np.arange(structure.size)
    padded = jnp.concatenate([M, jnp.zeros_like(M, shape=(1, M.shape[-1]))])
    return padded[index.reshape(-1)].reshape(n, n, M.shape[-1])


def factor_spd(A: Array) -> SpdFactor:
    """Factorises symmetric positive definite matrices (n, n, W); only the lower triangle is read."""
    raw = lax.stop_gradient(A)
    return SpdFactor(matrix=A, rows=_factor(_chain(A.shape[0]), lambda i: raw[i, : i + 1]))


def solve_spd(factor: SpdFactor, b: Array) -> Array:
    """Solves A x = b for b (n, W) or (n, k, W)."""
    return _linear_solve(
        _chain(factor.matrix.shape[0]), factor.rows, lambda x: _multiply(factor.matrix, x), b
    )


def _multiply(A: Array, x: Array) -> Array:
    n = A.shape[0]
    lower = np.tril(np.ones((n, n), bool))[:, :, None]
    full = lax.optimization_barrier(jnp.where(lower, A, jnp.swapaxes(A, 0, 1)))
    out = full[:, 0].reshape((n,) + (1,) * (x.ndim - 2) + (-1,)) * x[0]
    for j in range(1, n):
        out = out + full[:, j].reshape((n,) + (1,) * (x.ndim - 2) + (-1,)) * x[j]
    return out
