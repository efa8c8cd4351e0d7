"""Solution of many small symmetric positive definite systems with the sparsity of a tree, worlds on the last axis.

The system is reduced from the leaves to the root and solved back from the root to the leaves. Eliminating a row
touches only its ancestors, so there is no fill-in (Featherstone, Rigid Body Dynamics Algorithms, section 6.5). A dense
matrix is the tree in which every row descends from the one before. Rows go in blocks of two where a branch allows: one
block costs three kernels, and a program is short to compile. The right-hand side takes part as one more column.
Accelerators run it as one kernel (`tree_kernel`), CPUs as loops (`tree_loops`), but where XLA divides a program.

Measured on two CPU cores (float32, 1024 worlds, the humanoid's 27 dofs): 0.4 us a world and 45 kernels. Row by row,
every contraction unrolled and fused: 2300 operations in the largest kernel and ten times the compile time. Blocks of
three and more need a Cholesky factor of their own, which XLA splits into many small kernels.

Written out, the program grows with the square of n where the system is full. There the library's Cholesky
factorisation, worlds first, takes over. Loops need neither: CPU time of one world (float32, one busy core, 128 worlds)
at n = 50, loops 2.1 us, library 3.1; n = 80, 8.5 and 8.1; n = 150, 86 and 172.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from jaxsim.math.axis import concat, contract, take
from jaxsim.math.constants import LEAST_PIVOT
from jaxsim.math.dense_inverse import clamped_solve
from jaxsim.math.gather import widen, width_of
from jaxsim.math.lanes import has_kernels
from jaxsim.math.linear import bilinear, operation
from jaxsim.math.matrix import multiply
from jaxsim.math.stage import stage
from jaxsim.math.vector import dot
from jaxsim.solver.tree_kernel import solve_in_kernel
from jaxsim.solver.tree_loops import eliminate_in_loops, has_loops, solve_in_loops, solver_in_loops
from jaxsim.structure.sparsity import TreeStructure, alike_trees, chains_of, places_of

__all__ = [
    "Block",
    "blocks_of",
    "dot_tree",
    "each_shape",
    "full",
    "is_large",
    "mul_tree",
    "product_of",
    "solve_many",
    "solve_tree",
    "solver_of",
    "substitute",
]

_BLOCK = 2
"""Most rows eliminated together; the elimination inverts such a block in closed form."""

LARGE = 48
"""Most rows of a full system that is written out: beyond, compile time exceeds what the faster solution saves."""


@stage
def full(A: Array, *, structure: TreeStructure, lower: bool = False) -> Array:
    """The matrix (n, n, W) of stored entries (nnz, W): symmetric, or zero above the diagonal."""
    entries = concat([A, jnp.zeros((1, A.shape[-1]), A.dtype)])
    places = places_of(structure)
    if lower:
        places = np.where(np.tri(structure.n, dtype=bool), places, structure.size)
    return take(entries, places.reshape(-1)).reshape(*places.shape, A.shape[-1])


def each_shape(
    function: Callable[[TreeStructure, Sequence[Array], Array], Array],
    structure: TreeStructure,
    entries: Sequence[Array],
    b: Array,
) -> Array:
    """`function(structure, entries, b)` of a system that falls apart into trees; those of one shape are worlds of it.

    A pile of a hundred free bodies is so solved as one free body in a hundred times the worlds, by as short a program.

    Args:
      function: maps right-hand sides to results of the same shape, for each world on its own.
      structure: of the system.
      entries: arrays of stored entries, `(nnz, W)`.
      b: right-hand sides, `(n, W)` or `(n, k, W)`.
    """
    shapes = alike_trees(structure)
    if not shapes:
        return function(structure, entries, b)
    width = width_of((entries, b))
    entries, b = [widen(A, width) for A in entries], widen(b, width)
    parts = []
    for alike in shapes:
        own = [_as_worlds(A, alike.entries) for A in entries]
        found = function(alike.structure, own, _as_worlds(b, alike.dofs))
        found = jnp.moveaxis(found.reshape(*found.shape[:-1], -1, width), -2, 1)
        parts.append(found.reshape(-1, *b.shape[1:]))
    order = np.concatenate([alike.dofs.reshape(-1) for alike in shapes])
    return take(jnp.concatenate(parts), np.argsort(order))


def _as_worlds(x: Array, rows: np.ndarray) -> Array:
    """Rows (n, number of trees) of x (m, ..., W): (n, ..., number of trees times W)."""
    picked = take(x, rows.reshape(-1)).reshape(*rows.shape, *x.shape[1:])
    picked = jnp.moveaxis(picked, 1, -2)
    return picked.reshape(*picked.shape[:-2], -1)


def product_of(structure: TreeStructure, M: Array) -> Callable[[Array], Array]:
    """The function `x -> M x` for stored entries M (nnz, W); for many products, as the matrix is put together once."""
    shapes = alike_trees(structure)
    if not shapes:
        return functools.partial(multiply, full(M, structure=structure))
    width = M.shape[-1]
    blocks = {a.structure: full(_as_worlds(M, a.entries), structure=a.structure) for a in shapes}

    def product(x: Array) -> Array:
        if width < x.shape[-1]:  # one matrix for all worlds
            return mul_tree(structure, M, x)
        return each_shape(lambda own, _, x: multiply(blocks[own], x), structure, (), widen(x, width))

    return product


def mul_tree(structure: TreeStructure, M: Array, x: Array) -> Array:
    """M x for the stored entries M (nnz, W) and x (n, W)."""
    return _product(M, x, structure=structure) if structure.n else x


def _by_entry(ct: Array, x: Array, structure: TreeStructure) -> Array:
    """The derivative (nnz, W) of `ct . M x` by the entries of M."""
    off_diagonal = (structure.rows != structure.cols)[:, None]
    one = take(ct, structure.rows) * take(x, structure.cols)
    return one + jnp.where(off_diagonal, take(ct, structure.cols) * take(x, structure.rows), 0)


_product = bilinear(
    "mul_tree",
    lambda M, x, structure: each_shape(
        lambda own, entries, x: contract(full(entries[0], structure=own), x[:, None]), structure, [M], x
    ),
    _by_entry,
    lambda ct, M, structure: mul_tree(structure, M, ct),
)


def dot_tree(structure: TreeStructure, a: Array, b: Array) -> Array:
    """Stored entries (nnz, W) of the matrix of inner products `b_i . a_j`, for a and b (n, k, W)."""
    return _dots(a, b, structure=structure)


def _lower(ct: Array, structure: TreeStructure) -> Array:
    """The entries as a lower triangle (n, n, 1, W)."""
    return full(ct, structure=structure, lower=True)[:, :, None]


_dots = bilinear(
    "dot_tree",
    lambda a, b, structure: dot(take(a, structure.cols), take(b, structure.rows)),
    lambda ct, b, structure: each_shape(
        lambda own, cts, b: contract(_lower(cts[0], own), b[:, None]), structure, [ct], b
    ),
    lambda ct, a, structure: each_shape(
        lambda own, cts, a: contract(jnp.moveaxis(_lower(cts[0], own), 1, 0), a[:, None]), structure, [ct], a
    ),
)


class Block(NamedTuple):
    """Consecutive degrees of freedom of one branch.

    Attributes:
      dofs: first and end.
      path: their ancestors and themselves, from the root down.
      entries: (size, len(path)) stored entries, those above the diagonal by symmetry.
      above: the blocks that its ancestors make up, from the root down.
      below: the blocks below it.
    """

    dofs: tuple[int, int]
    path: tuple[int, ...]
    entries: np.ndarray
    above: tuple[int, ...]
    below: tuple[int, ...]

    @property
    def size(self) -> int:
        """Degrees of freedom in it."""
        return self.dofs[1] - self.dofs[0]


@functools.lru_cache(maxsize=256)
def blocks_of(structure: TreeStructure) -> tuple[Block, ...]:
    """Blocks from the root to the leaves."""
    spans = []
    for start, end in chains_of(structure):
        pieces = -(-(end - start) // _BLOCK)
        parts = np.array_split(np.arange(start, end), pieces)
        spans += [(int(part[0]), int(part[-1]) + 1) for part in parts]
    place = {(int(i), int(j)): k for k, (i, j) in enumerate(zip(structure.rows, structure.cols, strict=True))}
    paths = [structure.paths[end - 1] for _, end in spans]
    blocks = []
    for s, ((start, end), path) in enumerate(zip(spans, paths, strict=True)):
        entries = np.array([[place[max(i, j), min(i, j)] for j in path] for i in range(start, end)])
        above = tuple(k for k, span in enumerate(spans) if k < s and span[0] in path)
        below = tuple(k for k, other in enumerate(paths) if k > s and start in other)
        blocks.append(Block((start, end), path, entries, above, below))
    return tuple(blocks)


def solve_tree(structure: TreeStructure, A: Array, b: Array) -> Array:
    """Solves A x = b.

    Derivatives are those of the linear system: one more solution in forward and in reverse mode.

    Args:
      structure: which entries of A are stored.
      A: entries between degrees of freedom and their ancestors, (nnz, W).
      b: right-hand side, (n, W).
    """
    if structure.n == 0:
        return b
    width = max(A.shape[-1], b.shape[-1])
    fixed = lax.stop_gradient(A)
    return lax.custom_linear_solve(
        lambda x: mul_tree(structure, A, x),
        jnp.broadcast_to(b, (structure.n, width)),
        lambda _, r: each_shape(_solve_one, structure, [fixed], r),
        symmetric=True,
    )


def solver_of(structure: TreeStructure, A: Array) -> Callable[[Array], Array]:
    """The function `b -> A^-1 b` for b (n, W), for many b in turn: on a CPU rows are eliminated once. No derivative."""
    width, shapes = A.shape[-1], alike_trees(structure)
    if not structure.n or not has_loops(width):
        return functools.partial(solve_tree, structure, A)
    parts = {a.structure: _as_worlds(A, a.entries) for a in shapes} if shapes else {structure: A}
    solvers = {own: solver_in_loops(own, entries) for own, entries in parts.items()}

    def solve(b: Array) -> Array:
        return each_shape(lambda own, _, b: solvers[own](b), structure, (), widen(b, width))

    return solve


def _solve_one(structure: TreeStructure, entries: Sequence[Array], b: Array) -> Array:
    """Solves a system by what is best for its structure, for so many worlds, on the platform that is lowered for."""
    (A,) = entries
    if has_loops(b.shape[-1]):
        return solve_in_loops(structure, entries, b)
    if b.shape[-1] == 1 or is_large(structure):
        return _factorise(structure, A, b)
    return (solve_in_kernel if has_kernels(b.dtype) else _eliminate)(structure, A, b)


def solve_many(structure: TreeStructure, A: Array, B: Array) -> Array:
    """Solves A X = B for many right-hand sides `B (n, k, W)` by one elimination; not to be differentiated."""
    if not structure.n or not B.shape[1]:
        return B
    return each_shape(_solve_many_of_one, structure, [A], widen(B, width_of((A, B))))


def _solve_many_of_one(structure: TreeStructure, entries: Sequence[Array], B: Array) -> Array:
    (A,) = entries
    if has_loops(B.shape[-1]):
        return solve_in_loops(structure, entries, B)
    factorise = B.shape[-1] == 1 or is_large(structure)
    return (_factorise_many if factorise else _eliminate_many)(structure, A, B)


def is_large(structure: TreeStructure) -> bool:
    """Whether the library's factorisation of the full matrix is the better choice: large, and at least half full."""
    return structure.n > LARGE and 4 * structure.size > structure.n**2


