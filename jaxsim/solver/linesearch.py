"""Exact line search along a direction in acceleration (Computation chapter, "Constraint solver"). Native layout.

The cost is convex, so its slope along the direction rises through zero once. Newton's method on the slope finds the
zero; a bracket catches what overshoots. Where rounding hides the zero, as it does in float32 long before a tolerance is
reached, the search may wander off: of all steps tried the one with the flattest slope counts.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import jax.numpy as jnp
from jax import Array, lax

from jaxsim.math.axis import split, sum_rows
from jaxsim.math.few_kernels import call_in_few_kernels
from jaxsim.math.lanes import has_kernels
from jaxsim.math.stage import platform, stage
from jaxsim.solver import cone
from jaxsim.solver.blocks import block_of, block_size, each_block
from jaxsim.solver.jacobian import ContactJacobian, EdgeJacobian
from jaxsim.solver.rows import Rows, RowValues
from jaxsim.solver.search_kernel import Part, search_in_kernel

__all__ = ["find_zero", "search", "slope_function", "slopes_of"]

_Slopes = tuple[Array, Array]
Slope = Callable[[Array], _Slopes]


def search(
    rows: Rows,
    balance: Array,
    direction: tuple[Array, Array, RowValues],
    r: RowValues,
    tolerance: Array,
    iterations: Array,
) -> Array:
    """Finds where the slope of the cost along a direction is zero; the first candidate is the full step.

    Args:
      rows: constraint rows.
      balance: M x - force at the start.
      direction: p, M p and J p.
      r: residuals at the start.
      tolerance: magnitude of slope that counts as zero, `(W,)`.
      iterations: most evaluations.

    Returns:
      Step `(W,)`; a full step that is accepted at once is exactly 1.
    """
    p, inertial_p, row_p = direction
    smooth = sum_rows(balance * p), sum_rows(inertial_p * p)
    if has_kernels(p.dtype) and p.shape[-1] > 1:
        return search_in_kernel(find_zero, slopes_of(rows, r, row_p), smooth, tolerance, iterations)
    if platform() == "cpu" and p.shape[-1] > 1:  # else each evaluation would be dozens of small kernels
        return call_in_few_kernels(_search, rows, smooth, r, row_p, tolerance, iterations)
    return _search(rows, smooth, r, row_p, tolerance, iterations)


def _search(
    rows: Rows,
    smooth: tuple[Array, Array],
    r: RowValues,
    row_p: RowValues,
    tolerance: Array,
    iterations: Array,
) -> Array:
    """`search` in the program at hand, from the derivatives of the smooth part of the cost at the start."""
    return find_zero(slope_function(rows, smooth, r, row_p), tolerance, iterations)


def slope_function(rows: Rows, smooth: tuple[Array, Array], r: RowValues, row_p: RowValues) -> Slope:
    """First and second derivative of the cost along a direction, `(W,)`, as a function of the step `(W,)`.

    Args:
      rows: constraint rows.
      smooth: the two of the smooth part of the cost, at the start.
      r: residuals at the start.
      row_p: J p.
    """
    return lambda t: _slope(rows, *smooth, r, row_p, t)


@stage
def _slope(
    rows: Rows, first: Array, second: Array, r: RowValues, row_p: RowValues, t: Array
) -> tuple[Array, Array]:
    """First and second derivative of the cost, (W,), at steps t (W,), from those of its smooth part at the start."""
    first = first + t * second
    total = first, second
    for part in slopes_of(rows, r, row_p):

        def add(start: Array, total: _Slopes, part: Part = part) -> _Slopes:
            numbers = part.numbers if part.used is None else block_of(part.numbers, start, part.block)
            found = part.slope(**{name: _components(x) for name, x in numbers.items()}, t=t)
            return total[0] + _total(found[0]), total[1] + _total(found[1])

        none = jnp.int32(0)
        total = add(none, total) if part.used is None else each_block(part.used, part.block, add, total)
    return total


def slopes_of(rows: Rows, r: RowValues, row_p: RowValues) -> list[Part]:
    """What rows and contacts add to the derivatives, from residuals at the start and J p."""
    parts = []
    numbers = {"D": rows.D, "low": rows.low, "high": rows.high, "r": r.scalar, "along": row_p.scalar}
    runs = _runs(rows)
    pieces = {name: split(x, [run.size for run in runs]) for name, x in numbers.items()}
    for k, run in enumerate(runs):
        own = {name: x[k] for name, x in pieces.items()}
        parts.append(Part(cone.scalar_slope, own, run.used, run.block))
    for group, a, b in zip(rows.cones, r.cones, row_p.cones, strict=True):
        numbers = {"D": group.D, "friction": group.friction, "mu": group.mu, "r": a, "along": b}
        used = group.J.used if isinstance(group.J, ContactJacobian) else None
        parts.append(Part(cone.cone_slope, numbers, used, block_size(group.D.shape[1])))
    return [part for part in parts if len(part.numbers["D"])]


class _Run(NamedTuple):
    """Scalar rows of one Jacobian, or of several of which all are looked at; see `Part`."""

    size: int
    used: Array | None = None
    block: int = 0


def _runs(rows: Rows) -> list[_Run]:
    """The scalar rows, one run after the other."""
    runs: list[_Run] = [] if rows.J else [_Run(len(rows.D))]
    for J in rows.J:
        contacts = J.contacts if isinstance(J, EdgeJacobian) else None
        if isinstance(contacts, ContactJacobian) and contacts.used is not None:
            n, dim = contacts.J.shape[:2]
            runs.append(_Run(J.size, contacts.used * (J.size // n), block_size(dim) * (J.size // n)))
        elif runs and runs[-1].used is None:
            runs[-1] = _Run(runs[-1].size + J.size)
        else:
            runs.append(_Run(J.size))
    return runs


def _components(x: Array) -> Array | list[Array]:
    """One number a row, or those of a contact's axes."""
    return x if x.ndim == 2 else [x[:, k] for k in range(x.shape[1])]


