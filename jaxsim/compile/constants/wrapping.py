"""Shortest paths around spheres and cylinders, for spatial tendons."""

from __future__ import annotations

from collections.abc import Sequence
from math import acos, asin, cos, pi, sin, sqrt

import numpy as np

from jaxsim.compile.vectors import cross_rows
from jaxsim.enums import WrapType
from jaxsim.math.constants import MINVAL

__all__ = ["wrap"]

_SPHERE, _CYLINDER = int(WrapType.SPHERE), int(WrapType.CYLINDER)
_INSIDE_ITERATIONS = 20
_INSIDE_TOLERANCE = 1e-6
_INSIDE_START = 1 - 1e-7

Point = Sequence[float]


def wrap(
    start: np.ndarray,
    end: np.ndarray,
    center: np.ndarray,
    axes: np.ndarray,
    radius: float,
    type: int,
    side: np.ndarray | None,
) -> tuple[float, np.ndarray, np.ndarray] | None:
    """Wraps a straight segment around a geom.

    Args:
        start: (3,) first end of the segment, world frame.
        end: (3,) second end.
        center: (3,) centre of the geom.
        axes: (3, 3) its orientation.
        radius: its radius, m.
        type: WrapType.SPHERE or WrapType.CYLINDER.
        side: (3,) a point on the side where the path must pass, or None.

    Returns:
        Length of the part on the surface and the two points where it begins and ends, or None if the segment
        does not touch the geom.
    """
    p0, p1 = axes.T @ (start - center), axes.T @ (end - center)
    if sqrt(p0 @ p0) < MINVAL or sqrt(p1 @ p1) < MINVAL:
        return None
    u, v = _plane(p0, p1) if type == _SPHERE else (np.eye(3)[0], np.eye(3)[1])
    ends = (float(p0 @ u), float(p0 @ v), float(p1 @ u), float(p1 @ v))
    local = None if side is None else axes.T @ (side - center)
    if local is not None and sqrt(local @ local) < radius:
        found = _inside(ends, radius)
    else:
        toward = None
        if local is not None:
            a, b = _unit((float(local @ u), float(local @ v)))
            toward = (a * radius, b * radius)
        found = _around(ends, toward, radius)
    if found is None:
        return None
    length, (a0, b0, a1, b1) = found
    q0, q1 = u * a0 + v * b0, u * a1 + v * b1
    if type == _CYLINDER:
        before = sqrt((p0[0] - q0[0]) ** 2 + (p0[1] - q0[1]) ** 2)
        after = sqrt((p1[0] - q1[0]) ** 2 + (p1[1] - q1[1]) ** 2)
        slope = (p1[2] - p0[2]) / (before + length + after)
        q0[2] = p0[2] + slope * before
        q1[2] = p0[2] + slope * (before + length)
        length = sqrt(length**2 + (q1[2] - q0[2]) ** 2)
    return length, axes @ q0 + center, axes @ q1 + center


