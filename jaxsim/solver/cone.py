"""Cost, force and curvature of constraint rows as functions of their residuals. Native layout.

Scalar rows and pyramid edges: `f = clip(-D r, low, high)`. Elliptic cones: the dual cone in scaled coordinates
`U = (mu r_0, mu_1 r_1, ...)` with `N = U_0`, `T = |U_1..|` has a top zone (no force, `N >= mu T`), a bottom zone
(quadratic, `mu N + T <= 0`) and between them a cost in the distance to the cone, `(N - mu T)^2`
(Computation chapter, "Constraint solver", and "Friction cones").
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from jaxsim.math import safe
from jaxsim.math.axis import components
from jaxsim.solver.curvature import Curvature
from jaxsim.solver.rows import Cones, Rows

__all__ = [
    "NOT_QUADRATIC",
    "Zones",
    "cone_cost",
    "cone_curvature",
    "cone_force",
    "cone_slope",
    "cone_zone",
    "scalar_cost",
    "scalar_curvature",
    "scalar_force",
    "scalar_slope",
    "scalar_zone",
    "zones",
]

NOT_QUADRATIC = 2
"""The zone in which the cost of an elliptic cone is not quadratic."""


class _Bounded(NamedTuple):
    """What rows' forces follow from, as in `Rows`."""

    D: Array
    low: Array
    high: Array


def scalar_force(rows: Rows | _Bounded, r: Array) -> Array:
    """Forces of scalar rows `(k, W)`; where no force is asked for and none allowed, its derivative is zero."""
    f = -rows.D * r
    high = jnp.where(f == 0, lax.stop_gradient(rows.high), rows.high)
    return jnp.where(f >= high, high, jnp.where(f <= rows.low, rows.low, f))


def scalar_zone(rows: Rows, r: Array) -> Array:
    """-1 or 1 where the force is at a bound, 0 between or where it has no choice, `(k, W)`."""
    f = -rows.D * r
    zone = jnp.where(f >= rows.high, 1, jnp.where(f <= rows.low, -1, 0))
    return jnp.where(rows.low < rows.high, zone, 0)


def scalar_curvature(rows: Rows | _Bounded, r: Array) -> Array:
    """Second derivative of the cost, `(k, W)`."""
    f = -rows.D * r
    return jnp.where((f > rows.low) & (f < rows.high), rows.D, 0)


def scalar_cost(rows: Rows, r: Array) -> Array:
    """Cost of each row, `-f r - f^2 / (2 D)`, `(k, W)`."""
    f = scalar_force(rows, r)
    return -f * r - 0.5 * f * f / jnp.where(rows.D > 0, rows.D, 1)


def scalar_slope(D: Array, low: Array, high: Array, r: Array, along: Array, t: Array) -> tuple[Array, Array]:
    """First and second derivative by t of each row's cost at `r + t along`."""
    rows, at = _Bounded(D, low, high), r + t * along
    return -scalar_force(rows, at) * along, scalar_curvature(rows, at) * along * along


def cone_slope(
    D: Sequence[Array],
    friction: Sequence[Array],
    mu: Array,
    r: Sequence[Array],
    along: Sequence[Array],
    t: Array,
) -> tuple[Array, Array]:
    """First and second derivative by t of each elliptic contact's cost at `r + t along`; components by axis."""
    at = [a + t * b for a, b in zip(r, along, strict=True)]
    N, N_t = mu * at[0], mu * along[0]
    v = [f * x for f, x in zip(friction, at[1:], strict=True)]
    v_t = [f * x for f, x in zip(friction, along[1:], strict=True)]
    T = jnp.sqrt(_dot(v, v))
    inverse = 1 / jnp.where(T > 0, T, 1)
    T_t = inverse * _dot(v, v_t)
    T_tt = inverse * (_dot(v_t, v_t) - T_t * T_t)
    top, bottom = (mu * T <= N) | (D[0] == 0), mu * N + T <= 0
    off, off_t = N - mu * T, N_t - mu * T_t
    stiffness = _stiffness(D[0], mu)
    scaled = [d * b for d, b in zip(D, along, strict=True)]
    middle = stiffness * off * off_t, stiffness * (off_t * off_t - off * mu * T_tt)
    quadratic = _dot(scaled, at), _dot(scaled, along)
    first, second = (
        jnp.where(top, 0, jnp.where(bottom, q, m)) for q, m in zip(quadratic, middle, strict=True)
    )
    return first, second


