"""Volume, centre of mass and inertia of a mesh of unit density.

Sums run in the order of the faces, as in C: for a symmetric mesh the principal axes depend on rounding.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from jaxsim.math.constants import MINVAL

__all__ = ["Corners", "centroid", "products", "solid_center", "surface_center"]


@dataclass(eq=False)
class Corners:
    """The triangles of a mesh: corners `a`, `b`, `c`, centres and unit normals (n, 3), areas (n,)."""

    a: np.ndarray
    b: np.ndarray
    c: np.ndarray
    center: np.ndarray
    normal: np.ndarray
    area: np.ndarray

    @classmethod
    def of(cls, vert: np.ndarray, face: np.ndarray) -> Corners:
        """Takes vertices (nvert, 3) and faces (n, 3); a triangle without area counts as nothing."""
        a, b, c = vert[face[:, 0]], vert[face[:, 1]], vert[face[:, 2]]
        u, v = b - a, c - a
        cross = np.stack(
            [
                u[:, 1] * v[:, 2] - u[:, 2] * v[:, 1],
                u[:, 2] * v[:, 0] - u[:, 0] * v[:, 2],
                u[:, 0] * v[:, 1] - u[:, 1] * v[:, 0],
            ],
            axis=1,
        )
        length = np.sqrt(_dot(cross, cross))
        small = length < MINVAL
        normal = np.where(small[:, None], cross, cross / np.where(small, 1.0, length)[:, None])
        return cls(a, b, c, (a + b + c) / 3, normal, np.where(small, 0.0, 0.5 * length))


def _dot(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return a[:, 0] * b[:, 0] + a[:, 1] * b[:, 1] + a[:, 2] * b[:, 2]


def _total(values: np.ndarray) -> np.ndarray:
    """Sums along the first axis, one term after the other."""
    return np.add.accumulate(values, axis=0)[-1]


def centroid(t: Corners) -> tuple[np.ndarray, float]:
    """Returns the centroid (3,) of the surface and its area."""
    area = float(_total(t.area))
    center = _total(t.area[:, None] * t.center)
    return (center / area if area >= MINVAL else center), area


def solid_center(t: Corners, origin: np.ndarray, positive: bool) -> tuple[np.ndarray, float]:
    """Returns the centre of mass (3,) and the volume, as a sum of pyramids over the faces.

    Args:
        t: the triangles.
        origin: (3,) apex of the pyramids.
        positive: whether pyramids that face the wrong way count as positive.
    """
    volume = _dot(t.center - origin, t.normal) * t.area / 3
    return _pyramids(t, origin, np.abs(volume) if positive else volume)


def surface_center(t: Corners, origin: np.ndarray) -> tuple[np.ndarray, float]:
    """Returns the centre (3,) that the C compiler gives a shell, and its area."""
    return _pyramids(t, origin, t.area)


def _pyramids(t: Corners, origin: np.ndarray, weight: np.ndarray) -> tuple[np.ndarray, float]:
    total = float(_total(weight))
    center = _total(weight[:, None] * (t.center * 3.0 / 4.0 + origin / 4.0))
    return (center / total if total >= MINVAL else center), total


def products(t: Corners, shell: bool, positive: bool) -> tuple[tuple[float, ...], float]:
    """Returns the inertia (xx, yy, zz, xy, xz, yz) about the origin, and the volume or area.

    Args:
        t: the triangles, relative to the centre of mass.
        shell: whether the mass is on the surface.
        positive: whether pyramids that face the wrong way count as positive.
    """
    weight = t.area if shell else _dot(t.center, t.normal) * t.area / 3
    if positive and not shell:
        weight = np.abs(weight)
    scale = weight / (12 if shell else 20)
    d, e, f = t.a.T, t.b.T, t.c.T
    sums = []
    for i, j in ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2)):
        terms = scale * (
            2 * (d[i] * d[j] + e[i] * e[j] + f[i] * f[j])
            + d[i] * e[j]
            + d[j] * e[i]
            + d[i] * f[j]
            + d[j] * f[i]
            + e[i] * f[j]
            + e[j] * f[i]
        )
        sums.append(float(_total(terms)))
    xx, yy, zz, xy, xz, yz = sums
    return (yy + zz, xx + zz, xx + yy, -xy, -xz, -yz), float(_total(weight))
