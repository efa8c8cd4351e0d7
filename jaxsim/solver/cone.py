"""Cost, force and curvature of constraint rows as functions of their residuals. Native layout.

Scalar rows and pyramid edges: `f = clip(-D r, low, high)`. Elliptic cones: the dual cone in scaled coordinates
`U = (mu r_0, mu_1 r_1, ...)` with `N = U_0`, `T = |U_1..|` has a top zone (no force, `N >= mu T`), a bottom zone
(quadratic, `mu N + T <= 0`) and between them a cost in the distance to the cone, `(N - mu T)^2`
(Computation chapter, "Constraint solver", and "Friction cones").
"""

from __future__ import annotations

import jax.numpy as jnp
from jax import Array

from jaxsim.solver.jacobian import ContactRows, ScalarRows

__all__ = [
    "NOT_QUADRATIC",
    "contact_cost",
    "contact_curvature",
    "contact_force",
    "contact_zone",
    "row_forces",
    "scalar_cost",
    "scalar_curvature",
    "scalar_force",
    "scalar_zone",
]


NOT_QUADRATIC = 2
"""The zone in which the cost of an elliptic cone is not quadratic."""


def scalar_force(rows: ScalarRows, r: Array) -> Array:
    """Forces of scalar rows `(k, W)`."""
    f = -rows.D * r
    return jnp.where(f >= rows.high, rows.high, jnp.where(f <= rows.low, rows.low, f))


def scalar_zone(rows: ScalarRows, r: Array) -> Array:
    """-1 or 1 where the force is at a bound, 0 between, `(k, W)`."""
    f = -rows.D * r
    return jnp.where(f >= rows.high, 1, jnp.where(f <= rows.low, -1, 0)).astype(jnp.int8)


def scalar_curvature(rows: ScalarRows, r: Array) -> Array:
    """Second derivative of the cost, `(k, W)`."""
    f = -rows.D * r
    return jnp.where((f > rows.low) & (f < rows.high), rows.D, 0)


def scalar_cost(rows: ScalarRows, r: Array) -> Array:
    """Cost of each row, `-f r - R f^2 / 2`, `(k, W)`."""
    f = scalar_force(rows, r)
    return -f * r - 0.5 * rows.R * f * f


def contact_force(rows: ContactRows, r: Array) -> Array:
    """Contact forces in the contact frame, `(n, dim, W)`."""
    if rows.dim == 1:
        return jnp.maximum(-rows.D * r, 0)
    if rows.elliptic:
        return _elliptic_force(rows, r)
    plus, minus = _edges(rows, r)
    return jnp.concatenate([jnp.sum(plus + minus, axis=1, keepdims=True), rows.friction * (plus - minus)], axis=1)


def row_forces(rows: ContactRows, r: Array) -> Array:
    """Forces by row as the C engine orders them, edges of pyramids in pairs, `(rows, W)`."""
    if rows.dim == 1 or rows.elliptic:
        f = contact_force(rows, r)
    else:
        f = jnp.stack(_edges(rows, r), axis=2)
    return f.reshape(-1, f.shape[-1])


def contact_zone(rows: ContactRows, r: Array) -> Array:
    """Which piece of the cost each contact is on; `(n, ..., W)`."""
    if rows.dim == 1:
        return (-rows.D * r > 0).astype(jnp.int8)
    if rows.elliptic:
        top, bottom, _, _ = _elliptic_zone(rows, r)
        return jnp.where(top, 0, jnp.where(bottom, 1, NOT_QUADRATIC)).astype(jnp.int8)
    return (jnp.stack(_edges(rows, r), axis=1) > 0).astype(jnp.int8)


