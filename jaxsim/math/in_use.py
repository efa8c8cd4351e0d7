"""Rows some at a time, as many as are in use: those come first, and what follows them costs nothing.

For programs of a CPU, where work counts. Kernels of a GPU look up themselves where rows end. Native layout.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
from jax import Array, lax

__all__ = ["block_of", "each_block"]

_T = TypeVar("_T")


def block_of(tree: Any, start: Array, size: int) -> Any:
    """So many rows of arrays (n, ..., W) from one on."""
    return jax.tree.map(lambda x: lax.dynamic_slice_in_dim(x, start, size), tree)


def each_block(used: Array, size: int, step: Callable[[Array, _T], _T], state: _T) -> _T:
    """What is left of a state after a step for each block of rows that are in use in some world.

    Args:
      used: how many rows are in use, all of them before all others, (W,).
      size: rows of a block.
      step: a function of the first row of a block and the state.
      state: at the start.
    """
    blocks = lax.div(jnp.max(used).astype(jnp.int32) + (size - 1), jnp.int32(size))
    return lax.fori_loop(jnp.int32(0), blocks, lambda k, own: step(k * size, own), state)