def _factorise(structure: TreeStructure, A: Array, b: Array) -> Array:
    """Solves by a Cholesky factorisation of the full matrix, and worlds where it fails by elimination with clamps."""
    return _factorise_many(structure, A, b[:, None])[:, 0]


def _factorise_many(structure: TreeStructure, A: Array, B: Array) -> Array:
    """As `_factorise`, for right-hand sides `(n, k, W)`."""
    return _factorised(A, B, structure=structure)


def _by_library(A: Array, B: Array, *, structure: TreeStructure) -> Array:
    """The solution for right-hand sides `(n, k, W)`."""
    matrix = jnp.moveaxis(full(widen(A, B.shape[-1]), structure=structure), -1, 0)
    right = jnp.moveaxis(B, -1, 0)
    L = lax.linalg.cholesky(matrix, symmetrize_input=False)
    y = lax.linalg.triangular_solve(L, right, left_side=True, lower=True)
    x = lax.linalg.triangular_solve(L, y, left_side=True, lower=True, transpose_a=True)
    good = jnp.all(jnp.isfinite(x), axis=1, keepdims=True)
    x = lax.cond(jnp.all(good), lambda: x, lambda: jnp.where(good, x, clamped_solve(matrix, right)))
    return jnp.moveaxis(x, 0, -1)