def contact_curvature(rows: ContactRows, r: Array) -> list[list[Array | None]]:
    """Second derivative of the cost by base rows, `dim x dim` arrays `(n, W)`; None where it is zero."""
    if rows.dim == 1:
        return [[jnp.where(-rows.D * r > 0, rows.D, 0)[:, 0]]]
    if rows.elliptic:
        return _elliptic_curvature(rows, r)
    plus, minus = (jnp.where(edge > 0, rows.D, 0) for edge in _edges(rows, r))
    n = rows.dim - 1
    C: list[list[Array | None]] = [[None] * rows.dim for _ in range(rows.dim)]
    total = plus[:, 0] + minus[:, 0]
    for k in range(1, n):
        total = total + plus[:, k] + minus[:, k]
    C[0][0] = total
    for k in range(n):
        mu = rows.friction[:, k]
        C[0][k + 1] = C[k + 1][0] = mu * (plus[:, k] - minus[:, k])
        C[k + 1][k + 1] = mu * mu * (plus[:, k] + minus[:, k])
    return C


def contact_cost(rows: ContactRows, r: Array) -> Array:
    """Cost of each contact, `(n, W)`."""
    if rows.elliptic:
        top, bottom, N, T = _elliptic_zone(rows, r)
        quadratic = 0.5 * jnp.sum(rows.D * r * r, axis=1)
        middle = 0.5 * _elliptic_stiffness(rows) * (N - rows.mu * T) ** 2
        return jnp.where(top, 0, jnp.where(bottom, quadratic, middle))
    if rows.dim == 1:
        push = jnp.minimum(r, 0)
        return 0.5 * jnp.sum(rows.D * push * push, axis=1)
    first, rest = r[:, :1], rows.friction * r[:, 1:]
    plus, minus = jnp.minimum(first + rest, 0), jnp.minimum(first - rest, 0)
    return 0.5 * jnp.sum(rows.D * (plus * plus + minus * minus), axis=1)


def _edges(rows: ContactRows, r: Array) -> tuple[Array, Array]:
    """Forces of the pyramid edges `n + mu_k t_k` and `n - mu_k t_k`, each `(n, dim - 1, W)`."""
    first, rest = r[:, :1], rows.friction * r[:, 1:]
    return jnp.maximum(-rows.D * (first + rest), 0), jnp.maximum(-rows.D * (first - rest), 0)


def _elliptic_stiffness(rows: ContactRows) -> Array:
    """Second derivative of the middle zone's cost by `N - mu T`, `(n, W)`."""
    square = rows.mu * rows.mu
    return rows.D[:, 0] / (square * (1 + square))


def _elliptic_zone(rows: ContactRows, r: Array) -> tuple[Array, Array, Array, Array]:
    """Whether in the top and in the bottom zone, and N and T, each `(n, W)`."""
    N = rows.mu * r[:, 0]
    U = rows.friction * r[:, 1:]
    square = jnp.sum(U * U, axis=1)
    sliding = square > 0
    T = jnp.where(sliding, jnp.sqrt(jnp.where(sliding, square, 1)), 0)
    top = (N >= rows.mu * T) | (rows.D[:, 0] == 0)
    return top, rows.mu * N + T <= 0, N, T


def _direction(rows: ContactRows, r: Array, T: Array) -> Array:
    """Unit vector of U's tangential part, 0 at T = 0, `(n, dim - 1, W)`."""
    return rows.friction * r[:, 1:] / jnp.where(T > 0, T, 1)[:, None]


def _elliptic_force(rows: ContactRows, r: Array) -> Array:
    top, bottom, N, T = _elliptic_zone(rows, r)
    push = -_elliptic_stiffness(rows) * (N - rows.mu * T) * rows.mu
    middle = jnp.concatenate([push[:, None], -push[:, None] * _direction(rows, r, T) * rows.friction], axis=1)
    return jnp.where(top[:, None], 0, jnp.where(bottom[:, None], -rows.D * r, middle))


def _elliptic_curvature(rows: ContactRows, r: Array) -> list[list[Array | None]]:
    top, bottom, N, T = _elliptic_zone(rows, r)
    u = _direction(rows, r, T)
    mu = rows.mu
    ratio = mu * N / jnp.where(T > 0, T, 1)
    stiffness = _elliptic_stiffness(rows)
    scale = [mu, *(rows.friction[:, k] for k in range(rows.dim - 1))]
    C: list[list[Array | None]] = [[None] * rows.dim for _ in range(rows.dim)]
    for i in range(rows.dim):
        for j in range(i, rows.dim):
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
