"""Mass of the medium that an ellipsoid moves along with it (computation chapter, fluid forces, ellipsoid model)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import jax.numpy as jnp
import numpy as np

__all__ = ["added_mass"]

_LEAST = 1e-14
"""Least denominator."""


def added_mass(axes: Any, xp: Any = jnp) -> tuple[list[Any], list[Any]]:
    """Virtual masses along three axes, m^3, and moments of inertia about them, m^5: per unit of density.

    Args:
      axes: the semiaxes, three arrays of one shape, m.
      xp: numpy or `jax.numpy`.
    """
    volume = 4.0 / 3.0 * np.pi * axes[0] * axes[1] * axes[2]
    kappa = [_kappa([axes[(i + k) % 3] for k in range(3)], xp) for i in range(3)]
    mass = [volume * k / xp.maximum(_LEAST, 2 - k) for k in kappa]
    inertia = []
    for i in range(3):
        u, v = (i + 1) % 3, (i + 2) % 3
        uu, vv = axes[u] ** 2, axes[v] ** 2
        scale = xp.abs(2 * (uu - vv) + (uu + vv) * (kappa[u] - kappa[v]))
        inertia.append(volume * (uu - vv) ** 2 * xp.abs(kappa[v] - kappa[u]) / xp.maximum(_LEAST, scale) / 5)
    return mass, inertia


@cache
def _quadrature() -> tuple[np.ndarray, np.ndarray]:
    """Nodes and weights on [0, inf): 15-point Gauss-Kronrod after l = x^3 / (1 - x)^2.

    The values are rounded as the C compiler has them, because the sum is compared with it to 1e-6.
    """
    x = np.array([0.00427231, 0.02544604, 0.06756779, 0.12923441, 0.20695638, 0.29707742, 0.39610752])
    w = np.array([0.01146766, 0.03154605, 0.05239501, 0.07032663, 0.08450236, 0.09517529, 0.10221647])
    x = np.concatenate([x, [0.5], 1 - x[::-1]])
    w = np.concatenate([w, [0.10474107], w[::-1]])
    return x**3 / (1 - x) ** 2, w * x**2 * (3 - x) / (1 - x) ** 3


def _kappa(axes: Sequence[Any], xp: Any) -> Any:
    """Returns a b c times the integral of 1 / sqrt((a^2 + l)^3 (b^2 + l) (c^2 + l)) over l from 0 to infinity."""
    a, b, c = axes
    scale, total = (a**3 * b * c) ** 0.4, 0.0
    for node, weight in zip(*_quadrature(), strict=True):
        p, q, r = (1 + scale * float(node) / axis**2 for axis in axes)
        total = total + float(weight) / (p * xp.sqrt(p * q * r))
    return scale * total / a**2
