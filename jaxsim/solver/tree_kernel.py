"""Solution of tree-structured systems in one kernel of a GPU: a thread eliminates one world.

The elimination of `linalg` is dozens of small kernels, each of which a GPU has to launch. Here it is written out row by
row in a Pallas kernel whose lanes are worlds; nothing but the entries, the right-hand side and the solution touches
memory outside the chip. The plain elimination is its reference, and takes over where the program would be too long.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import Array

from jaxsim.math.constants import LEAST_PIVOT
from jaxsim.math.gather import widen
from jaxsim.structure.sparsity import TreeStructure

__all__ = ["fits", "solve_in_kernel"]

_LANES = 32
"""Worlds of one program: a warp, so that 4,096 worlds keep all multiprocessors busy."""

_LONGEST = 12_000
"""Most multiplications written out: beyond, the kernel takes longer to compile than it saves."""


def fits(structure: TreeStructure) -> bool:
    """Whether the elimination is short enough to be written out."""
    return sum(len(path) ** 2 // 2 for path in structure.paths) <= _LONGEST


def solve_in_kernel(structure: TreeStructure, A: Array, b: Array, interpret: bool = False) -> Array:
    """Solves A x = b, (n, W), for entries A (nnz, W) and b (n, W); pivots are clamped as in the C engine."""
    from jax.experimental import pallas as pl  # a second to import, and only programs for GPUs need it
    from jax.experimental.pallas import triton

    width = b.shape[-1]
    whole = -(-width // _LANES) * _LANES
    A, b = (jnp.pad(widen(x, width), ((0, 0), (0, whole - width)), constant_values=1) for x in (A, b))

    def kernel(A_ref, b_ref, x_ref):
        entries = [A_ref[k, :] for k in range(structure.size)]
        right = [b_ref[k, :] for k in range(structure.n)]
        for k, x in enumerate(_eliminated(structure, entries, right)):
            x_ref[k, :] = x

    def block(rows: int) -> pl.BlockSpec:
        return pl.BlockSpec((rows, _LANES), lambda i: (0, i))

    x = pl.pallas_call(
        kernel,
        out_shape=jax.ShapeDtypeStruct(b.shape, b.dtype),
        grid=(whole // _LANES,),
        in_specs=[block(A.shape[0]), block(b.shape[0])],
        out_specs=block(b.shape[0]),
        interpret=interpret,
        compiler_params=triton.CompilerParams(num_warps=_LANES // 32, num_stages=1),
        name="solve_tree",
    )(A, b)
    return x[:, :width]


def _eliminated(structure: TreeStructure, entries: list[Array], right: list[Array]) -> list[Array]:
    """The unknowns: from the leaves to the root, then back (Featherstone, Rigid Body Dynamics Algorithms, 6.5)."""
    offset, paths = structure.offset, structure.paths
    inverse: list[Array] = [right[0]] * structure.n
    for k in range(structure.n - 1, -1, -1):
        row = [entries[offset[k] + p] for p in range(len(paths[k]))]
        inverse[k] = 1 / jnp.maximum(row[-1], LEAST_PIVOT)
        for p, i in enumerate(paths[k][:-1]):
            factor = row[p] * inverse[k]
            for q in range(p + 1):
                entries[offset[i] + q] = entries[offset[i] + q] - factor * row[q]
            right[i] = right[i] - factor * right[k]
            entries[offset[k] + p] = factor
    x: list[Array] = []
    for k in range(structure.n):
        total = right[k] * inverse[k]
        for p, i in enumerate(paths[k][:-1]):
            total = total - entries[offset[k] + p] * x[i]
        x.append(total)
    return x
