"""Inertia matrices: sums of rigid parts, and principal axes in the order and sign that the C compiler chooses.

A symmetric matrix is stored as six numbers (xx, yy, zz, xy, xz, yz).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import sqrt

from jaxsim.math import hamilton
from jaxsim.math.constants import MINVAL
from jaxsim.mjcf.frames import EPS, IDENTITY, ORIGIN, Quat, Vec3, multiply, unit_quat

__all__ = ["BODY", "MESH", "Tolerance", "about", "combine", "in_frame", "principal_axes"]

_MAX_ROTATIONS = 500


@dataclass(frozen=True, slots=True)
class Tolerance:
    """When a matrix counts as diagonal, relative to its largest moment.

    Attributes:
        off: off-diagonal entries below this count as zero.
        equal: moments closer than this are not reordered.
    """

    off: float
    equal: float


BODY = Tolerance(off=4e-15, equal=1e-12)
"""For bodies."""
MESH = Tolerance(off=1e-7, equal=1e-7)
"""For meshes, whose vertices are known to single precision only."""


def in_frame(moments: Sequence[float], quat: Sequence[float]) -> tuple[float, ...]:
    """Returns a diagonal inertia, given about rotated axes, about the axes of the enclosing frame."""
    rows = hamilton.matrix(quat)

    def entry(i: int, j: int) -> float:
        return sum(rows[i][k] * (rows[j][k] * moments[k]) for k in range(3))

    return (entry(0, 0), entry(1, 1), entry(2, 2), entry(0, 1), entry(0, 2), entry(1, 2))


def about(mass: float, offset: Sequence[float]) -> tuple[float, ...]:
    """Returns the inertia of a point mass about the origin (the parallel-axis term)."""
    x, y, z = offset
    return (
        mass * (y * y + z * z),
        mass * (x * x + z * z),
        mass * (x * x + y * y),
        -mass * x * y,
        -mass * x * z,
        -mass * y * z,
    )


def principal_axes(
    full: Sequence[float], tolerance: Tolerance = BODY, least: float = EPS
) -> tuple[Quat, Vec3]:
    """Diagonalises a symmetric 3x3 matrix by Jacobi rotations, accumulated in a quaternion.

    The moments come in decreasing order. The rotation is the one that plain Jacobi iteration from the identity
    finds, always eliminating the largest off-diagonal entry, so it is the same as the C compiler's also where
    the axes are not unique.

    Args:
        full: the matrix.
        tolerance: when to stop.
        least: smallest moment that is allowed.

    Returns:
        The orientation of the principal axes and the three moments.

    Raises:
        ValueError: a moment is too small.
    """
    xx, yy, zz, xy, xz, yz = full
    matrix = ((xx, xy, xz), (xy, yy, yz), (xz, yz, zz))
    scale = max(abs(xx), abs(yy), abs(zz))
    quat = IDENTITY
    moments = [xx, yy, zz]
    for _ in range(_MAX_ROTATIONS):
        rotated = _conjugated(matrix, quat)
        moments = [rotated[0][0], rotated[1][1], rotated[2][2]]
        row, col, axis = _largest(rotated)
        pivot = rotated[row][col]
        if abs(pivot) <= tolerance.off * scale:
            break
        tau = (moments[col] - moments[row]) / (2 * pivot)
        tangent = 1.0 / (tau + sqrt(1 + tau * tau)) if tau >= 0 else -1.0 / (-tau + sqrt(1 + tau * tau))
        cosine = 1.0 / sqrt(1 + tangent * tangent)
        half = tangent * cosine / sqrt(2 * (1 + cosine))
        turn = [sqrt((1 + cosine) / 2), 0.0, 0.0, 0.0]
        turn[axis + 1] = half if axis == 1 else -half
        quat = multiply(quat, unit_quat(turn))
    quat, moments = _sorted(quat, moments, tolerance.equal * scale)
    if moments[2] < least:
        raise ValueError("inertia must have positive eigenvalues")
    return quat, (moments[0], moments[1], moments[2])


def _conjugated(matrix: Sequence[Vec3], quat: Quat) -> list[list[float]]:
    """Returns R^T A R for the rotation of a quaternion."""
    r = hamilton.matrix(quat)
    half = [[sum(r[k][i] * matrix[k][j] for k in range(3)) for j in range(3)] for i in range(3)]
    return [[sum(half[i][k] * r[k][j] for k in range(3)) for j in range(3)] for i in range(3)]


def _largest(a: Sequence[Sequence[float]]) -> tuple[int, int, int]:
    """Returns row, column and rotation axis of the largest off-diagonal entry."""
    xy, xz, yz = abs(a[0][1]), abs(a[0][2]), abs(a[1][2])
    if xy > xz and xy > yz:
        return 0, 1, 2
    return (0, 2, 1) if xz > yz else (1, 2, 0)


def _sorted(quat: Quat, moments: list[float], equal: float) -> tuple[Quat, list[float]]:
    """Orders the moments by quarter turns of the axes; equal ones stay."""
    quarter = 0.707106781186548
    for lead in (0, 1, 0):
        if moments[lead] + equal < moments[lead + 1]:
            moments[lead], moments[lead + 1] = moments[lead + 1], moments[lead]
            turn = [quarter, 0.0, 0.0, 0.0]
            turn[(lead + 2) % 3 + 1] = quarter
            quat = multiply(quat, turn)
    return quat, moments


def combine(
    parts: Iterable[tuple[float, Sequence[float], Sequence[float], Sequence[float]]],
) -> tuple[float, Vec3, Quat, Vec3]:
    """Joins rigid parts into one body.

    Args:
        parts: mass, centre of mass, orientation of the principal axes and principal moments of each.

    Returns:
        Mass, centre of mass, principal axes and principal moments; all zero if there is almost no mass.

    Raises:
        ValueError: the joint inertia is not positive.
    """
    parts = list(parts)
    mass = sum(part[0] for part in parts)
    if mass < MINVAL:
        return 0.0, ORIGIN, IDENTITY, ORIGIN
    center = [sum(m * pos[k] for m, pos, _, _ in parts) / mass for k in range(3)]
    total = [0.0] * 6
    for m, pos, quat, moments in parts:
        own = in_frame(moments, quat)
        shifted = about(m, [pos[k] - center[k] for k in range(3)])
        for k in range(6):
            total[k] = total[k] + own[k] + shifted[k]
    quat, moments = principal_axes(total)
    return mass, (center[0], center[1], center[2]), quat, moments
