"""Contacts some at a time, as many as touch: contacts that touch come first, and what follows them costs nothing.

For programs of a CPU, where work counts. Kernels of a GPU look up themselves where contacts end. Native layout.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
from jax import Array, lax

__all__ = ["MANY", "MOST", "block_of", "block_size", "each_block"]

MOST = 8
"""Contacts of the largest block: buffers of contacts that are looked at in blocks have a multiple of it."""

MANY = 16
"""The same where contacts are of many trees, and an entry of a Jacobian is for a few of their dofs; a multiple
of `MOST`, as their line search has blocks of the other size."""

_T = TypeVar("_T")


def block_size(dim: int) -> int:
    """How many contacts of a dimension make a block: some two dozen rows are a kernel of a good size."""
    return MOST if dim <= 3 else MOST // 2


def block_of(tree: Any, start: Array, size: int) -> Any:
    """So many rows of arrays (n, ..., W) from one on."""
    return jax.tree.map(lambda x: lax.dynamic_slice_in_dim(x, start, size), tree)


def each_block(used: Array, size: int, step: Callable[[Array, _T], _T], state: _T) -> _T:
    """What is left of a state after a step for each block of contacts that are in use in some world.

    Args:
      used: how many contacts are in use, all of them before all others, (W,).
      size: contacts of a block.
      step: a function of the first contact of a block and the state.
      state: at the start.
    """
    blocks = lax.div(jnp.max(used).astype(jnp.int32) + (size - 1), jnp.int32(size))
    return lax.fori_loop(jnp.int32(0), blocks, lambda k, own: step(k * size, own), state)
