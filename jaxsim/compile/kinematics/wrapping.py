"""Shortest paths around spheres and cylinders, for spatial tendons: n problems at once."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from jaxsim.enums import GeomType
from jaxsim.math.constants import MINVAL
from jaxsim.math.rotations import apply, cross

__all__ = ["Wrapped", "wrap"]

_INSIDE_ITERATIONS = 20
_INSIDE_TOLERANCE = 1e-6
_INSIDE_START = 1 - 1e-7

_CROSSED = -1e4
"""Merit of a side whose tangents cross; others lie above -4 squared radii."""


class Wrapped(NamedTuple):
    """Paths on surfaces.

    Attributes:
        length: (n,) on the surface, m; nan where the segment does not touch the geom.
        start: (n, 3) where the path comes to the surface.
        end: (n, 3) where it leaves it.
    """

    length: np.ndarray
    start: np.ndarray
    end: np.ndarray


def wrap(
    start: np.ndarray,
    end: np.ndarray,
    center: np.ndarray,
    axes: np.ndarray,
    radius: np.ndarray,
    type: np.ndarray,
    side: np.ndarray,
) -> Wrapped:
    """Wraps straight segments around geoms.

    Args:
        start: (n, 3) first ends of the segments, world frame.
        end: (n, 3) second ends.
        center: (n, 3) centres of the geoms.
        axes: (n, 3, 3) their orientations.
        radius: (n,) their radii, m.
        type: (n,) GeomType.SPHERE or GeomType.CYLINDER.
        side: (n, 3) points on the side where the path must pass; nan: there is none.
    """
    back = axes.swapaxes(-1, -2)
    p0, p1, local = (apply(back, point - center) for point in (start, end, side))
    cylinder = (type == GeomType.CYLINDER)[:, None]
    u, v = (
        np.where(cylinder, axis, other) for axis, other in zip(np.eye(3)[:2], _plane(p0, p1), strict=True)
    )
    end0, end1, aside = (np.stack([_dot(p, u), _dot(p, v)], -1) for p in (p0, p1, local))
    length, touch0, touch1 = _around(end0, end1, _unit(aside) * radius[:, None], radius)
    inside = _norm(local) < radius
    if inside.any():
        free, point = _inside(end0[inside], end1[inside], radius[inside])
        length[inside] = np.where(free, np.nan, 0.0)
        touch0[inside] = touch1[inside] = point
    length[(_norm(p0) < MINVAL) | (_norm(p1) < MINVAL)] = np.nan
    q0, q1 = (touch[:, :1] * u + touch[:, 1:] * v for touch in (touch0, touch1))
    before, after = _norm(end0 - touch0), _norm(end1 - touch1)
    slope = np.where(cylinder[:, 0], p1[:, 2] - p0[:, 2], 0.0) / (before + length + after)
    q0[:, 2] += np.where(cylinder[:, 0], p0[:, 2] + slope * before, 0.0)
    q1[:, 2] += np.where(cylinder[:, 0], p0[:, 2] + slope * (before + length), 0.0)
    return Wrapped(np.hypot(length, slope * length), apply(axes, q0) + center, apply(axes, q1) + center)


def _dot(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return (a * b).sum(-1)


def _norm(a: np.ndarray) -> np.ndarray:
    return np.sqrt(_dot(a, a))


def _unit(a: np.ndarray) -> np.ndarray:
    """Returns unit vectors; the first axis where there is no direction."""
    length = _norm(a)[:, None]
    return np.where(length < MINVAL, np.eye(a.shape[-1])[0], a / np.maximum(length, MINVAL))


def _plane(p0: np.ndarray, p1: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Returns two orthogonal unit vectors (n, 3) that span the plane of both points and the centre."""
    u = _unit(p0)
    normal = cross(p0, p1)
    flat = _norm(normal) < MINVAL
    if flat.any():
        other = np.where(np.arange(3) == np.abs(u[flat]).argmax(-1)[:, None], 0.0, 1.0)
        normal[flat] = cross(u[flat], other)
    return u, _unit(cross(_unit(normal), u))


def _crosses(a: np.ndarray, b: np.ndarray, c: np.ndarray, d: np.ndarray) -> np.ndarray:
    """Whether the segments ab and cd (n, 2) intersect."""
    ab, cd, ca = b - a, d - c, a - c
    det = cd[:, 1] * ab[:, 0] - cd[:, 0] * ab[:, 1]
    parallel = np.abs(det) < MINVAL
    det = np.where(parallel, 1.0, det)
    s = (cd[:, 0] * ca[:, 1] - cd[:, 1] * ca[:, 0]) / det
    t = (ab[:, 0] * ca[:, 1] - ab[:, 1] * ca[:, 0]) / det
    return ~parallel & (s >= 0) & (s <= 1) & (t >= 0) & (t <= 1)


def _arc(p: np.ndarray, q: np.ndarray, clockwise: np.ndarray, radius: np.ndarray) -> np.ndarray:
    """Returns the lengths of the arcs from p to q (n, 2) in the given sense."""
    angle = np.arccos(np.clip(_dot(_unit(p), _unit(q)), -1.0, 1.0))
    turn = p[:, 1] * q[:, 0] - p[:, 0] * q[:, 1]
    other = np.where(clockwise, turn > 0, turn < 0)
    return radius * np.where(other, 2 * np.pi - angle, angle)