def _total(x: Array) -> Array:
    """Sum over the rows, (W,); on accelerators both of a slope are one kernel, with what they sum."""
    return sum_rows(x) if platform() == "cpu" else jnp.sum(x, axis=0)


def find_zero(slope: Slope, tolerance: Array, iterations: Array) -> Array:
    """Finds where a slope is zero; see `search`.

    Args:
      slope: first and second derivative of the cost at a step `(W,)`, each `(W,)`.
      tolerance: magnitude of slope that counts as zero, `(W,)`, of the step's type.
      iterations: most evaluations.
    """
    one = jnp.ones_like(tolerance)

    def evaluate(carry: tuple[Array, ...]) -> tuple[Array, ...]:
        """Looks at the step, its bracket, the flattest so far and its slope, who is going, evaluations; all (W,)."""
        t, low, high, best, least, going, count = carry
        first, second = slope(t)
        count = count + going
        flatter = (going > 0) & (jnp.abs(first) < least)
        best, least = jnp.where(flatter, t, best), jnp.where(flatter, jnp.abs(first), least)
        going = jnp.where((jnp.abs(first) > tolerance) & (count < iterations), going, 0)
        low, high = jnp.where(first < 0, t, low), jnp.where(first < 0, high, t)
        newton = t - first / second
        middle = jnp.where(jnp.isinf(high), 2 * t, 0.5 * (low + high))
        better = jnp.where((newton > low) & (newton < high), newton, middle)
        return jnp.where(going > 0, better, t), low, high, best, least, going, count

    none = jnp.zeros(tolerance.shape, jnp.int32)
    start = (one, 0 * one, one + jnp.inf, one, one + jnp.inf, none + 1, none)
    if platform() != "cpu":  # fused with what comes before, where constants would be kernels of their own
        start = evaluate(start)
    # kernels of Triton know no `any`, those of Mosaic carry no truth values
    return lax.while_loop(lambda carry: jnp.max(carry[5]) > 0, evaluate, start)[3]
