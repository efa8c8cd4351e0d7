"""A whole line search in one kernel of a GPU: lanes are worlds, and a warp is done when its 32 worlds are.

Written out for XLA, each evaluation of the slope is three kernels, and every world waits for the slowest of all.
`linesearch` is its reference, and runs inside of it.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array, lax

__all__ = ["search_in_kernel"]

_LANES = 32
"""Worlds of one program: a warp."""

Slope = Callable[[Any, Array], tuple[Array, Array]]
"""First and second derivative of the cost of a row along the direction, from its numbers, at a step."""


def search_in_kernel(
    find: Callable[..., Array],
    of_row: Slope,
    smooth: tuple[Array, Array],
    rows: dict[str, Array],
    tolerance: Array,
    iterations: Array,
    interpret: bool = False,
) -> Array:
    """Finds where the slope of the cost is zero.

    Args:
      find: `linesearch.search`, of a slope function, tolerance, iterations, width and dtype.
      of_row: the slope of one row.
      smooth: first and second derivative of the smooth part of the cost at the start, (W,).
      rows: what `of_row` reads, by name (k, 1 or W).
      tolerance: magnitude of slope that counts as zero, (W,).
      iterations: most evaluations, (1,) or (W,).
      interpret: whether to run the kernel without compiling it, for tests.

    Returns:
      Step (W,).
    """
    from jax.experimental import pallas as pl  # a second to import, and only programs for GPUs need it
    from jax.experimental.pallas import triton

    width, dtype = tolerance.shape[-1], tolerance.dtype
    whole = -(-width // _LANES) * _LANES
    given = [*smooth, tolerance, jnp.broadcast_to(iterations, (width,)).astype(jnp.int32)]
    # a world that is not there is done at once
    given = [jnp.pad(x, (0, whole - width), constant_values=1) for x in given]
    wide = {n: jnp.pad(x, ((0, 0), (0, whole - width))) if x.shape[1] > 1 else x for n, x in rows.items()}

    def spec(x: Array) -> Any:
        if x.ndim == 1:
            return pl.BlockSpec((_LANES,), lambda i: (i,))
        return pl.BlockSpec(
            (len(x), _LANES if x.shape[1] > 1 else 1), lambda i: (0, i if x.shape[1] > 1 else 0)
        )

    step = pl.pallas_call(
        functools.partial(_kernel, find, of_row, tuple(wide)),
        out_shape=jax.ShapeDtypeStruct((whole,), dtype),
        grid=(whole // _LANES,),
        in_specs=[spec(x) for x in (*given, *wide.values())],
        out_specs=pl.BlockSpec((_LANES,), lambda i: (i,)),
        interpret=interpret,
        compiler_params=triton.CompilerParams(num_warps=_LANES // 32, num_stages=1),
        name="search_line",
    )(*given, *wide.values())
    return step[:width]


def _kernel(find: Callable[..., Array], of_row: Slope, names: tuple[str, ...], *refs: Any) -> None:
    """Sums the slopes of the rows, one after the other, at every step that is looked at."""
    first, second, tolerance, iterations, *rows, step = refs
    count = rows[0].shape[0]
    start = first[:], second[:]

    def slope(t: Array) -> tuple[Array, Array]:
        def add(k: Array, total: tuple[Array, Array]) -> tuple[Array, Array]:
            row = SimpleNamespace(**{name: ref[k, :] for name, ref in zip(names, rows, strict=True)})
            one, two = of_row(row, t)
            return total[0] + one, total[1] + two

        return lax.fori_loop(0, count, add, (start[0] + t * start[1], start[1]))

    step[:] = find(slope, tolerance[:], iterations[:], _LANES, step.dtype)
