"""A whole line search in one kernel of a GPU or TPU: lanes are worlds, and a program is done when its worlds are.

Written out for XLA, each evaluation of the slope is three kernels, and every world waits for the slowest of all.
`linesearch` is its reference, and runs inside of it.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array, lax

from jaxsim.math.lanes import in_lanes, rows_in_use, rows_together, warps_for

__all__ = ["Part", "search_in_kernel"]


_MOST = 32
"""Most rows that are looked at together."""


class Part(NamedTuple):
    """Rows of a kind, or contacts.

    Attributes:
      slope: first and second derivative of their costs by the step, from their numbers by name and the step, `t`;
        numbers that have components are lists of them.
      numbers: by name, (k, W) or (k, components, W), where W may be 1.
      used: how many are looked at, the first, (W,); None: all, or those that the kernel finds.
      block: how many of these at a time.
    """

    slope: Callable[..., tuple[Array, Array]]
    numbers: dict[str, Array]
    used: Array | None = None
    block: int = 0


def search_in_kernel(
    find: Callable[..., Array],
    parts: Sequence[Part],
    smooth: tuple[Array, Array],
    start: Array,
    tolerance: Array,
    iterations: Array,
    interpret: bool = False,
) -> Array:
    """Finds where the slope of the cost is zero.

    Args:
      find: `linesearch.find_zero`.
      parts: the rows and contacts.
      smooth: first and second derivative of the rest of the cost at the start, (W,).
      start: slope of all of it there, (W,).
      tolerance: magnitude of slope that counts as zero, (W,).
      iterations: most evaluations, (1,) or (W,).
      interpret: whether to run the kernel without compiling it, for tests.

    Returns:
      Step (W,).
    """
    width, dtype = tolerance.shape[-1], tolerance.dtype
    given = [jnp.broadcast_to(x, (width,)) for x in (*smooth, start, tolerance, iterations.astype(jnp.int32))]
    numbers = [x for part in parts for x in part.numbers.values()]
    kernel = functools.partial(_kernel, find, [(part.slope, tuple(part.numbers)) for part in parts])
    step = jax.ShapeDtypeStruct((width,), dtype)
    warps = max((warps_for(rows_together(len(part.numbers["D"]), _MOST)) for part in parts), default=1)
    return in_lanes(kernel, "search_line", [*given, *numbers], [step], (), warps, interpret=interpret)[0]


def _kernel(
    find: Callable[..., Array],
    parts: Sequence[tuple[Callable[..., tuple[Array, Array]], tuple[str, ...]]],
    *refs: Any,
) -> None:
    """Sums the slopes of rows and contacts, some at a time, at every step that is looked at."""
    first, second, start, tolerance, iterations, *numbers, step = refs
    smooth, lanes, left = (first[...], second[...]), len(step.shape), iter(numbers)
    own = [{name: next(left) for name in names} for _, names in parts]
    # contacts that touch come first
    in_use = [rows_in_use(part["D"], step.shape, _MOST) for part in own]

    def slope(t: Array) -> tuple[Array, Array]:
        """First and second derivative of the cost at a step, (lanes)."""
        total = smooth[0] + t * smooth[1], smooth[1]
        for (of_rows, _), part, rows in zip(parts, own, in_use, strict=True):
            count = part["D"].shape[0]
            some = rows_together(count, _MOST)
            add = functools.partial(_add, of_rows, part, lanes, t, count, some)
            none = jnp.zeros((some, *t.shape), t.dtype)
            found = lax.fori_loop(0, lax.div(rows + (some - 1), jnp.int32(some)), add, (none, none))
            total = total[0] + jnp.sum(found[0], axis=0), total[1] + jnp.sum(found[1], axis=0)
        return total

    step[...] = find(slope, start[...], tolerance[...], iterations[...])


def _add(
    of_rows: Callable[..., Any],
    refs: dict[str, Any],
    lanes: int,
    t: Array,
    count: int,
    some: int,
    trip: Array,
    total: Any,
) -> Any:
    """The derivatives so far, and those of some of so many rows; the last ones begin among those before them."""
    begin = trip * some
    start = jnp.minimum(begin, count - some)
    own = start + lax.broadcasted_iota(jnp.int32, total[0].shape, 0) >= begin
    found = of_rows(**{name: _at(ref, lanes, start, some) for name, ref in refs.items()}, t=t)
    return tuple(x + jnp.where(own, one, 0) for x, one in zip(total, found, strict=True))


def _at(ref: Any, lanes: int, start: Array, some: int) -> Any:
    """Numbers of some rows, or their components; so many axes are worlds."""
    from jax.experimental import pallas as pl

    rows = pl.ds(start, some)
    return ref[rows] if len(ref.shape) == 1 + lanes else [ref[rows, i] for i in range(ref.shape[1])]
