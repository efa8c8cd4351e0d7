"""Least values of convex quadratics in a ball: a friction cone cut at a known normal force. Native layout.

`y^T A y / 2 + b^T y` over `|y| <= radius` is least at `y(l) = -(A + l)^-1 b`, with l = 0 if that is inside, else
with the l that puts it on the sphere. Newton's method on `1 / radius - 1 / |y(l)|`, which is nearly linear, rises to it
from any l below (More and Sorensen, Computing a trust region step, 1983; the computation chapter names the problem,
"PGS").
"""

from __future__ import annotations

import jax.numpy as jnp
from jax import Array

from jaxsim.math import safe
from jaxsim.math.constants import MINVAL
from jaxsim.math.stage import stage

__all__ = ["least_in_ball"]

_STEPS = {1: 2, 2: 6}
"""Newton steps by dimension."""
_MOST_STEPS = 16
"""The same for others."""
_LEAST_SHIFT = 64
"""l is at least this many rounding errors of the trace: what a singular matrix cannot tell is then small."""


def least_in_ball(A: Array, b: Array, radius: Array) -> Array:
    """The minimum.

    Args:
      A: positive semidefinite, `(d, d, W)`.
      b: `(d, W)`.
      radius: `(W,)`; a ball that is smaller than MINVAL is a point.

    Returns:
      y, `(d, W)`.
    """
    return _at(A, b, radius, _multiplier(A, b, radius))


@stage
def _multiplier(A: Array, b: Array, radius: Array) -> Array:
    """The shift l, `(W,)`."""
    d = b.shape[0]
    rho = jnp.maximum(radius, MINVAL)
    least = _least(A)
    shift = jnp.maximum(_length(b) / rho - _trace(A), least)
    for _ in range(_STEPS.get(d, _MOST_STEPS)):
        y, descent = _solution(A, b, shift)
        length = _length(y)
        step = safe.divide(length * length, descent) * (length - rho) / rho
        shift = jnp.maximum(shift + step, least)
    return shift


@stage
def _at(A: Array, b: Array, radius: Array, shift: Array) -> Array:
    y, _ = _solution(A, b, shift)
    length = _length(y)
    # the last steps end within rounding of the sphere
    scale = jnp.where((shift > _least(A)) | (length > radius), safe.divide(radius, length), 1)
    return jnp.where(radius < MINVAL, 0, scale * y)


def _least(A: Array) -> Array:
    return _LEAST_SHIFT * float(jnp.finfo(A.dtype).eps) * _trace(A)


def _length(x: Array) -> Array:
    return jnp.sqrt(sum(x[k] * x[k] for k in range(x.shape[0])))


def _trace(A: Array) -> Array:
    trace = A[0, 0]
    for k in range(1, A.shape[0]):
        trace = trace + A[k, k]
    return trace


def _solution(A: Array, b: Array, shift: Array) -> tuple[Array, Array]:
    """`y = -(A + shift)^-1 b`, and `y^T (A + shift)^-1 y`, by an L D L^T factorisation written out."""
    d = b.shape[0]
    tiny = float(jnp.finfo(b.dtype).tiny)
    L: list[list[Array]] = [[] for _ in range(d)]
    D: list[Array] = []
    for i in range(d):
        scaled: list[Array] = []
        for j in range(i):
            rest = A[i, j]
            for k in range(j):
                rest = rest - scaled[k] * L[j][k]
            scaled.append(rest)
            L[i].append(rest / D[j])
        pivot = A[i, i] + shift
        for k in range(i):
            pivot = pivot - scaled[k] * L[i][k]
        D.append(jnp.maximum(pivot, tiny))
    down = _substituted(L, [-b[i] for i in range(d)])
    y = _substituted_back(L, [down[i] / D[i] for i in range(d)])
    half = _substituted(L, y)
    descent = half[0] * half[0] / D[0]
    for i in range(1, d):
        descent = descent + half[i] * half[i] / D[i]
    return jnp.stack(y), descent


def _substituted(L: list[list[Array]], x: list[Array]) -> list[Array]:
    """L^-1 x for a unit lower triangle."""
    found: list[Array] = []
    for i, rest in enumerate(x):
        for k in range(i):
            rest = rest - L[i][k] * found[k]
        found.append(rest)
    return found


def _substituted_back(L: list[list[Array]], x: list[Array]) -> list[Array]:
    """L^-T x."""
    found = list(x)
    for i in range(len(x) - 1, -1, -1):
        for k in range(i + 1, len(x)):
            found[i] = found[i] - L[k][i] * found[k]
    return found
