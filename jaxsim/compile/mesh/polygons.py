"""Polygons to triangles, in the way and in the precision of the C compiler's OBJ reader."""

from __future__ import annotations

import numpy as np

__all__ = ["cut_quads", "ears"]


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
    flat = points[:, _axes(points)]
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
        i, j, k = (left[(start + n) % count] for n in range(3))
        corners = flat[[i, j, k]]
        others = flat[[left[(start + n) % count] for n in range(3, count)]]
        if _reflex(corners) or _covers(corners, others):
            start += 1
            continue
        result.append((i, j, k))
        left.remove(j)
    if len(left) == 3:
        result.append((left[0], left[1], left[2]))
    return result


def _axes(points: np.ndarray) -> list[int]:
    """Returns the two coordinates in which the polygon is seen."""
    for k in range(len(points)):
        a, b, c = points[k], points[(k + 1) % len(points)], points[(k + 2) % len(points)]
        normal = np.abs(np.cross(b - a, c - b))
        if (normal > np.finfo(np.float32).eps).any():
            x, y, z = normal
            if x > y and x > z:
                break
            return [0, 1] if z > x and z > y else [0, 2]
    return [1, 2]


def _reflex(corners: np.ndarray) -> bool:
    (ax, ay), (bx, by), (cx, cy) = corners
    turn = (bx - ax) * (cy - by) - (by - ay) * (cx - bx)
    area = (ax * by - ay * bx) * np.float32(0.5)
    return bool(turn * area < 0)


def _covers(corners: np.ndarray, others: np.ndarray) -> bool:
    """Whether a point lies in a triangle: a ray from it crosses the boundary an odd number of times."""
    x, y = others.T
    inside = np.zeros(len(others), bool)
    for (px, py), (qx, qy) in zip(corners, corners[[2, 0, 1]], strict=True):
        spans = (py > y) != (qy > y)
        height = qy - py
        cut = (qx - px) * (y - py) / (height if height else np.float32(1)) + px
        inside ^= spans & (x < cut)
    return bool(inside.any())
