"""Of many numbers or points, the first that is the largest or the farthest."""

from __future__ import annotations

from collections.abc import Sequence

import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from jaxsim.collision.vec import Vec
from jaxsim.math.stage import platform, stage

__all__ = ["along", "entries_at", "entry_at", "first_largest"]

_GROUP, _FEW = 8, 32
"""How many numbers one kernel compares: neighbours where there are many, and all of the last few."""


def along(direction: Vec, vectors: Array) -> Array:
    """Inner products (n, k, W) of directions, components (n, W), and vectors (n, k, 3, W)."""
    return Vec.split(vectors).dot(direction.lifted())


def entries_at(table: Array, index: Array, axis: int = 1) -> Array:
    """Entries (n, m, W) of a table (n, k, 1 or W), at `index` (n, m, W); beyond its ends the first or the last.

    On the first of the axes instead: (m, n, W) of (k, n, 1 or W).
    """
    own = (1 - axis, 2) if table.shape[-1] == index.shape[-1] else (1 - axis,)
    dims = lax.GatherDimensionNumbers(
        offset_dims=(),
        collapsed_slice_dims=tuple(k for k in range(3) if k not in own),
        start_index_map=(axis,),
        operand_batching_dims=own,
        start_indices_batching_dims=own,
    )
    return lax.gather(table, index[..., None], dims, (1, 1, 1), mode=lax.GatherScatterMode.CLIP)


def entry_at(table: Array, index: Array) -> Array:
    """Entries (n, W) of a table (n, k, 1 or W), at `index` (n, W)."""
    return entries_at(table, index[:, None])[:, 0]


def first_largest(values: Array) -> Array:
    """Where the first of the largest values (n, k, W) along the middle axis is, (n, W).

    For accelerators it is one reduction, which XLA fuses with what it compares; for CPUs, whose reductions it neither
    fuses nor vectorises, a knock-out.
    """
    if platform() != "cpu":
        return jnp.argmax(values, axis=1).astype(jnp.int32)
    index: Array | None = None
    while values.shape[1] > _FEW:
        values, index = _knock_out(values, index)
    return _first_of_few(values, index)


@stage
def _knock_out(values: Array, index: Array | None) -> tuple[Array, Array]:
    """The largest of each few neighbours, and the index it had."""
    k = values.shape[1]
    groups = -(-k // _GROUP)
    pad = ((0, 0), (0, groups * _GROUP - k), (0, 0))
    if index is None:
        index = jnp.broadcast_to(np.arange(k, dtype=np.int32)[:, None], values.shape)
    values = jnp.pad(values, pad, constant_values=-jnp.inf).reshape(len(values), groups, _GROUP, -1)
    index = jnp.pad(index, pad).reshape(values.shape)
    return _better([(values[:, :, i], index[:, :, i]) for i in range(_GROUP)])


@stage
def _first_of_few(values: Array, index: Array | None) -> Array:
    """The index of the largest, (n, W), and not its value, which would be a second kernel of the same comparisons."""
    found = [values[:, i] for i in range(values.shape[1])]
    numbers = [jnp.full_like(x, i, jnp.int32) if index is None else index[:, i] for i, x in enumerate(found)]
    return _better(list(zip(found, numbers, strict=True)))[1]


def _better(entries: Sequence[tuple[Array, Array]]) -> tuple[Array, Array]:
    """The first of the largest values, and its index."""
    best, at = entries[0]
    for value, index in entries[1:]:
        best, at = jnp.where(value > best, value, best), jnp.where(value > best, index, at)
    return best, at
