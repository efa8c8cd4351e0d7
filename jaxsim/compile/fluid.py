"""Coefficients of the ellipsoid fluid model of a geom: drag, lift and added mass."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np

from jaxsim.enums import GeomType
from jaxsim.mjcf.frames import EPS

__all__ = ["coefficients"]


def coefficients(type: GeomType, size: Sequence[float], given: Sequence[float]) -> tuple[float, ...]:
    """Returns the twelve numbers of `geom_fluid` for a geom that interacts as an ellipsoid.

    They are a flag, the five given coefficients, and the virtual mass and inertia per unit density of the medium
    (computation chapter, fluid forces, ellipsoid model).

    Args:
        type: the geom's type.
        size: its sizes.
        given: blunt drag, slender drag, angular drag, Kutta lift and Magnus lift.
    """
    axes = _semiaxes(type, size)
    volume = 4.0 / 3.0 * np.pi * axes[0] * axes[1] * axes[2]
    kappa = [_kappa(axes[i], axes[(i + 1) % 3], axes[(i + 2) % 3]) for i in range(3)]
    mass = [volume * k / max(EPS, 2 - k) for k in kappa]
    inertia = []
    for i in range(3):
        u, v = (i + 1) % 3, (i + 2) % 3
        uu, vv = axes[u] ** 2, axes[v] ** 2
        scale = abs(2 * (uu - vv) + (uu + vv) * (kappa[u] - kappa[v]))
        inertia.append(volume * (uu - vv) ** 2 * abs(kappa[v] - kappa[u]) / max(EPS, scale) / 5)
    return (1.0, *given, *mass, *inertia)


def _semiaxes(type: GeomType, size: Sequence[float]) -> tuple[float, float, float]:
    if type == GeomType.SPHERE:
        return (size[0], size[0], size[0])
    if type == GeomType.CAPSULE:
        return (size[0], size[0], size[0] + size[1])
    if type == GeomType.CYLINDER:
        return (size[0], size[0], size[1])
    return (size[0], size[1], size[2])


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


def _kappa(a: float, b: float, c: float) -> float:
    """Returns a b c times the integral of 1 / sqrt((a^2 + l)^3 (b^2 + l) (c^2 + l)) over l from 0 to infinity."""
    nodes, weights = _quadrature()
    scale = (a**3 * b * c) ** 0.4
    l = scale * nodes
    p, q, r = 1 + l / a**2, 1 + l / b**2, 1 + l / c**2
    return float(scale * np.sum(weights / (p * np.sqrt(p * q * r))) / a**2)
