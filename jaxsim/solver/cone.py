"""Cost, force and curvature of constraint rows as functions of their residuals. Native layout.

Scalar rows and pyramid edges: `f = clip(-D r, low, high)`. Elliptic cones: the dual cone in scaled coordinates
`U = (mu r_0, mu_1 r_1, ...)` with `N = U_0`, `T = |U_1..|` has a top zone (no force, `N >= mu T`), a bottom zone
(quadratic, `mu N + T <= 0`) and between them a cost in the distance to the cone, `(N - mu T)^2`
(Computation chapter, "Constraint solver", and "Friction cones").
"""

from __future__ import annotations

import jax.numpy as jnp
from jax import Array

from jaxsim.math import safe
from jaxsim.solver.jacobian import Curvature
from jaxsim.solver.rows import Cones, Rows

__all__ = [
    "NOT_QUADRATIC",
    "cone_cost",
    "cone_curvature",
    "cone_force",
    "cone_zone",
    "scalar_cost",
    "scalar_curvature",
    "scalar_force",
    "scalar_zone",
]

NOT_QUADRATIC = 2
"""The zone in which the cost of an elliptic cone is not quadratic."""


def scalar_force(rows: Rows, r: Array) -> Array:
    """Forces of scalar rows `(k, W)`."""
    f = -rows.D * r
    return jnp.where(f >= rows.high, rows.high, jnp.where(f <= rows.low, rows.low, f))


def scalar_zone(rows: Rows, r: Array) -> Array:
    """-1 or 1 where the force is at a bound, 0 between or where it has no choice, `(k, W)`."""
    f = -rows.D * r
    zone = jnp.where(f >= rows.high, 1, jnp.where(f <= rows.low, -1, 0))
    return jnp.where(rows.low < rows.high, zone, 0)


def scalar_curvature(rows: Rows, r: Array) -> Array:
    """Second derivative of the cost, `(k, W)`."""
    f = -rows.D * r
    return jnp.where((f > rows.low) & (f < rows.high), rows.D, 0)


def scalar_cost(rows: Rows, r: Array) -> Array:
    """Cost of each row, `-f r - f^2 / (2 D)`, `(k, W)`."""
    f = scalar_force(rows, r)
    return -f * r - 0.5 * f * f / jnp.where(rows.D > 0, rows.D, 1)


def cone_force(rows: Cones, r: Array) -> Array:
    """Contact forces in base rows, `(n, dim, W)`."""
    top, bottom, N, T = _zones(rows, r)
    push = -_stiffness(rows) * (N - rows.mu * T) * rows.mu
    middle = jnp.concatenate([push[:, None], -push[:, None] * _direction(rows, r, T) * rows.friction], axis=1)
    return jnp.where(top[:, None], 0, jnp.where(bottom[:, None], -rows.D * r, middle))


def cone_zone(rows: Cones, r: Array) -> Array:
    """0 in the top zone, 1 in the bottom zone, NOT_QUADRATIC between, `(n, W)`."""
    top, bottom, _, _ = _zones(rows, r)
    return jnp.where(top, 0, jnp.where(bottom, 1, NOT_QUADRATIC))


def cone_cost(rows: Cones, r: Array) -> Array:
    """Cost of each contact, `(n, W)`."""
    top, bottom, N, T = _zones(rows, r)
    quadratic = 0.5 * jnp.sum(rows.D * r * r, axis=1)
    middle = 0.5 * _stiffness(rows) * (N - rows.mu * T) ** 2
    return jnp.where(top, 0, jnp.where(bottom, quadratic, middle))


def cone_curvature(rows: Cones, r: Array) -> Curvature:
    """Second derivative of the cost by base rows."""
    top, bottom, N, T = _zones(rows, r)
    u = _direction(rows, r, T)
    mu = rows.mu
    ratio = mu * N / jnp.where(T > 0, T, 1)
    stiffness = _stiffness(rows)
    dim = r.shape[1]
    scale = [mu, *(rows.friction[:, k] for k in range(dim - 1))]
    C: Curvature = [[None] * dim for _ in range(dim)]
    for i in range(dim):
        for j in range(i, dim):
            if i == 0:
                middle = jnp.ones_like(N) if j == 0 else -mu * u[:, j - 1]
            else:
                middle = ratio * u[:, i - 1] * u[:, j - 1]
                if i == j:
                    middle = middle + mu * mu - ratio
            middle = middle * scale[i] * scale[j] * stiffness
            quadratic = rows.D[:, i] if i == j else 0
            C[i][j] = C[j][i] = jnp.where(top, 0, jnp.where(bottom, quadratic, middle))
    return C


def _stiffness(rows: Cones) -> Array:
    """Second derivative of the middle zone's cost by `N - mu T`, `(n, W)`."""
    square = rows.mu * rows.mu
    return rows.D[:, 0] / (square * (1 + square))


def _zones(rows: Cones, r: Array) -> tuple[Array, Array, Array, Array]:
    """Whether in the top and in the bottom zone, and N and T, each `(n, W)`."""
    N = rows.mu * r[:, 0]
    T = safe.norm(rows.friction * r[:, 1:])
    top = (rows.mu * T <= N) | (rows.D[:, 0] == 0)
    return top, rows.mu * N + T <= 0, N, T


def _direction(rows: Cones, r: Array, T: Array) -> Array:
    """Unit vector of U's tangential part, 0 at T = 0, `(n, dim - 1, W)`."""
    return rows.friction * r[:, 1:] / jnp.where(T > 0, T, 1)[:, None]
