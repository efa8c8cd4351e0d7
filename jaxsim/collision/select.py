"""Picking a few of many for each world, in a fixed order, without scatter."""

from __future__ import annotations

import jax.numpy as jnp
from jax import Array, lax

from jaxsim.math.stage import stage

__all__ = ["pick_active"]


@stage
def pick_active(key: Array, active: Array, *, slots: int) -> tuple[Array, Array, Array]:
    """Chooses up to `slots` active rows for each world, in row order; if there are more, those of least key.

    Args:
      key: (n, W), not differentiated.
      active: (n, W) of bool.
      slots: number of rows to choose.

    Returns:
      rows (slots, W), whether a slot is filled (slots, W), whether rows were left out (W,).
    """
    key = lax.stop_gradient(key)
    n = active.shape[0]
    overflow = jnp.sum(active, axis=0, dtype=jnp.int32) > slots
    if slots < n:
        active = lax.cond(jnp.any(overflow), lambda a, k: _least(k, a, slots), lambda a, k: a, active, key)
    rank = jnp.cumsum(active, axis=0, dtype=jnp.int32)
    want = jnp.arange(1, slots + 1, dtype=jnp.int32)[:, None]
    filled = rank[-1] >= want
    # binary search for the first row whose rank is the wanted one
    low = jnp.zeros((slots, active.shape[1]), jnp.int32)
    step = 1 << max(n - 1, 1).bit_length()
    while step > 1:
        step //= 2
        probe = jnp.take_along_axis(rank, jnp.minimum(low + (step - 1), n - 1), axis=0)
        low = jnp.where(probe < want, low + step, low)
    return jnp.minimum(low, n - 1), filled, overflow


def _least(key: Array, active: Array, slots: int) -> Array:
    """Of the active rows the `slots` ones of least key; of equal keys the first."""
    key = jnp.where(active, key, jnp.inf)
    bound = jnp.sort(key, axis=0)[slots - 1]
    below = active & (key < bound)
    tied = active & (key == bound)
    room = slots - jnp.sum(below, axis=0, dtype=jnp.int32)
    return below | (tied & (jnp.cumsum(tied, axis=0, dtype=jnp.int32) <= room))