def _dot(a: Sequence[Array], b: Sequence[Array]) -> Array:
    total = a[0] * b[0]
    for x, y in zip(a[1:], b[1:], strict=True):
        total = total + x * y
    return total


def cone_force(rows: Cones, r: Array) -> Array:
    """Contact forces along the axes of contact frames, `(n, dim, W)`."""
    at = zones(rows, r)
    push = -_stiffness(rows.D[:, 0], rows.mu) * (at.N - rows.mu * at.T) * rows.mu
    middle = jnp.concatenate([push[:, None], -push[:, None] * at.u * rows.friction], axis=1)
    return jnp.where(at.top[:, None], 0, jnp.where(at.bottom[:, None], -rows.D * r, middle))


def cone_zone(rows: Cones, r: Array) -> Array:
    """0 in the top zone, 1 in the bottom zone, NOT_QUADRATIC between, `(n, W)`."""
    at = zones(rows, r)
    return jnp.where(at.top, 0, jnp.where(at.bottom, 1, NOT_QUADRATIC))


def cone_cost(rows: Cones, r: Array) -> Array:
    """Cost of each contact, `(n, W)`."""
    at = zones(rows, r)
    quadratic = 0.5 * _dot(components(rows.D * r, axis=1), components(r, axis=1))
    middle = 0.5 * _stiffness(rows.D[:, 0], rows.mu) * (at.N - rows.mu * at.T) ** 2
    return jnp.where(at.top, 0, jnp.where(at.bottom, quadratic, middle))


def cone_curvature(rows: Cones, at: Zones) -> Curvature:
    """Second derivative of the cost along the axes of contact frames."""
    mu = rows.mu
    ratio = mu * at.N / at.T
    stiffness = _stiffness(rows.D[:, 0], rows.mu)
    dim = 1 + at.u.shape[1]
    scale = [mu, *(rows.friction[:, k] for k in range(dim - 1))]
    C: Curvature = [[None] * dim for _ in range(dim)]
    for i in range(dim):
        for j in range(i, dim):
            if i == 0:
                middle = jnp.ones_like(at.N) if j == 0 else -mu * at.u[:, j - 1]
            else:
                middle = ratio * at.u[:, i - 1] * at.u[:, j - 1]
                if i == j:
                    middle = middle + mu * mu - ratio
            middle = middle * scale[i] * scale[j] * stiffness
            quadratic = rows.D[:, i] if i == j else 0
            C[i][j] = C[j][i] = jnp.where(at.top, 0, jnp.where(at.bottom, quadratic, middle))
    return C


def _stiffness(D: Array, mu: Array) -> Array:
    """Second derivative of the middle zone's cost by `N - mu T`, of the normal's `D`, `(n, W)`."""
    square = mu * mu
    return D / (square * (1 + square))


class Zones(NamedTuple):
    """Where residuals are in the dual cone.

    Attributes:
      top: in the top zone, `(n, W)`.
      bottom: in the bottom zone, `(n, W)`.
      N: normal coordinate, `(n, W)`.
      T: length of the tangential coordinates, `(n, W)`.
      u: their direction, `(n, dim - 1, W)`.
    """

    top: Array
    bottom: Array
    N: Array
    T: Array
    u: Array


def zones(rows: Cones, r: Array) -> Zones:
    """Where the residuals are; outside the middle zone N, T and u are harmless numbers.

    What is not selected in the end must have finite derivatives of every order, also where nearly nothing slips.
    """
    N, tangent = rows.mu * r[:, 0], rows.friction * r[:, 1:]
    T = lax.stop_gradient(safe.norm(tangent))
    top = (rows.mu * T <= N) | (rows.D[:, 0] == 0)
    bottom = rows.mu * N + T <= 0
    middle = ~(top | bottom) & (T > 0)
    spare = jnp.asarray(np.arange(tangent.shape[1]) == 0, tangent.dtype)[:, None]
    u, T = safe.normalize(jnp.where(middle[:, None], tangent, spare))
    return Zones(top, bottom, jnp.where(middle, N, 0), T[:, 0], u)
