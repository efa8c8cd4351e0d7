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

from jaxsim.math.lanes import in_lanes

__all__ = ["Part", "search_in_kernel"]


class Part(NamedTuple):
    """Rows of a kind, or contacts.

    Attributes:
      slope: first and second derivative of their costs by the step, from their numbers by name and the step, `t`;
        numbers that have components are lists of them.
      numbers: by name, (k, W) or (k, components, W), where W may be 1.
    """

    slope: Callable[..., tuple[Array, Array]]
    numbers: dict[str, Array]


def search_in_kernel(
    find: Callable[..., Array],
    parts: Sequence[Part],
    smooth: tuple[Array, Array],
    tolerance: Array,
    iterations: Array,
    interpret: bool = False,
) -> Array:
    """Finds where the slope of the cost is zero.

    Args:
      find: `linesearch.find_zero`, of a slope function, tolerance and iterations.
      parts: the rows and contacts.
      smooth: first and second derivative of the rest of the cost at the start, (W,).
      tolerance: magnitude of slope that counts as zero, (W,).
      iterations: most evaluations, (1,) or (W,).
      interpret: whether to run the kernel without compiling it, for tests.

    Returns:
      Step (W,).
    """
    width, dtype = tolerance.shape[-1], tolerance.dtype
    given = [jnp.broadcast_to(x, (width,)) for x in (*smooth, tolerance, iterations.astype(jnp.int32))]
    numbers = [x for part in parts for x in part.numbers.values()]
    kernel = functools.partial(_kernel, find, [(part.slope, tuple(part.numbers)) for part in parts])
    step = jax.ShapeDtypeStruct((width,), dtype)
    return in_lanes(kernel, "search_line", [*given, *numbers], [step], interpret=interpret)[0]


def _kernel(
    find: Callable[..., Array],
    parts: Sequence[tuple[Callable[..., tuple[Array, Array]], tuple[str, ...]]],
    *refs: Any,
) -> None:
    """Sums the slopes of rows and contacts, one after the other, at every step that is looked at."""
    first, second, tolerance, iterations, *numbers, step = refs
    start, lanes = (first[...], second[...]), len(step.shape)

    def slope(t: Array) -> tuple[Array, Array]:
        total, left = (start[0] + t * start[1], start[1]), iter(numbers)
        for of_row, names in parts:
            own = {name: next(left) for name in names}
            total = lax.fori_loop(0, own["D"].shape[0], functools.partial(_add, of_row, own, lanes, t), total)
        return total

    step[...] = find(slope, tolerance[...], iterations[...])


def _add(of_row: Callable[..., Any], refs: dict[str, Any], lanes: int, t: Array, k: Array, total: Any) -> Any:
    """The derivatives so far, and those of row k."""
    one, two = of_row(**{name: _at(ref, lanes, k) for name, ref in refs.items()}, t=t)
    return total[0] + one, total[1] + two


def _at(ref: Any, lanes: int, k: Array) -> Any:
    """A row's number, or its components; so many axes are worlds."""
    return ref[k] if len(ref.shape) == 1 + lanes else [ref[k, i] for i in range(ref.shape[1])]
