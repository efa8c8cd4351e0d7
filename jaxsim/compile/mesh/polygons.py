"""Polygons to triangles, in the way and in the precision of the C compiler's OBJ reader."""

from __future__ import annotations

import numpy as np

__all__ = ["cut_quads", "ears"]

_EPS = np.finfo(np.float32).eps
_HALF = np.float32(0.5)


def cut_quads(points: np.ndarray) -> np.ndarray:
    """Returns which quadrangles (n, 4, 3) are cut from the first to the third corner: along the shorter diagonal."""
    first = points[:, 2] - points[:, 0]
    second = points[:, 3] - points[:, 1]
    return (first**2).sum(1, dtype=np.float32) < (second**2).sum(1, dtype=np.float32)


def ears(points: np.ndarray) -> list[tuple[int, int, int]]:
    """Clips ears of a polygon (n, 3), float32, seen along the axis most normal to its first corner.

    A corner counts as convex if it turns the same way as its first edge turns about the origin. That is wrong for
    some polygons; what is left when no corner counts as convex is dropped, so there may be fewer than n - 2 triangles.
    """
    across, along = _axes(points)
    x, y = list(points[:, across]), list(points[:, along])
    left = list(range(len(points)))
    result: list[tuple[int, int, int]] = []
    start, tries, before = 0, len(left), len(left)
    while len(left) > 3 and tries > 0:
        count = len(left)
        start %= count
        if before != count:
            before = tries = count
        else:
            tries -= 1
        i, j, k, *others = left[start:] + left[:start]
        triangle = ((x[i], y[i]), (x[j], y[j]), (x[k], y[k]))
        if _reflex(*triangle) or any(_covers(triangle, x[n], y[n]) for n in others):
            start += 1
            continue
        result.append((i, j, k))
        left.remove(j)
    if len(left) == 3:
        result.append((left[0], left[1], left[2]))
    return result


Point = tuple[np.float32, np.float32]


def _axes(points: np.ndarray) -> tuple[int, int]:
    """Returns the two coordinates in which the polygon is seen."""
    edges = np.roll(points, -1, axis=0) - points
    for k in range(len(points)):
        (a, b, c), (d, e, f) = edges[k], edges[(k + 1) % len(points)]
        x, y, z = abs(b * f - c * e), abs(c * d - a * f), abs(a * e - b * d)
        if max(x, y, z) > _EPS:
            if x > y and x > z:
                break
            return (0, 1) if z > x and z > y else (0, 2)
    return (1, 2)


def _reflex(a: Point, b: Point, c: Point) -> bool:
    turn = (b[0] - a[0]) * (c[1] - b[1]) - (b[1] - a[1]) * (c[0] - b[0])
    area = (a[0] * b[1] - a[1] * b[0]) * _HALF
    return bool(turn * area < 0)


def _covers(triangle: tuple[Point, Point, Point], x: np.float32, y: np.float32) -> bool:
    """Whether a point lies in a triangle: a ray from it crosses the boundary an odd number of times."""
    inside = False
    qx, qy = triangle[2]
    for px, py in triangle:
        if (py > y) != (qy > y) and x < (qx - px) * (y - py) / (qy - py) + px:
            inside = not inside
        qx, qy = px, py
    return inside