def _around(
    end0: np.ndarray, end1: np.ndarray, side: np.ndarray, radius: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Wraps around circles about the origin: tangents from both ends, on the wanted or the shorter side.

    Args:
        end0: (n, 2) first ends.
        end1: (n, 2) second ends.
        side: (n, 2) points of the circles on the wanted side, nan where either will do.
        radius: (n,) radii.

    Returns:
        Lengths (n,) of the arcs, nan where the segment does not touch the circle, and the points of tangency (n, 2).
    """
    square0, square1, square = _dot(end0, end0), _dot(end1, end1), radius**2
    between = end1 - end0
    length = _dot(between, between)
    short = length < MINVAL
    free = (square0 < square) | (square1 < square) | (radius < MINVAL) | short
    along = np.clip(-_dot(between, end0) / np.where(short, 1.0, length), 0.0, 1.0)
    nearest = end0 + along[:, None] * between
    anywhere = np.isnan(side[:, 0])
    free |= (_dot(nearest, nearest) > square) & (anywhere | (_dot(side, nearest) >= 0))
    foot0, reach0 = _tangent(end0, square0, radius)
    foot1, reach1 = _tangent(end1, square1, radius)
    points, crossed, merit = [], [], []
    for sign in (1.0, -1.0):
        a, b = foot0 + sign * reach0, foot1 - sign * reach1
        points.append((a, b))
        crossed.append(_crosses(end0, a, end1, b))
        good = np.where(anywhere, -_dot(a - b, a - b), _dot(_unit(a + b), side))
        merit.append(np.where(crossed[-1], _CROSSED, good))
    second = merit[1] >= merit[0]
    a, b = (np.where(second[:, None], points[1][k], points[0][k]) for k in (0, 1))
    free |= np.where(second, crossed[1], crossed[0])
    return np.where(free, np.nan, _arc(a, b, second, radius)), a, b


def _tangent(end: np.ndarray, square: np.ndarray, radius: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The points where tangents from an end touch a circle are the sum and difference of these vectors (n, 2)."""
    root = np.sqrt(np.maximum(0.0, square - radius**2))
    scale = (radius / np.maximum(square, MINVAL))[:, None]
    across = np.stack([end[:, 1], -end[:, 0]], -1)
    return scale * radius[:, None] * end, scale * root[:, None] * across


def _inside(end0: np.ndarray, end1: np.ndarray, radius: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Touches circles from inside at one point, where both parts of the path make the same angle with them.

    Returns:
        Whether the segment stays free (n,), and the point (n, 2).
    """
    len0, len1, between = _norm(end0), _norm(end1), end1 - end0
    square = _dot(between, between)
    along = -_dot(between, end0) / np.maximum(square, MINVAL)
    through = _norm(end0 + along[:, None] * between) <= radius
    free = (len0 <= radius) | (len1 <= radius) | (radius < MINVAL)
    free |= (square > MINVAL) & (along > 0) & (along < 1) & through
    cosine = (len0**2 + len1**2 - square) / np.maximum(2 * len0 * len1, MINVAL)
    free |= cosine < -1 + MINVAL
    a, b = (np.where(free, 0.0, radius / np.where(free, 1.0, length)) for length in (len0, len1))
    z = _angle(a, b, np.arccos(np.clip(cosine, -1.0, 1.0)))
    left = end0[:, 0] * end1[:, 1] - end0[:, 1] * end1[:, 0] > 0
    from_ = _unit(np.where(left[:, None], end0, end1))
    turn = np.arcsin(z) - np.arcsin(np.where(left, a, b) * z)
    c, s = np.cos(turn), np.sin(turn)
    point = np.stack([c * from_[:, 0] - s * from_[:, 1], s * from_[:, 0] + c * from_[:, 1]], -1)
    middle = np.isnan(z) | (cosine > 1 - MINVAL)
    return free, radius[:, None] * np.where(middle[:, None], _unit((end0 + end1) / 2), point)


def _angle(a: np.ndarray, b: np.ndarray, gap: np.ndarray) -> np.ndarray:
    """Solves asin(a z) + asin(b z) - 2 asin(z) + gap = 0 by Newton's method from the right; nan where it fails."""

    def value_at(z: np.ndarray) -> np.ndarray:
        return np.arcsin(a * z) + np.arcsin(b * z) - 2 * np.arcsin(z) + gap

    z = np.full(a.shape, _INSIDE_START)
    value = value_at(z)
    failed, done = value > 0, np.zeros(a.shape, bool)
    for _ in range(_INSIDE_ITERATIONS):
        done |= ~failed & (np.abs(value) <= _INSIDE_TOLERANCE)
        going = ~(done | failed)
        if not going.any():
            break
        slope = sum(
            factor * k / np.maximum(MINVAL, np.sqrt(1 - (k * z) ** 2))
            for factor, k in ((1, a), (1, b), (-2, 1.0))
        )
        following = z - value / np.minimum(slope, -MINVAL)
        failed |= going & ((slope > -MINVAL) | (following > z))
        z = np.where(going & ~failed, following, z)
        value = value_at(z)
        failed |= going & (value > _INSIDE_TOLERANCE)
    return np.where(done & ~failed, z, np.nan)
