"""Pieces of which surfaces consist, in the geom's frame: planes and quadrics, one row of a table each.

A quadric is the set where `sum_k ((x_k - c_k) / a_k)^2 = 1` over the axes that count; a plane the set where
`n . x = d`. Their numbers are components of the geom's size, so that a row is made of constants.
"""

from __future__ import annotations

import enum
import functools
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxsim.collision.vec import Vec
from jaxsim.math import safe
from jaxsim.math.constants import MINVAL

__all__ = ["Feature", "Quadratic", "meet_plane", "meet_quadric", "quadratic", "surface_numbers"]


class Feature(enum.IntEnum):
    """Where a ray meets a surface; `FAR` is the second crossing of a quadric, met from inside."""

    PLANE = 0
    FACE_XN = 1
    FACE_XP = 2
    FACE_YN = 3
    FACE_YP = 4
    FACE_ZN = 5
    FACE_ZP = 6
    END_ZN = 7
    END_ZP = 8
    SPHERE = 9
    SPHERE_FAR = 10
    ELLIPSOID = 11
    ELLIPSOID_FAR = 12
    SIDE = 13
    SIDE_FAR = 14
    CAP_ZN = 15
    CAP_ZN_FAR = 16
    CAP_ZP = 17
    CAP_ZP_FAR = 18
    TRIANGLE = 19
    FIELD = 20


class _Row(NamedTuple):
    """One feature.

    Attributes:
      normal: of a plane; zero for quadrics.
      offset: which size is the plane's offset d; -1: 0.
      axes: which size is each semi-axis of a quadric; -1: the axis does not count.
      centre: sign of the z coordinate of a quadric's centre, in units of the second size.
      far: the second crossing.
    """

    normal: tuple[float, float, float] = (0, 0, 0)
    offset: int = -1
    axes: tuple[int, int, int] = (-1, -1, -1)
    centre: float = 0
    far: bool = False


_ROUND, _TUBE = (0, 0, 0), (0, 0, -1)

_ROWS: dict[Feature, _Row] = {
    Feature.PLANE: _Row((0, 0, 1)),
    Feature.FACE_XN: _Row((-1, 0, 0), 0),
    Feature.FACE_XP: _Row((1, 0, 0), 0),
    Feature.FACE_YN: _Row((0, -1, 0), 1),
    Feature.FACE_YP: _Row((0, 1, 0), 1),
    Feature.FACE_ZN: _Row((0, 0, -1), 2),
    Feature.FACE_ZP: _Row((0, 0, 1), 2),
    Feature.END_ZN: _Row((0, 0, -1), 1),
    Feature.END_ZP: _Row((0, 0, 1), 1),
    Feature.SPHERE: _Row(axes=_ROUND),
    Feature.SPHERE_FAR: _Row(axes=_ROUND, far=True),
    Feature.ELLIPSOID: _Row(axes=(0, 1, 2)),
    Feature.ELLIPSOID_FAR: _Row(axes=(0, 1, 2), far=True),
    Feature.SIDE: _Row(axes=_TUBE),
    Feature.SIDE_FAR: _Row(axes=_TUBE, far=True),
    Feature.CAP_ZN: _Row(axes=_ROUND, centre=-1),
    Feature.CAP_ZN_FAR: _Row(axes=_ROUND, centre=-1, far=True),
    Feature.CAP_ZP: _Row(axes=_ROUND, centre=1),
    Feature.CAP_ZP_FAR: _Row(axes=_ROUND, centre=1, far=True),
    Feature.TRIANGLE: _Row(),
    Feature.FIELD: _Row(),
}


@functools.cache
def _table() -> np.ndarray:
    """Numbers of each feature (nfeature, 20): normal, offsets and semi-axes by sizes, axes that count, centre, far."""
    table = []
    for feature in Feature:
        row = _ROWS[feature]
        chosen = np.zeros((4, 3))
        for at, size in zip(chosen, (row.offset, *row.axes), strict=True):
            at[size] = size >= 0
        count = [float(a >= 0) for a in row.axes]
        table.append([*row.normal, *chosen.reshape(-1), *count, row.centre, row.far])
    return np.array(table)


class Surface(NamedTuple):
    """The piece that each ray meets; components of any one shape.

    Attributes:
      normal: of planes, zero for quadrics.
      offset: of planes.
      scale: one over semi-axis of quadrics, 0 where an axis does not count.
      centre: z coordinate of a quadric's centre.
      far: whether the second crossing is meant.
      flat: whether the piece is a plane.
    """

    normal: Vec
    offset: Array
    scale: Vec
    centre: Array
    far: Array
    flat: Array


def surface_numbers(feature: Array, size: Vec) -> Surface:
    """The pieces that features, of any shape, stand for on geoms of given sizes."""
    row = jnp.moveaxis(jnp.asarray(_table(), size.x.dtype)[feature], -1, 0)
    offset, a, b, c = (size.dot(Vec(*row[k : k + 3])) for k in (3, 6, 9, 12))
    counts = Vec(*row[15:18])
    flat = counts.x == 0  # then the quadric is the unit sphere, so that all numbers are finite
    scale = Vec(
        *(jnp.where(flat, 1, k / jnp.where(k > 0, s, 1)) for k, s in zip(counts, (a, b, c), strict=True))
    )
    return Surface(Vec(*row[:3]), offset, scale, row[18] * size.y, row[19] > 0, flat)


class Quadratic(NamedTuple):
    """Crossings `near <= far` of a line and a quadric, as parameters of the line; `some`: there are any."""

    near: Array
    far: Array
    some: Array


def quadratic(p: Vec, v: Vec, least: float = MINVAL) -> Quadratic:
    """Where lines p + t v cross the unit sphere; none if v is shorter than the root of `least`."""
    a, b, c = v.dot(v), p.dot(v), p.dot(p) - 1
    discriminant = b * b - a * c
    some = (discriminant >= 0) & (a >= least)
    root = safe.sqrt(discriminant)
    a = jnp.where(a >= least, a, 1)
    return Quadratic((-b - root) / a, (-b + root) / a, some)


def meet_quadric(piece: Surface, p: Vec, v: Vec) -> tuple[Array, Vec]:
    """Parameter t at which rays meet quadrics, and normals there (not of unit length)."""
    scale = piece.scale
    q = Vec(p.x * scale.x, p.y * scale.y, (p.z - piece.centre) * scale.z)
    w = Vec(v.x * scale.x, v.y * scale.y, v.z * scale.z)
    crossing = quadratic(q, w, 0.0)
    t = jnp.where(piece.far, crossing.far, crossing.near)
    x = q + w * t
    return t, Vec(x.x * scale.x, x.y * scale.y, x.z * scale.z)


def meet_plane(normal: Vec, offset: Array, p: Vec, v: Vec) -> Array:
    """Parameter t at which rays meet planes; 0 where they are parallel."""
    return safe.divide(offset - normal.dot(p), normal.dot(v))
