"""Friction pyramids: from the axes of contact frames to edges and back. Native layout.

A pyramid of a contact of dimension dim has the `2 (dim - 1)` edges `n + mu_k t_k`, `n - mu_k t_k` (Computation chapter,
"Friction cones"). Jacobians, residuals and references of edges are these combinations of those along the frame's axes;
forces go the other way. A contact without friction has one edge, its normal.
"""

from __future__ import annotations

import functools

import jax.numpy as jnp
from jax import Array

from jaxsim.math.axis import components, split
from jaxsim.math.stage import stage
from jaxsim.solver.curvature import Curvature

__all__ = ["curvature", "edges", "forces"]


def edges(friction: Array, along: Array) -> Array:
    """Values of edges, `(k, W)`, from values along the frames' axes, `(n, dim, W)`; friction `(n, dim - 1, W)`."""
    if not friction.shape[1]:
        return along[:, 0]
    normal, tangent = split(along, [1, friction.shape[1]], axis=1)
    tangent = friction * tangent
    both = jnp.stack([normal + tangent, normal - tangent], axis=2)
    return both.reshape(-1, both.shape[-1])


@stage
def forces(friction: Array, f: Array) -> Array:
    """Forces along the frames' axes, `(n, dim, W)`, of forces of edges, `(k, W)`; the transpose of `edges`."""
    n, k = friction.shape[:2]
    if not k:
        return f[:, None]
    plus, minus = components(f.reshape(n, k, 2, f.shape[-1]))
    normal = functools.reduce(jnp.add, split(plus + minus, [1] * k, axis=1))
    return jnp.concatenate([normal, friction * (plus - minus)], axis=1)


def curvature(friction: Array, c: Array) -> Curvature:
    """Curvature along the frames' axes from that of edges, `(k, W)`."""
    n, k = friction.shape[:2]
    if not k:
        return [[c]]
    plus, minus = components(c.reshape(n, k, 2, c.shape[-1]))
    sums, differences = components(plus + minus, axis=1), components(plus - minus, axis=1)
    C: Curvature = [[None] * (k + 1) for _ in range(k + 1)]
    C[0][0] = functools.reduce(jnp.add, sums)
    for i, mu in enumerate(components(friction, axis=1)):
        C[0][i + 1] = C[i + 1][0] = mu * differences[i]
        C[i + 1][i + 1] = mu * mu * sums[i]
    return C
