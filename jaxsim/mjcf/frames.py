"""Rigid frames of elements: positions are triples, orientations unit quaternions (w, x, y, z), all Python floats.

Plain floats are used because a model has thousands of tiny operations, each far cheaper than one numpy call.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import atan2, cos, pi, sin, sqrt

from jaxsim.math import hamilton
from jaxsim.math.hamilton import cross

__all__ = [
    "EPS",
    "IDENTITY",
    "ORIENTATIONS",
    "ORIGIN",
    "Quat",
    "Vec3",
    "accumulate",
    "conjugate",
    "cross",
    "dot",
    "from_axes",
    "from_axisangle",
    "from_euler",
    "from_xyaxes",
    "from_zaxis",
    "invert",
    "multiply",
    "normalize",
    "rotate",
    "unit_quat",
]

Vec3 = tuple[float, float, float]
Quat = tuple[float, float, float, float]

ORIENTATIONS = ("quat", "axisangle", "xyaxes", "zaxis", "euler")
"""Attributes that give the orientation of an element, each in a form of its own."""

EPS = 1e-14
"""Squared lengths and other quantities below this count as zero."""
ORIGIN: Vec3 = (0.0, 0.0, 0.0)
IDENTITY: Quat = (1.0, 0.0, 0.0, 0.0)


def dot(a: Sequence[float], b: Sequence[float]) -> float:
    """Returns the inner product of two triples."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


def normalize(a: Sequence[float]) -> tuple[tuple[float, ...], float]:
    """Returns the unit vector and the length; a vector that counts as zero stays as it is, with length 0.

    A length that is 1 up to rounding is left alone, so that exact input stays exact.
    """
    square = sum(x * x for x in a)
    if square < EPS:
        return tuple(a), 0.0
    length = sqrt(square)
    if abs(length - 1.0) <= EPS:
        return tuple(a), length
    return tuple(x / length for x in a), length


def unit_quat(q: Sequence[float]) -> Quat:
    """Returns the quaternion normalised."""
    w, x, y, z = normalize(q)[0]
    return (w, x, y, z)


def multiply(a: Sequence[float], b: Sequence[float]) -> Quat:
    """Returns the rotation `b` followed by `a`, normalised."""
    return unit_quat(hamilton.product(a, b))


def conjugate(q: Sequence[float]) -> Quat:
    """Returns the inverse rotation."""
    return (q[0], -q[1], -q[2], -q[3])


def rotate(v: Sequence[float], q: Sequence[float]) -> Vec3:
    """Returns the vector rotated by a unit quaternion."""
    w, x, y, z = q
    if x == 0.0 and y == 0.0 and z == 0.0:
        return (v[0], v[1], v[2])
    a, b, c = v
    tx = w * a + y * c - z * b
    ty = w * b + z * a - x * c
    tz = w * c + x * b - y * a
    return (
        a + 2.0 * (y * tz - z * ty),
        b + 2.0 * (z * tx - x * tz),
        c + 2.0 * (x * ty - y * tx),
    )


def accumulate(
    pos: Sequence[float], quat: Sequence[float], child_pos: Sequence[float], child_quat: Sequence[float]
) -> tuple[Vec3, Quat]:
    """Returns a child frame, given in a parent frame, in the frame that the parent is given in."""
    x, y, z = rotate(child_pos, quat)
    return (pos[0] + x, pos[1] + y, pos[2] + z), multiply(quat, child_quat)


def invert(pos: Sequence[float], quat: Sequence[float]) -> tuple[Vec3, Quat]:
    """Returns the inverse of a frame transformation."""
    back = conjugate(quat)
    x, y, z = rotate(pos, back)
    return (-x, -y, -z), back


def from_axes(x: Sequence[float], y: Sequence[float], z: Sequence[float]) -> Quat:
    """Returns the rotation whose matrix has these columns; the largest component is computed by a root."""
    trace = x[0] + y[1] + z[2]
    if trace > 0:
        w = 0.5 * sqrt(1 + trace)
        q = (w, 0.25 * (y[2] - z[1]) / w, 0.25 * (z[0] - x[2]) / w, 0.25 * (x[1] - y[0]) / w)
    elif x[0] > y[1] and x[0] > z[2]:
        a = 0.5 * sqrt(1 + x[0] - y[1] - z[2])
        q = (0.25 * (y[2] - z[1]) / a, a, 0.25 * (y[0] + x[1]) / a, 0.25 * (z[0] + x[2]) / a)
    elif y[1] > z[2]:
        b = 0.5 * sqrt(1 - x[0] + y[1] - z[2])
        q = (0.25 * (z[0] - x[2]) / b, 0.25 * (y[0] + x[1]) / b, b, 0.25 * (z[1] + y[2]) / b)
    else:
        c = 0.5 * sqrt(1 - x[0] - y[1] + z[2])
        q = (0.25 * (x[1] - y[0]) / c, 0.25 * (z[0] + x[2]) / c, 0.25 * (z[1] + y[2]) / c, c)
    return unit_quat(q)


def from_axisangle(axis: Sequence[float], angle: float) -> Quat:
    """Returns the rotation about an axis by an angle in radians.

    Raises:
        ValueError: the axis has no direction.
    """
    unit, length = normalize(axis)
    if length < EPS:
        raise ValueError("the rotation axis is too small")
    s = sin(angle / 2)
    return (cos(angle / 2), s * unit[0], s * unit[1], s * unit[2])


def from_xyaxes(axes: Sequence[float]) -> Quat:
    """Returns the frame with a given x axis and a y axis near the given one, made orthogonal.

    Raises:
        ValueError: an axis has no direction, or the two are parallel.
    """
    x, length = normalize(axes[:3])
    if length < EPS:
        raise ValueError("the x axis is too small")
    along = dot(x, axes[3:])
    y, length = normalize(tuple(b - a * along for a, b in zip(x, axes[3:], strict=True)))
    if length < EPS:
        raise ValueError("the y axis is too small, or parallel to the x axis")
    return from_axes(x, y, normalize(cross(x, y))[0])


def from_zaxis(z: Sequence[float]) -> Quat:
    """Returns the smallest rotation that turns the z axis into a given direction.

    Raises:
        ValueError: the direction is zero.
    """
    unit, length = normalize(z)
    if length < EPS:
        raise ValueError("the z axis is too small")
    axis, s = normalize((-unit[1], unit[0], 0.0))
    if s < 1e-10:
        axis = (1.0, 0.0, 0.0)
    angle = atan2(s, unit[2])
    half = sin(angle / 2)
    return (cos(angle / 2), axis[0] * half, axis[1] * half, axis[2] * half)


def from_euler(angles: Sequence[float], sequence: str, degree: bool) -> Quat:
    """Returns a sequence of rotations about moving (lower case) or fixed (upper case) axes.

    Args:
        angles: three angles, in degrees if `degree`, else in radians.
        sequence: three letters of xyzXYZ.
        degree: the unit of the angles.
    """
    quat = IDENTITY
    for value, letter in zip(angles, sequence, strict=True):
        angle = value / 180.0 * pi if degree else value
        turn = [cos(angle / 2), 0.0, 0.0, 0.0]
        turn["xyz".index(letter.lower()) + 1] = sin(angle / 2)
        quat = multiply(quat, turn) if letter.islower() else multiply(turn, quat)
    return quat
