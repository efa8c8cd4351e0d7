"""What some worlds need longer than others, without holding those up. Native layout."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
from jax import Array, lax

from jaxsim.math.gather import first_marked
from jaxsim.math.stage import platform

__all__ = ["MANY_WORLDS", "in_some_worlds"]

MANY_WORLDS = 32
"""Worlds from which some of them are gathered: of fewer that is not worth the larger program."""

_LANES = 64
"""Worlds gathered at a time on a CPU, and least elsewhere."""

_SHARE = 16
"""On accelerators, how many times fewer worlds are gathered than there are."""

_T = TypeVar("_T")


def in_some_worlds(
    function: Callable[[Any, _T], _T], asked: Array, tables: Any, found: _T, lanes: int = _LANES
) -> _T:
    """What was found, and in the worlds that are asked what a function finds then, some worlds at a time.

    Args:
      function: of the tables and what was found, both of some worlds.
      asked: which worlds, (W,).
      tables: a tree of arrays (..., 1 or W).
      found: what was found of all, a tree of arrays (..., W).
      lanes: worlds gathered at a time on a CPU.
    """
    width = asked.shape[0]
    if width == 1:
        return lax.cond(asked[0], function, lambda _, found: found, tables, found)
    count = min(lanes if platform() == "cpu" else max(_LANES, width // _SHARE), -(-width // 2))

    def some(state: tuple[Array, _T]) -> tuple[Array, _T]:
        asked, found = state
        worlds = first_marked(asked, count, jnp.argmax(asked))
        own = jax.tree.map(lambda x: x[..., worlds] if x.shape[-1] == width else x, (tables, found))
        put = jax.tree.map(lambda x, y: x.at[..., worlds].set(y), found, function(*own))
        return asked.at[worlds].set(False), put

    return lax.while_loop(lambda state: jnp.any(state[0]), some, (asked, found))[1]
