"""Exact line search along a direction in acceleration (Computation chapter, "Constraint solver"). Native layout.

The cost is convex, so its slope along the direction rises through zero once. Newton's method on the slope finds the
zero; a bracket catches what overshoots. Where rounding hides the zero, as it does in float32 long before a tolerance is
reached, the search may wander off: of all steps tried the one with the flattest slope counts.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array, lax

from jaxsim.math.axis import sum_rows
from jaxsim.math.stage import platform, stage
from jaxsim.solver import cone
from jaxsim.solver.rows import Rows, RowValues
from jaxsim.solver.search_kernel import search_in_kernel

__all__ = ["find_zero", "search", "slope_function"]

Slope = Callable[[Array], tuple[Array, Array]]


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
    if platform() == "cuda" and not rows.cones and len(rows.D) and p.shape[-1] > 1:
        numbers = {"D": rows.D, "low": rows.low, "high": rows.high, "r": r.scalar, "along": row_p.scalar}
        return search_in_kernel(find_zero, _slope_of_row, smooth, numbers, tolerance, iterations)
    slope = slope_function(rows, smooth, r, row_p)
    return find_zero(slope, tolerance, iterations, p.shape[-1], p.dtype)


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
    one, two = _slopes(rows, r.scalar, row_p.scalar, t)
    first, second = first + _total(one), second + _total(two)
    for group, a, b in zip(rows.cones, r.cones, row_p.cones, strict=True):
        force, change = jax.jvp(functools.partial(cone.cone_force, group), (a + t * b,), (b,))
        first = first - jnp.sum(force * b, axis=(0, 1))
        second = second - jnp.sum(change * b, axis=(0, 1))
    return first, second


def _slopes(rows: Any, r: Array, along: Array, t: Array) -> tuple[Array, Array]:
    """Each scalar row's part of the derivatives; `rows` has their `D`, `low`, `high`, of one or of all."""
    at = r + t * along
    return -cone.scalar_force(rows, at) * along, cone.scalar_curvature(rows, at) * along * along


def _slope_of_row(row: Any, t: Array) -> tuple[Array, Array]:
    return _slopes(row, row.r, row.along, t)


def _total(x: Array) -> Array:
    """Sum over the rows, (W,); on accelerators both of a slope are one kernel, with what they sum."""
    return sum_rows(x) if platform() == "cpu" else jnp.sum(x, axis=0)


def find_zero(slope: Slope, tolerance: Array, iterations: Array, width: int, dtype: jnp.dtype) -> Array:
    """Finds where a slope is zero; see `search`.

    Args:
      slope: first and second derivative of the cost at a step `(W,)`, each `(W,)`.
      tolerance: magnitude of slope that counts as zero, `(W,)`.
      iterations: most evaluations.
      width: number of worlds.
      dtype: of the step.
    """
    one = jnp.ones((width,), dtype)

    def evaluate(carry: tuple[Array, ...]) -> tuple[Array, ...]:
        """Looks at the step, its bracket, the flattest so far and its slope, who is going, evaluations; all (W,)."""
        t, low, high, best, least, going, count = carry
        first, second = slope(t)
        count = count + going
        flatter = going & (jnp.abs(first) < least)
        best, least = jnp.where(flatter, t, best), jnp.where(flatter, jnp.abs(first), least)
        going = going & (jnp.abs(first) > tolerance) & (count < iterations)
        low, high = jnp.where(first < 0, t, low), jnp.where(first < 0, high, t)
        newton = t - first / second
        middle = jnp.where(jnp.isinf(high), 2 * t, 0.5 * (low + high))
        better = jnp.where((newton > low) & (newton < high), newton, middle)
        return jnp.where(going, better, t), low, high, best, least, going, count

    start = (one, 0 * one, one + jnp.inf, one, one + jnp.inf, one > 0, jnp.zeros((width,), int))
    if platform() != "cpu":  # fused with what comes before, where constants would be kernels of their own
        start = evaluate(start)
    # kernels of Triton know no `any`
    return lax.while_loop(lambda carry: jnp.max(carry[5].astype(jnp.int32)) > 0, evaluate, start)[3]
