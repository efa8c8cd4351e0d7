"""Sums over another axis than the last, on which worlds are."""

from __future__ import annotations

import jax.numpy as jnp
from jax import Array, lax

from jaxsim.math.stage import platform, stage

__all__ = ["FUSED", "WRITTEN_OUT", "sum_rows"]

FUSED = 8
"""Most operands of a concatenation, and terms of a sum, into which XLA for CPU fuses what computes them."""

WRITTEN_OUT = 256
"""Most terms of a sum that programs for accelerators compute in one kernel."""


def sum_rows(x: Array, axis: int = 0) -> Array:
    """Sum over an axis of (..., n, ..., W), written out.

    XLA for CPU neither vectorises a reduction over another axis than the last nor fuses one with what it sums. Here the
    first `FUSED` terms of each sum are fused, which leaves few rows to read again: half the time at 180 rows.
    """
    n = x.shape[axis]
    size = -(-n // FUSED)
    if x.shape[-1] == 1 or n == 0 or platform() == "tpu":
        return jnp.sum(x, axis=axis)
    if n < 2 * FUSED or (platform() != "cpu" and n <= WRITTEN_OUT):
        return _added(x, axis=axis)
    whole = n // size * size
    total = lax.slice_in_dim(x, 0, size, axis=axis)
    for i in range(size, whole, size):
        total = total + lax.slice_in_dim(x, i, i + size, axis=axis)
    if whole < n:
        total = jnp.concatenate([total, lax.slice_in_dim(x, whole, n, axis=axis)], axis=axis)
    return _rest(total, axis=axis)


def _added(x: Array, *, axis: int) -> Array:
    """A sum written out; rows keep their axis: XLA would move a reshape of each through all that follows."""
    total = lax.slice_in_dim(x, 0, 1, axis=axis)
    for i in range(1, x.shape[axis]):
        total = total + lax.slice_in_dim(x, i, i + 1, axis=axis)
    return jnp.squeeze(total, axis)


_rest = stage(_added)
