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
from jaxsim.math.in_use import block_of, each_block
from jaxsim.math.lanes import has_kernels
from jaxsim.math.stage import platform, stage
from jaxsim.solver import cone
from jaxsim.solver.blocks import block_size
from jaxsim.solver.chain_jacobian import ChainJacobian
from jaxsim.solver.contact_jacobian import ContactJacobian
from jaxsim.solver.jacobian import EdgeJacobian
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
    start: Array,
    tolerance: Array,
    iterations: Array,
) -> Array:
    """Finds where the slope of the cost along a direction is zero; the first candidate is the full step.

    Args:
      rows: constraint rows.
      balance: M x - force at the start.
      direction: p, M p and J p.
      r: residuals at the start.
      start: slope at the start, `(W,)`.
      tolerance: magnitude of slope that counts as zero, `(W,)`.
      iterations: most evaluations.

    Returns:
      Step `(W,)`; a full step that is accepted at once is exactly 1.
    """
    p, inertial_p, row_p = direction
    smooth = sum_rows(balance * p), sum_rows(inertial_p * p)
    if has_kernels(p.dtype) and p.shape[-1] > 1:
        parts = slopes_of(rows, r, row_p)
        return search_in_kernel(find_zero, parts, smooth, start, tolerance, iterations)
    if platform() == "cpu" and p.shape[-1] > 1:  # else each evaluation would be dozens of small kernels
        return call_in_few_kernels(_search, rows, smooth, r, row_p, start, tolerance, iterations)
    return _search(rows, smooth, r, row_p, start, tolerance, iterations)


def _search(
    rows: Rows,
    smooth: tuple[Array, Array],
    r: RowValues,
    row_p: RowValues,
    start: Array,
    tolerance: Array,
    iterations: Array,
) -> Array:
    """`search` in the program at hand, from the derivatives of the smooth part of the cost at the start."""
    return find_zero(slope_function(rows, smooth, r, row_p), start, tolerance, iterations)


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
        parts.append(Part(cone.cone_slope, numbers, _used(group.J), block_size(group.D.shape[1])))
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
        used = _used(J.contacts) if isinstance(J, EdgeJacobian) else None
        if isinstance(J, EdgeJacobian) and used is not None:
            n, dim = J.friction.shape[0], J.friction.shape[1] + 1
            runs.append(_Run(J.size, used * (J.size // n), block_size(dim) * (J.size // n)))
        elif runs and runs[-1].used is None:
            runs[-1] = _Run(runs[-1].size + J.size)
        else:
            runs.append(_Run(J.size))
    return runs


def _used(J: object) -> Array | None:
    """How many contacts of a Jacobian are looked at; None: all."""
    return J.used if isinstance(J, ContactJacobian | ChainJacobian) else None


def _components(x: Array) -> Array | list[Array]:
    """One number a row, or those of a contact's axes."""
    return x if x.ndim == 2 else [x[:, k] for k in range(x.shape[1])]


def _total(x: Array) -> Array:
    """Sum over the rows, (W,); on accelerators both of a slope are one kernel, with what they sum."""
    return sum_rows(x) if platform() == "cpu" else jnp.sum(x, axis=0)


def find_zero(slope: Slope, start: Array, tolerance: Array, iterations: Array) -> Array:
    """Finds where a slope is zero; see `search`.

    A step of Newton's method is taken inside of the bracket, as long as two of them halve it. Where the slope bends, as
    where a contact begins to touch or to slip, they may not; then the step is one of Chandrupatla's method (1997).

    Args:
      slope: first and second derivative of the cost at a step `(W,)`, each `(W,)`.
      start: its slope at the start, `(W,)`, below zero.
      tolerance: magnitude of slope that counts as zero, `(W,)`, of the step's type.
      iterations: most evaluations.
    """
    one = jnp.ones_like(tolerance)

    def evaluate(state: _Search) -> _Search:
        """Looks at the step."""
        t = state.t
        first, second = slope(t)
        count = state.evaluations + state.going
        flatter = (state.going > 0) & (jnp.abs(first) < state.least)
        best, least = jnp.where(flatter, t, state.best), jnp.where(flatter, jnp.abs(first), state.least)
        going = jnp.where((jnp.abs(first) > tolerance) & (count < iterations), state.going, 0)
        short = first < 0
        last = t, first
        left = _either(short, state.low, state.high)
        low, high = _either(short, last, state.low), _either(short, state.high, last)
        other = _either(short, high, low)
        width = high[0] - low[0]
        newton = t - first / second
        inside = (newton > low[0]) & (newton < high[0]) & ~(width > 0.5 * state.widths[1])
        step = jnp.where(inside, newton, _narrowing(last, other, left, low, high))
        widths = width, state.widths[0]
        return _Search(jnp.where(going > 0, step, t), low, high, widths, best, least, going, count)

    none, far = jnp.zeros(tolerance.shape, jnp.int32), one + jnp.inf
    state = _Search(one, (0 * one, start + 0 * one), (far, far), (far, far), one, far, none + 1, none)
    if platform() != "cpu":  # fused with what comes before, where constants would be kernels of their own
        state = evaluate(state)
    # kernels of Triton know no `any`, those of Mosaic carry no truth values
    return lax.while_loop(lambda state: jnp.max(state.going) > 0, evaluate, state).best


_Point = tuple[Array, Array]
"""A step and the slope there, each `(W,)`."""


class _Search(NamedTuple):
    """Where a search is, in each world.

    Attributes:
      t: the step to be looked at.
      low: the longest so far that is too short.
      high: the shortest that is too long; infinite: none yet.
      widths: distance of these two, and as it was before.
      best: of all steps tried that of the flattest slope.
      least: magnitude of this slope.
      going: 1 where it goes on, else 0.
      evaluations: how many there were.
    """

    t: Array
    low: _Point
    high: _Point
    widths: tuple[Array, Array]
    best: Array
    least: Array
    going: Array
    evaluations: Array


def _either(which: Array, one: _Point, other: _Point) -> _Point:
    return jnp.where(which, one[0], other[0]), jnp.where(which, one[1], other[1])


def _narrowing(last: _Point, other: _Point, left: _Point, low: _Point, high: _Point) -> Array:
    """The step of Chandrupatla's method: where a quadratic through three points is zero, if that is safe, or half way.

    Args:
      last: the last point.
      other: the end of the bracket beyond the zero.
      left: the end that the last point replaced; if there was none, a line takes the place of the quadratic.
      low: of `last` and `other` the shorter step.
      high: the longer.
    """
    (a, at_a), (b, at_b), (c, at_c) = last, other, left
    share, height = (a - b) / (c - b), (at_a - at_b) / (at_c - at_b)
    quadratic = at_a / (at_b - at_a) * at_c / (at_b - at_c)
    quadratic = quadratic + (c - a) / (b - a) * at_a / (at_c - at_a) * at_b / (at_c - at_b)
    safe = (height * height < share) & ((1 - height) * (1 - height) < 1 - share)
    line = low[0] - low[1] * ((high[0] - low[0]) / (high[1] - low[1]))
    step = jnp.where(jnp.isinf(c), line, jnp.where(safe, a + quadratic * (b - a), -1))
    middle = jnp.where(jnp.isinf(high[0]), 2 * a, 0.5 * (low[0] + high[0]))
    return jnp.where((step > low[0]) & (step < high[0]), step, middle)
