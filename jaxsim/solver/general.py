"""Solution of many small systems with the sparsity of a tree that are not symmetric, worlds on the last axis.

As `linalg.solve_tree`, but elimination keeps two sides: rows, and the columns above the diagonal. Neither fills in
(computation chapter, numerical integration: reverse-order LU).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from jaxsim.math.axis import concat, take
from jaxsim.math.constants import LEAST_PIVOT
from jaxsim.math.dense_inverse import clamped_solve
from jaxsim.math.gather import widen, width_of
from jaxsim.math.matrix import multiply
from jaxsim.math.stage import stage
from jaxsim.solver.linalg import blocks_of, each_shape, is_large, substitute
from jaxsim.solver.tree_loops import has_loops, off_zero, solve_in_loops
from jaxsim.structure.sparsity import TreeStructure, places_of

__all__ = ["mul_general", "solve_general"]


def _full(lower: Array, upper: Array, structure: TreeStructure) -> Array:
    """The matrix (n, n, W) of entries (nnz, W): of the lower triangle, and of the transposed upper one."""
    places = places_of(structure)
    there, strictly_above = places < structure.size, ~np.tri(structure.n, dtype=bool)
    places = np.where(there, np.where(strictly_above, structure.size, 0) + places, 2 * structure.size)
    width = max(lower.shape[-1], upper.shape[-1])
    entries = concat([lower, upper, jnp.zeros((1, width), lower.dtype)])
    return take(entries, places.reshape(-1)).reshape(*places.shape, width)


def mul_general(structure: TreeStructure, lower: Array, upper: Array, x: Array) -> Array:
    """A x.

    Args:
      structure: which entries of A there are.
      lower: entries (i, j) between degrees of freedom and their ancestors, the diagonal too, `(nnz, W)`.
      upper: entries (j, i), `(nnz, W)`; its diagonal is not read.
      x: `(n, W)`.
    """
    if structure.n == 0:
        return x
    return each_shape(
        lambda own, both, x: multiply(_full(both[0], both[1], own), x), structure, (lower, upper), x
    )


def solve_general(structure: TreeStructure, lower: Array, upper: Array, b: Array) -> Array:
    """Solves A x = b; arguments as those of `mul_general`.

    Derivatives are those of the linear system: one more solution in forward and in reverse mode.
    """
    if structure.n == 0:
        return b
    width = width_of((lower, upper, b))
    below, above = lax.stop_gradient((lower, upper))
    diagonal = jnp.asarray((structure.rows == structure.cols)[:, None])
    flipped = jnp.where(diagonal, below, above), below
    return lax.custom_linear_solve(
        lambda x: mul_general(structure, lower, upper, x),
        jnp.broadcast_to(b, (structure.n, width)),
        lambda _, r: each_shape(_solve_one, structure, (below, above), r),
        transpose_solve=lambda _, r: each_shape(_solve_one, structure, flipped, r),
    )


def _solve_one(structure: TreeStructure, both: Sequence[Array], b: Array) -> Array:
    lower, upper = both
    if has_loops(b.shape[-1]):
        return solve_in_loops(structure, both, b)
    solve = _factorise if b.shape[-1] == 1 or is_large(structure) else _eliminate
    return solve(structure, lower, upper, b)


def _factorise(structure: TreeStructure, lower: Array, upper: Array, b: Array) -> Array:
    """Solves by the library's LU factorisation, and worlds where it fails by elimination with clamps."""
    matrix = jnp.moveaxis(_full(lower, upper, structure), -1, 0)
    matrix = jnp.broadcast_to(matrix, (b.shape[-1], *matrix.shape[1:]))
    right = b.T[..., None]
    x = jnp.linalg.solve(matrix, right)
    good = jnp.all(jnp.isfinite(x), axis=1, keepdims=True)
    x = lax.cond(jnp.all(good), lambda: x, lambda: jnp.where(good, x, clamped_solve(matrix, right)))
    return x[..., 0].T


def _eliminate(structure: TreeStructure, lower: Array, upper: Array, b: Array) -> Array:
    """Solves for x (nv, W): blocks of dofs are eliminated from the leaves to the roots, then substituted back."""
    blocks = blocks_of(structure)
    sides: list[Any] = [None] * len(blocks)
    solved: list[Any] = [None] * len(blocks)
    for s in range(len(blocks) - 1, -1, -1):
        below = blocks[s].below
        known = [sides[k] for k in below], [solved[k] for k in below]
        sides[s] = _reduce(lower, upper, b, *known, structure=structure, block=s)
        solved[s] = _solve_block(sides[s][0])
    x: list[Any] = []
    for s, block in enumerate(blocks):
        x.append(substitute(solved[s], [x[k] for k in block.above], count=1))
    return jnp.concatenate(x)[:, 0]


@stage
def _reduce(
    lower: Array,
    upper: Array,
    b: Array,
    sides: list[tuple[Array, Array]],
    solved: list[Array],
    *,
    structure: TreeStructure,
    block: int,
) -> tuple[Array, Array]:
    """Rows and columns of a block once the blocks below it are eliminated.

    Args:
      lower: entries of A.
      upper: entries of its transpose.
      b: right-hand side.
      sides: for each block below, its rows and columns.
      solved: for each block below, its rows times the inverse of its diagonal block.
      structure: of the system.
      block: which.

    Returns:
      (rows, columns): rows (size, 1 + path, W), the right-hand side first; of columns what is above the block,
      (size, path - size, W).
    """
    this = blocks_of(structure)[block]
    width = width_of((lower, upper, b))
    size, end = this.size, 1 + len(this.path)
    start, stop = this.dofs
    own = np.arange(start, stop)[:, None] < np.array(this.path)[None]  # entries of a block above its diagonal
    places = np.where(own, structure.size, 0) + this.entries
    both = concat([lower, upper])
    given = take(both, places.reshape(-1)).reshape(*places.shape, both.shape[-1])
    rows = jnp.concatenate([widen(b[start:stop], width)[:, None], widen(given, width)], axis=1)
    above = this.entries[:, : len(this.path) - size]
    columns = widen(take(upper, above.reshape(-1)).reshape(*above.shape, upper.shape[-1]), width)
    for (_, column), done in zip(sides, solved, strict=True):
        for k in range(column.shape[0]):
            rows = rows - column[k, end - size - 1 : end - 1][:, None] * done[k, None, :end]
            columns = columns - done[k, end - size : end][:, None] * column[k, None, : end - size - 1]
    return rows, columns


@stage
def _solve_block(rows: Array) -> Array:
    """The rows of a block times the inverse of its diagonal block, which is at the end of the rows."""
    if rows.shape[0] == 1:
        return rows / off_zero(rows[0, -1])
    a, b, c, d = rows[0, -2], rows[0, -1], rows[1, -2], off_zero(rows[1, -1])
    determinant = off_zero(a * d - b * c, LEAST_PIVOT * jnp.abs(d))
    return jnp.stack([d * rows[0] - b * rows[1], a * rows[1] - c * rows[0]]) / determinant