def _in_loops(A: Array, B: Array, *, structure: TreeStructure) -> Array:
    return eliminate_in_loops(structure, [A], B)


_factorised = operation(_by_library, _in_loops)


def _eliminate(structure: TreeStructure, A: Array, b: Array) -> Array:
    """Solves by eliminating blocks from the leaves to the root, (n, W), for entries (nnz, W) and b (n, W)."""
    return _eliminate_many(structure, A, b[:, None])[:, 0]


def _eliminate_many(structure: TreeStructure, A: Array, b: Array) -> Array:
    """As `_eliminate`, for right-hand sides `(n, k, W)`."""
    blocks, count = blocks_of(structure), b.shape[1]
    rows: list[Any] = [None] * len(blocks)
    solved: list[Any] = [None] * len(blocks)
    for s in range(len(blocks) - 1, -1, -1):
        below = blocks[s].below
        rows[s] = _reduce(
            A, b, [rows[k] for k in below], [solved[k] for k in below], structure=structure, block=s
        )
        solved[s] = _solve_block(rows[s])
    x: list[Any] = []
    for s, block in enumerate(blocks):
        x.append(substitute(solved[s], [x[k] for k in block.above], count=count))
    return jnp.concatenate(x)


@stage
def _reduce(
    A: Array, b: Array, rows: list[Array], solved: list[Array], *, structure: TreeStructure, block: int
) -> Array:
    """Rows of a block once the blocks below it are eliminated, (size, k + path, W), right-hand sides first.

    Args:
      A: stored entries.
      b: right-hand sides, (n, k, W).
      rows: for each block below, its rows.
      solved: for each block below, its rows times the inverse of its diagonal block.
      structure: of the system.
      block: which.
    """
    this = blocks_of(structure)[block]
    width = max(A.shape[-1], b.shape[-1])
    given = take(A, this.entries.reshape(-1)).reshape(*this.entries.shape, A.shape[-1])
    rest = jnp.concatenate([widen(b[slice(*this.dofs)], width), widen(given, width)], axis=1)
    end = b.shape[1] + len(this.path)
    for row, done in zip(rows, solved, strict=True):
        for k in range(row.shape[0]):
            rest = rest - row[k, end - this.size : end][:, None] * done[k, None, :end]
    return rest


@stage
def _solve_block(rows: Array) -> Array:
    """The rows of a block times the inverse of its diagonal block, which is at the end of the rows.

    Pivots are clamped as in the C engine, so that a singular system has a huge but finite solution.
    """
    if rows.shape[0] == 1:
        return rows / jnp.maximum(rows[0, -1], LEAST_PIVOT)
    first, between, second = rows[0, -2], rows[0, -1], jnp.maximum(rows[1, -1], LEAST_PIVOT)
    determinant = jnp.maximum(first * second - between * between, LEAST_PIVOT * second)
    opposite = jnp.stack([second, first])[:, None]
    return (opposite * rows - between * rows[::-1]) / determinant


@stage
def substitute(solved: Array, above: list[Array], *, count: int) -> Array:
    """The unknowns of a block, (size, count, W), from those of the blocks above it, for so many right-hand sides."""
    rest, column = solved[:, :count], count
    for x in above:
        for value in x:
            rest = rest - solved[:, column, None] * value
            column += 1
    return rest
