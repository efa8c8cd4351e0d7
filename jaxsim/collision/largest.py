"""Of many numbers or points, the first that is the largest or the farthest."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxsim.collision.vec import Vec
from jaxsim.math.stage import platform, stage

__all__ = ["along", "entries_at", "entry_at", "first_largest"]

_TOGETHER = 8
"""Numbers compared in one kernel."""


def along(direction: Vec, vectors: Array) -> Array:
    """Inner products (n, k, W) of directions, components (n, W), and vectors (n, k, 3, W)."""
    return Vec.split(vectors).dot(direction.lifted())


def entries_at(table: Array, index: Array) -> Array:
    """Entries (n, m, W) of a table (n, k, 1 or W), at `index` (n, m, W)."""
    return jnp.take_along_axis(table, index, axis=1, mode="clip")


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
    while values.shape[1] > 1:
        values, index = _knock_out(values, index)
    return jnp.zeros(values[:, 0].shape, jnp.int32) if index is None else index[:, 0]


@stage
def _knock_out(values: Array, index: Array | None) -> tuple[Array, Array]:
    """The largest of each few neighbours, and the index it had."""
    k = values.shape[1]
    groups = -(-k // _TOGETHER)
    pad = ((0, 0), (0, groups * _TOGETHER - k), (0, 0))
    if index is None:
        index = jnp.broadcast_to(np.arange(k, dtype=np.int32)[:, None], values.shape)
    values = jnp.pad(values, pad, constant_values=-jnp.inf).reshape(len(values), groups, _TOGETHER, -1)
    index = jnp.pad(index, pad).reshape(values.shape)
    best, at = values[:, :, 0], index[:, :, 0]
    for i in range(1, min(_TOGETHER, k)):
        better = values[:, :, i] > best
        best, at = jnp.where(better, values[:, :, i], best), jnp.where(better, index[:, :, i], at)
    return best, at
