"""Hamilton's formulas by components: Python numbers, or arrays of any library, as they are.

Quaternions are w, x, y, z. `quaternion` and `vector` (jax, worlds last), `rotations` (numpy, components last) and
`mjcf.frames` (Python floats) all say theirs by these.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

__all__ = ["cross", "matrix", "product", "rotated"]


def product(a: Sequence[Any], b: Sequence[Any]) -> tuple[Any, Any, Any, Any]:
    """Returns the components of the product: the rotation `b` followed by `a`."""
    aw, ax, ay, az = a
    bw, bx, by, bz = b
    return (
        aw * bw - ax * bx - ay * by - az * bz,
        aw * bx + ax * bw + ay * bz - az * by,
        aw * by - ax * bz + ay * bw + az * bx,
        aw * bz + ax * by - ay * bx + az * bw,
    )


def rotated(q: Sequence[Any], v: Sequence[Any]) -> tuple[Any, Any, Any]:
    """Returns the components of a vector that a unit quaternion rotates."""
    w, *u = q
    twice = [2 * x for x in cross(u, v)]
    first, second, third = (x + w * y + z for x, y, z in zip(v, twice, cross(u, twice), strict=True))
    return first, second, third


def cross(a: Sequence[Any], b: Sequence[Any]) -> tuple[Any, Any, Any]:
    """Returns the components of the vector product."""
    return a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]


def matrix(q: Sequence[Any]) -> tuple[tuple[Any, Any, Any], ...]:
    """Returns the rows of the rotation matrix of a unit quaternion."""
    w, x, y, z = q
    ww, xx, yy, zz = w * w, x * x, y * y, z * z
    xy, xz, yz, wx, wy, wz = x * y, x * z, y * z, w * x, w * y, w * z
    return (
        (ww + xx - yy - zz, 2 * (xy - wz), 2 * (xz + wy)),
        (2 * (xy + wz), ww - xx + yy - zz, 2 * (yz - wx)),
        (2 * (xz - wy), 2 * (yz + wx), ww - xx - yy + zz),
    )