def _plane(p0: np.ndarray, p1: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Returns two orthogonal unit vectors that span the plane of both points and the centre."""
    u = p0 / sqrt(p0 @ p0)
    normal = cross_rows(p0, p1)
    length = sqrt(normal @ normal)
    if length < MINVAL:
        other = np.ones(3)
        other[int(np.argmax(np.abs(u)))] = 0.0
        normal = cross_rows(u, other)
        length = sqrt(normal @ normal)
    v = cross_rows(normal / length, u)
    return u, v / sqrt(v @ v)


def _unit(p: Point) -> tuple[float, float]:
    length = sqrt(p[0] ** 2 + p[1] ** 2)
    return (1.0, 0.0) if length < MINVAL else (p[0] / length, p[1] / length)


def _crosses(a: Point, b: Point, c: Point, d: Point) -> bool:
    """Whether the segments ab and cd intersect."""
    det = (d[1] - c[1]) * (b[0] - a[0]) - (d[0] - c[0]) * (b[1] - a[1])
    if abs(det) < MINVAL:
        return False
    s = ((d[0] - c[0]) * (a[1] - c[1]) - (d[1] - c[1]) * (a[0] - c[0])) / det
    t = ((b[0] - a[0]) * (a[1] - c[1]) - (b[1] - a[1]) * (a[0] - c[0])) / det
    return 0 <= s <= 1 and 0 <= t <= 1


def _arc(p: Point, q: Point, clockwise: bool, radius: float) -> float:
    """Returns the length of the arc from p to q in the given sense."""
    (a, b), (c, d) = _unit(p), _unit(q)
    angle = acos(max(-1.0, min(1.0, a * c + b * d)))
    cross = p[1] * q[0] - p[0] * q[1]
    if (cross > 0 and clockwise) or (cross < 0 and not clockwise):
        angle = 2 * pi - angle
    return radius * angle


def _around(ends: Point, side: Point | None, radius: float) -> tuple[float, Point] | None:
    """Wraps around a circle about the origin: tangents from both ends, on the wanted or the shorter side."""
    x0, y0, x1, y1 = ends
    square0, square1, square = x0 * x0 + y0 * y0, x1 * x1 + y1 * y1, radius * radius
    dx, dy = x1 - x0, y1 - y0
    length = dx * dx + dy * dy
    if square0 < square or square1 < square or radius < MINVAL or length < MINVAL:
        return None
    nearest = min(1.0, max(0.0, -(dx * x0 + dy * y0) / length))
    nx, ny = x0 + nearest * dx, y0 + nearest * dy
    if nx * nx + ny * ny > square and (side is None or side[0] * nx + side[1] * ny >= 0):
        return None
    root0, root1 = sqrt(square0 - square), sqrt(square1 - square)
    best: tuple[float, int, Point] | None = None
    for index, sign in enumerate((1, -1)):
        a = (
            (x0 * square + sign * radius * y0 * root0) / square0,
            (y0 * square - sign * radius * x0 * root0) / square0,
        )
        b = (
            (x1 * square - sign * radius * y1 * root1) / square1,
            (y1 * square + sign * radius * x1 * root1) / square1,
        )
        if side is not None:
            mx, my = _unit((a[0] + b[0], a[1] + b[1]))
            good = mx * side[0] + my * side[1]
        else:
            good = -((a[0] - b[0]) ** 2 + (a[1] - b[1]) ** 2)
        if _crosses((x0, y0), a, (x1, y1), b):
            good = -10000.0
        if best is None or good >= best[0]:
            best = (good, index, (*a, *b))
    assert best is not None
    _, index, points = best
    if _crosses((x0, y0), points[:2], (x1, y1), points[2:]):
        return None
    return _arc(points[:2], points[2:], bool(index), radius), points


def _inside(ends: Point, radius: float) -> tuple[float, Point] | None:
    """Touches a circle from inside at one point, where both parts of the path make the same angle with it."""
    x0, y0, x1, y1 = ends
    len0, len1 = sqrt(x0 * x0 + y0 * y0), sqrt(x1 * x1 + y1 * y1)
    dx, dy = x1 - x0, y1 - y0
    square = dx * dx + dy * dy
    if len0 <= radius or len1 <= radius or radius < MINVAL:
        return None
    if square > MINVAL:
        t = -(dx * x0 + dy * y0) / square
        if 0 < t < 1 and sqrt((x0 + t * dx) ** 2 + (y0 + t * dy) ** 2) <= radius:
            return None
    mx, my = _unit((0.5 * (x0 + x1), 0.5 * (y0 + y1)))
    middle = (0.0, (mx * radius, my * radius, mx * radius, my * radius))
    a, b = radius / len0, radius / len1
    cosine = (len0**2 + len1**2 - square) / (2 * len0 * len1)
    if cosine < -1 + MINVAL:
        return None
    if cosine > 1 - MINVAL:
        return middle
    z = _angle(a, b, acos(cosine))
    if z is None:
        return middle
    if x0 * y1 - y0 * x1 > 0:
        (ux, uy), turn = _unit((x0, y0)), asin(z) - asin(a * z)
    else:
        (ux, uy), turn = _unit((x1, y1)), asin(z) - asin(b * z)
    px = radius * (cos(turn) * ux - sin(turn) * uy)
    py = radius * (sin(turn) * ux + cos(turn) * uy)
    return 0.0, (px, py, px, py)


def _angle(a: float, b: float, gap: float) -> float | None:
    """Solves asin(a z) + asin(b z) - 2 asin(z) + gap = 0 by Newton's method from the right, None if it fails."""
    z = _INSIDE_START
    value = asin(a * z) + asin(b * z) - 2 * asin(z) + gap
    if value > 0:
        return None
    for _ in range(_INSIDE_ITERATIONS):
        if abs(value) <= _INSIDE_TOLERANCE:
            return z
        slope = (
            a / max(MINVAL, sqrt(1 - (z * a) ** 2))
            + b / max(MINVAL, sqrt(1 - (z * b) ** 2))
            - 2 / max(MINVAL, sqrt(1 - z * z))
        )
        if slope > -MINVAL:
            return None
        step = z - value / slope
        if step > z:
            return None
        z = step
        value = asin(a * z) + asin(b * z) - 2 * asin(z) + gap
        if value > _INSIDE_TOLERANCE:
            return None
    return None
