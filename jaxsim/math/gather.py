"""Rows of a table, known at compile time or chosen for each world. Native layout.

An index is a numpy array (k,) where it is known, a JAX array (..., W) where it is chosen by world.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from jaxsim.math.axis import concat, take
from jaxsim.math.stage import platform

__all__ = [
    "Index",
    "add_by_world",
    "by_world",
    "entries",
    "first_marked",
    "gathered",
    "joined",
    "rows_by_world",
    "rows_of",
    "widen",
    "width_of",
]

Index = np.ndarray | Array

_IN_BOUNDS = lax.GatherScatterMode.PROMISE_IN_BOUNDS
_TRUSTED: dict[str, Any] = {"mode": "promise_in_bounds", "wrap_negative_indices": False}


def rows_by_world(table: Array, rows: Array) -> Array:
    """Rows `table[rows[..., w], ..., w]` of a table (n, ..., 1 or W) for `rows` (..., 1 or W) in [0, n).

    One gather that trusts its indices: a third of the time of `take_along_axis`, which checks them.

    Returns:
      (*rows.shape[:-1], *table.shape[1:-1], W).
    """
    lead, inner = rows.ndim - 1, table.shape[1:-1]
    if table.shape[-1] == 1:
        return jnp.moveaxis(table[..., 0].at[rows].get(**_TRUSTED), lead, -1)
    if rows.shape[-1] == 1:
        return table.at[rows[..., 0]].get(**_TRUSTED)
    flat = table.reshape(table.shape[0], -1, table.shape[-1])
    dims = lax.GatherDimensionNumbers(
        offset_dims=(lead,),
        collapsed_slice_dims=(0,),
        start_index_map=(0,),
        operand_batching_dims=(2,),
        start_indices_batching_dims=(lead,),
    )
    picked = lax.gather(flat, rows[..., None], dims, (1, flat.shape[1], 1), mode=_IN_BOUNDS)
    return picked.reshape(*rows.shape[:-1], *inner, rows.shape[-1])


def add_by_world(into: Array, x: Array, rows: Array) -> Array:
    """Adds x (..., 1 or W) to an array (n, W): number [..., w] to `[rows[..., w], w]`, for `rows` (..., 1 or W).

    The transpose of `rows_by_world`.
    """
    if rows.shape[-1] == 1:
        return into.at[rows[..., 0]].add(x, **_TRUSTED)
    n, width = into.shape
    # flat places are an index as it is: of rows and worlds XLA would first make a table of pairs
    places = (rows * width + jnp.arange(width, dtype=rows.dtype)).reshape(-1)
    return into.reshape(-1).at[places].add(widen(x, width).reshape(-1), **_TRUSTED).reshape(n, width)


def first_marked(marked: Array, size: int, fill: Array | int) -> Array:
    """Places of the first marks that are set, (size,), in their order, then `fill`; of marks (n,).

    As `jnp.nonzero`, with one running sum where that takes two and counts.
    """
    rank = jnp.cumsum(marked, dtype=jnp.int32) - 1
    places = jnp.full(size, fill, jnp.int32)
    number = jnp.arange(len(marked), dtype=jnp.int32)
    return places.at[jnp.where(marked, rank, size)].set(number, mode="drop")


def gathered(tree: Any, rows: Array) -> Any:
    """Rows by world of a tree of arrays (..., n, 1 or W), for `rows` (k, W): arrays (..., k, W).

    On a CPU those of one type are gathered together; elsewhere each by a kernel of its own, so that none is cut out.
    """
    leaves, structure = jax.tree.flatten(tree)
    found: dict[int, Array] = {}
    together = [[i] for i in range(len(leaves))]
    if platform() == "cpu":
        together = [[i for i, x in enumerate(leaves) if x.dtype == t] for t in {x.dtype for x in leaves}]
    for own in together:
        flat = [jnp.moveaxis(leaves[i].reshape(-1, *leaves[i].shape[-2:]), 0, 1) for i in own]
        picked, start = rows_by_world(concat(flat, axis=1), rows), 0
        for i, x in zip(own, flat, strict=True):
            part = jnp.moveaxis(picked[:, start : start + x.shape[1]], 1, 0)
            found[i] = part.reshape(*leaves[i].shape[:-2], *rows.shape)
            start += x.shape[1]
    return jax.tree.unflatten(structure, [found[i] for i in range(len(leaves))])


def entries(table: np.ndarray, rows: Index) -> Index:
    """Entries `table[rows]` of a constant (n,), of the kind that `rows` is."""
    if isinstance(rows, np.ndarray):
        return table[rows]
    return jnp.asarray(table).at[rows].get(**_TRUSTED)


def rows_of(table: Array, rows: Index) -> Array:
    """Rows of a table (n, ..., 1 or W): (k, ..., 1 or W)."""
    return take(table, rows) if isinstance(rows, np.ndarray) else rows_by_world(table, rows)


def joined(parts: Sequence[Index]) -> Index:
    """Several indices, one after the other."""
    if all(isinstance(p, np.ndarray) for p in parts):
        return np.concatenate(parts)
    return concat([by_world(p) for p in parts])


def by_world(index: Index) -> Array:
    """As an array (..., 1 or W)."""
    return jnp.asarray(index[:, None]) if isinstance(index, np.ndarray) else index


def width_of(tree: Any) -> int:
    """Number of worlds of a native pytree: the widest last axis."""
    return max((x.shape[-1] for x in jax.tree.leaves(tree)), default=1)


def widen(x: Array, width: int) -> Array:
    """X (..., 1 or W) with W worlds."""
    return x if x.shape[-1] == width else jnp.broadcast_to(x, (*x.shape[:-1], width))
