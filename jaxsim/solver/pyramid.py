"""Friction pyramids: from the axes of contact frames to edges and back. Native layout.

A pyramid of a contact of dimension dim has the `2 (dim - 1)` edges `n + mu_k t_k`, `n - mu_k t_k` (Computation chapter,
"Friction cones"). Jacobians, residuals and references of edges are these combinations of those along the frame's axes;
forces go the other way. A contact without friction has one edge, its normal.
"""

from __future__ import annotations

import jax.numpy as jnp
from jax import Array

__all__ = ["Curvature", "curvature", "edges", "forces"]

Curvature = list[list[Array | None]]
"""Second derivatives of the cost by the axes of contact frames, `dim x dim` arrays `(n, W)`; None: zero."""


def edges(friction: Array, along: Array) -> Array:
    """Values of edges, `(k, W)`, from values along the frames' axes, `(n, dim, W)`; friction `(n, dim - 1, W)`."""
    if not friction.shape[1]:
        return along[:, 0]
    normal, tangent = along[:, :1], friction * along[:, 1:]
    both = jnp.stack([normal + tangent, normal - tangent], axis=2)
    return both.reshape(-1, both.shape[-1])


def forces(friction: Array, f: Array) -> Array:
    """Forces along the frames' axes, `(n, dim, W)`, of forces of edges, `(k, W)`; the transpose of `edges`."""
    n, k = friction.shape[:2]
    if not k:
        return f[:, None]
    f = f.reshape(n, k, 2, f.shape[-1])
    normal = f[:, 0, 0] + f[:, 0, 1]
    for i in range(1, k):
        normal = normal + f[:, i, 0] + f[:, i, 1]
    return jnp.concatenate([normal[:, None], friction * (f[:, :, 0] - f[:, :, 1])], axis=1)


def curvature(friction: Array, c: Array) -> Curvature:
    """Curvature along the frames' axes from that of edges, `(k, W)`."""
    n, k = friction.shape[:2]
    if not k:
        return [[c]]
    c = c.reshape(n, k, 2, c.shape[-1])
    plus, minus = c[:, :, 0], c[:, :, 1]
    both = plus + minus
    C: Curvature = [[None] * (k + 1) for _ in range(k + 1)]
    total = both[:, 0]
    for i in range(1, k):
        total = total + both[:, i]
    C[0][0] = total
    for i in range(k):
        mu = friction[:, i]
        C[0][i + 1] = C[i + 1][0] = mu * (plus[:, i] - minus[:, i])
        C[i + 1][i + 1] = mu * mu * both[:, i]
    return C
