"""World frames of a tree in one kernel of a GPU or TPU, whose lanes are worlds.

Rounds of pointer jumping are a kernel or two each, and need all frames of the round before. Here each frame follows the
one it is given in, from the root on, and stays in the cache for those that follow it. Pointer jumping is its reference.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from jaxsim.math import hamilton
from jaxsim.math.lanes import in_lanes

__all__ = ["compose_in_kernel"]


def compose_in_kernel(order: np.ndarray, above: np.ndarray, local: Array, interpret: bool = False) -> Array:
    """Composes frames with those that they are given in.

    Args:
      order: the frames' numbers from the root on, each after the one it is given in, (n,).
      above: the number of that one; the root's is not looked at, (n,).
      local: position and orientation of each in the one above, (n, 7, W).
      interpret: whether to run the kernel without compiling it, for tests.

    Returns:
      position and orientation of each in the frame that the root is given in, (n, 7, W).
    """
    tables = [jnp.asarray(np.asarray(x, np.int32)) for x in (order, above[order])]
    world = jax.ShapeDtypeStruct(local.shape, local.dtype)
    return in_lanes(_kernel, "world_frames", [local], [world], tables, interpret=interpret)[0]


def _kernel(order: Any, above: Any, local: Any, world: Any) -> None:
    """Goes through the frames, each after the one that it is given in; see `compose_in_kernel`."""
    root = order[0]
    for k in range(7):
        world[root, k] = local[root, k]

    def compose(count: Array, none: None) -> None:
        row, base = order[count], above[count]
        pos, orientation = ([world[base, k] for k in part] for part in (range(3), range(3, 7)))
        offset, turn = ([local[row, k] for k in part] for part in (range(3), range(3, 7)))
        for k, x in enumerate(hamilton.rotated(orientation, offset)):
            world[row, k] = pos[k] + x
        for k, x in enumerate(hamilton.product(orientation, turn)):
            world[row, 3 + k] = x

    lax.fori_loop(1, order.shape[0], compose, None)
