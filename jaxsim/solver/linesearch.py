"""Exact line search along a direction in acceleration (Computation chapter, "Constraint solver"). Native layout.

The cost is convex, so its slope along the direction rises through zero once. Newton's method on the slope finds the
zero; a bracket catches what overshoots. Where rounding hides the zero, as it does in float32 long before a tolerance is
reached, the search may wander off: of all steps tried the one with the flattest slope counts.
"""

from __future__ import annotations

import functools
from collections.abc import Callable

import jax
import jax.numpy as jnp
from jax import Array, lax

from jaxsim.math.axis import sum_rows
from jaxsim.math.stage import platform, stage
from jaxsim.solver import cone
from jaxsim.solver.rows import Rows, RowValues

__all__ = ["search", "slope_function"]


def slope_function(
    rows: Rows, balance: Array, inertial_p: Array, p: Array, r: RowValues, row_p: RowValues
) -> Callable[[Array], tuple[Array, Array]]:
    """First and second derivative of the cost along a direction.

    Args:
      rows: constraint rows.
      balance: M x - force at the start.
      inertial_p: M p.
      p: direction.
      r: residuals at the start.
      row_p: J p.

    Returns:
      A function of the step `(W,)`.
    """
    first_0 = sum_rows(balance * p)
    second_0 = sum_rows(inertial_p * p)

    return lambda t: _slope(rows, first_0, second_0, r, row_p, t)


@stage
def _slope(
    rows: Rows, first: Array, second: Array, r: RowValues, row_p: RowValues, t: Array
) -> tuple[Array, Array]:
    """First and second derivative of the cost, (W,), at steps t (W,), from those of its smooth part at the start."""
    first = first + t * second
    at = r.scalar + t * row_p.scalar
    f, c = cone.scalar_force(rows, at), cone.scalar_curvature(rows, at)
    first = first - _total(f * row_p.scalar)
    second = second + _total(c * row_p.scalar * row_p.scalar)
    for group, a, b in zip(rows.cones, r.cones, row_p.cones, strict=True):
        force, change = jax.jvp(functools.partial(cone.cone_force, group), (a + t * b,), (b,))
        first = first - jnp.sum(force * b, axis=(0, 1))
        second = second - jnp.sum(change * b, axis=(0, 1))
    return first, second


def _total(x: Array) -> Array:
    """Sum over the rows, (W,); on accelerators both of a slope are one kernel, with what they sum."""
    return sum_rows(x) if platform() == "cpu" else jnp.sum(x, axis=0)


def search(
    slope: Callable[[Array], tuple[Array, Array]],
    tolerance: Array,
    iterations: Array,
    width: int,
    dtype: jnp.dtype,
) -> Array:
    """Finds where the slope of the cost is zero; the first candidate is the full step.

    Args:
      slope: first and second derivative of the cost at a step `(W,)`, each `(W,)`.
      tolerance: magnitude of slope that counts as zero, `(W,)`.
      iterations: most evaluations.
      width: number of worlds.
      dtype: of the step.

    Returns:
      Step `(W,)`; a full step that is accepted at once is exactly 1.
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
    return lax.while_loop(lambda carry: jnp.any(carry[5]), evaluate, start)[3]
