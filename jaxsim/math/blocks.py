"""Worlds a block at a time, so that what a block works on stays in a core's cache. Native layout."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

__all__ = ["block_size", "in_blocks"]

_BLOCK = 160
"""Worlds of a block on a CPU: few enough for its caches, enough to keep its kernels busy."""


def block_size(width: int, platform: str) -> int:
    """How many of `width` worlds are computed at a time on a platform: an accelerator computes all."""
    blocks = round(width / _BLOCK)
    if platform != "cpu" or blocks <= 1:
        return width
    return min(width, -(-width // (16 * blocks)) * 16)


def in_blocks(
    function: Callable[..., Sequence[Any]],
    leaves: Sequence[Any],
    by_world: Sequence[bool],
    width: int,
    block: int,
) -> list[Any]:
    """What a function of arrays, worlds last, gives of `width` worlds when it is called for `block` of them at a time.

    The last block overlaps the one before it if the worlds are no multiple.

    Args:
      function: treats worlds independently; all of its results have all worlds.
      leaves: its arguments.
      by_world: which of them have worlds; the others have a last axis of 1.
      width: worlds.
      block: worlds of a block.
    """
    if block == width:
        return list(function(*leaves))

    def some(start: Any) -> Sequence[Any]:
        own = (
            lax.dynamic_slice_in_dim(x, start, block, -1) if many else x
            for x, many in zip(leaves, by_world, strict=True)
        )
        return function(*own)

    def more(i: Any, found: list[Any]) -> list[Any]:
        start = jnp.minimum(i * block, width - block)
        return [
            lax.dynamic_update_slice_in_dim(into, x, start, x.ndim - 1)
            for into, x in zip(found, some(start), strict=True)
        ]

    shapes = jax.eval_shape(some, 0)
    empty = [jnp.zeros((*x.shape[:-1], width), x.dtype) for x in shapes]
    return lax.fori_loop(0, -(-width // block), more, empty)
