"""Meshes of simple shapes, made from a few parameters (MJCF reference, mesh/builtin).

Vertices and faces are in the C compiler's order. All shapes lie in the box from -1 to 1, but for the torus, whose
tube runs along the unit circle.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import copysign, cos, inf, pi, sin, sqrt

import numpy as np

from jaxsim.compile.mesh.data import Triangles
from jaxsim.mjcf.limits import MAX_BUILTIN_VERTICES

__all__ = ["SHAPES", "Builtin", "Parameter"]


@dataclass(frozen=True)
class Parameter:
    """A parameter of a shape and the numbers that it may be; one that is `whole` is rounded towards zero."""

    name: str
    least: float = -inf
    most: float = inf
    open: bool = False
    whole: bool = False

    def check(self, value: float) -> float:
        """Returns the value that the shape takes.

        Raises:
            ValueError: the value is out of range.
        """
        value = float(int(value)) if self.whole else value
        if value > self.most or (value <= self.least if self.open else value < self.least):
            low = f"{self.name} > {self.least:g}" if self.open else f"{self.name} >= {self.least:g}"
            high = f" and {self.name} <= {self.most:g}" if self.most < inf else ""
            raise ValueError(f"expected {low}{high}, got {value:g}")
        return value


@dataclass(frozen=True)
class Builtin:
    """A shape: its parameters, and the function that makes its triangles.

    Attributes:
        parameters: in the order of `params`.
        make: takes one float each.
        shell: whether its mass is always on the surface.
    """

    parameters: tuple[Parameter, ...]
    make: Callable[..., Triangles]
    shell: bool = False

    def __call__(self, params: np.ndarray) -> Triangles:
        """Makes the triangles.

        Raises:
            ValueError: there are too many or too few parameters, or one is out of range.
        """
        names = " ".join(p.name for p in self.parameters)
        if params.size != len(self.parameters):
            raise ValueError(f"expected {len(self.parameters)} numbers ({names}), got {params.size}")
        return self.make(*(p.check(value) for p, value in zip(self.parameters, params.tolist(), strict=True)))


def _triangles(
    vert: np.ndarray | list[tuple[float, ...]],
    face: np.ndarray | list[tuple[int, ...]] | None = None,
    normal: np.ndarray | None = None,
) -> Triangles:
    found = Triangles(np.asarray(vert, np.float64).astype(np.float32).reshape(-1, 3))
    if face is not None:
        found.face = np.asarray(face, np.int64).reshape(-1, 3)
    if normal is not None:
        found.normal = normal.astype(np.float32).reshape(-1, 3)
    return found


def _check_count(count: float) -> None:
    if count > MAX_BUILTIN_VERTICES:
        raise ValueError(f"more than {MAX_BUILTIN_VERTICES:,} vertices")


_ICOSAHEDRON = (
    *((0, 11, 5), (0, 5, 1), (0, 1, 7), (0, 7, 10), (0, 10, 11)),
    *((1, 5, 9), (5, 11, 4), (11, 10, 2), (10, 7, 6), (7, 1, 8)),
    *((3, 9, 4), (3, 4, 2), (3, 2, 6), (3, 6, 8), (3, 8, 9)),
    *((4, 9, 5), (2, 4, 11), (6, 2, 10), (8, 6, 7), (9, 8, 1)),
)
"""Faces: the five around the first vertex, their neighbours, and the same around the opposite vertex."""


def _sphere(subdivisions: float) -> Triangles:
    """An icosahedron whose faces are divided in four again and again, all vertices on the unit sphere.

    Arithmetic is single, as in C: the principal axes of so symmetric a shape depend on rounding.
    """
    golden = (1 + sqrt(5)) / 2
    corners = [(-1, golden), (1, golden), (-1, -golden), (1, -golden)]
    vert = np.array([np.roll((*corner, 0), k) for k in range(3) for corner in corners])
    vert = (vert / np.linalg.norm(vert, axis=1, keepdims=True)).astype(np.float32)
    face = np.array(_ICOSAHEDRON)
    for _ in range(int(subdivisions)):
        edges = np.sort(np.stack([face, np.roll(face, -1, 1)], -1).reshape(-1, 2), 1)
        _, first, edge = np.unique(edges, axis=0, return_index=True, return_inverse=True)
        met = np.argsort(first)  # a vertex is numbered when its edge is met first
        a, b = vert[edges[first[met]]].transpose(1, 0, 2)
        middle = len(vert) + np.argsort(met)[edge.ravel()].reshape(-1, 3)
        total = a + b
        x, y, z = total.T
        vert = np.concatenate([vert, total / np.sqrt(x * x + y * y + z * z)[:, None]])
        (a, b, c), (ab, bc, ca) = face.T, middle.T
        face = np.stack([a, ab, ca, b, bc, ab, c, ca, bc, ab, bc, ca], 1).reshape(-1, 3)
    return _triangles(vert, face)


def _hemisphere(resolution: float) -> Triangles:
    """Half an octahedron on a lattice, pushed out to the unit sphere, above a disc around the origin.

    Ring k around the pole has 4 k vertices.
    """
    count = int(resolution) + 1
    points: list[tuple[float, ...]] = [(0.0, 0.0, 1.0)]
    for ring in range(1, count + 1):
        for x, y in _around(ring):
            length = sqrt(x * x + y * y + (count - ring) ** 2)
            points.append((x / length, y / length, (count - ring) / length))
    points.append((0.0, 0.0, 0.0))
    faces: list[tuple[int, ...]] = []
    for ring in range(count):
        inner, outer = _ring(ring), _ring(ring + 1)
        for side in range(4):
            a, b = ring * side, (ring + 1) * side
            for k in range(ring):
                faces.append((inner(a + k), outer(b + k), outer(b + k + 1)))
                faces.append((inner(a + k), outer(b + k + 1), inner(a + k + 1)))
            faces.append((inner(a + ring), outer(b + ring), outer(b + ring + 1)))
    rim, center = _ring(count), len(points) - 1
    faces += [(rim(k), center, rim(k + 1)) for k in range(4 * count)]
    return _triangles(points, faces)


def _around(ring: int) -> list[tuple[int, int]]:
    """The lattice points (x, y) with |x| + |y| = ring, counter-clockwise from the x axis."""
    first = [(ring - k, k) for k in range(ring)]
    second = [(-y, x) for x, y in first]
    return first + second + [(-x, -y) for x, y in first + second]


def _ring(ring: int) -> Callable[[int], int]:
    """Numbers the vertices of a ring; ring 0 is the pole."""
    first, count = (1 + 2 * ring * (ring - 1), 4 * ring) if ring else (0, 1)
    return lambda k: first + k % count


def _cone(edges: float, radius: float) -> Triangles:
    """A (truncated) cone with a polygon as base; the faces are those of its convex hull."""
    count = int(edges)
    _check_count(count)
    angles = [2 * pi * k / count for k in range(2 * count)]
    points = [(cos(angle), sin(angle), -1.0) for angle in angles[:count]]
    top = [(radius * cos(angle), radius * sin(angle), 1.0) for angle in angles[count:]]
    return _triangles(points + top if radius > 0 else [*points, (0.0, 0.0, 1.0)])


def _power(value: float, exponent: float) -> float:
    """The power of an absolute value, with the value's sign."""
    return copysign(abs(value) ** exponent, value)


def _supersphere(resolution: float, e: float, n: float) -> Triangles:
    """A superellipsoid: exponent `e` of the circles of latitude, `n` of the meridians."""
    count = int(resolution)
    _check_count(count * count)
    points: list[tuple[float, ...]] = [(0.0, 0.0, -1.0)]
    for ring in range(1, count):
        latitude = -pi / 2 + pi * ring / count
        across, height = _power(cos(latitude), n), _power(sin(latitude), n)
        for k in range(count):
            u = -pi + 2 * pi * k / count
            points.append((across * _power(cos(u), e), across * _power(sin(u), e), height))
    points.append((0.0, 0.0, 1.0))
    k = np.arange(count)
    here, following = 1 + k, 1 + (k + 1) % count
    faces = [np.stack([np.zeros_like(k), following, here], 1)]
    for ring in range(count - 2):
        a, b = here + ring * count, following + ring * count
        faces.append(np.stack([a, b, a + count, b, b + count, a + count], 1))
    last = (count - 2) * count
    faces.append(np.stack([here + last, following + last, np.full_like(k, len(points) - 1)], 1))
    return _triangles(points, np.concatenate([f.reshape(-1, 3) for f in faces]))


def _supertorus(resolution: float, radius: float, s: float, t: float) -> Triangles:
    """A supertorus: a tube of a radius and exponent `s` along the unit circle of exponent `t`."""
    count = int(resolution)
    _check_count(count * count)
    angles = [2 * pi * k / count for k in range(count)]
    points = []
    for u in angles:
        x, y = _power(cos(u), t), _power(sin(u), t)
        for v in angles:
            across = 1 + radius * _power(cos(v), s)
            points.append((across * x, across * y, radius * _power(sin(v), s)))
    i, j = np.divmod(np.arange(count * count), count)
    a, b = i * count + j, (i + 1) % count * count + j
    c, d = (i + 1) % count * count + (j + 1) % count, i * count + (j + 1) % count
    return _triangles(points, np.stack([a, b, d, b, c, d], 1))


def _wedge(horizontal: float, vertical: float, width: float, height: float, fovea: float) -> Triangles:
    """Points of the unit sphere around -z, with their tangent frames: normal, then right and up.

    Args:
        horizontal: number of points from side to side.
        vertical: number of points from bottom to top.
        width: half the horizontal angle, degrees.
        height: half the vertical angle, degrees.
        fovea: 0: equal angles; 1: points crowd around the middle.
    """
    _check_count(horizontal * vertical)
    azimuth = _bins(int(horizontal), width, fovea)[:, None]
    elevation = _bins(int(vertical), height, fovea)[None]
    ca, sa, ce, se = np.cos(azimuth), np.sin(azimuth), np.cos(elevation), np.sin(elevation)
    still = np.zeros_like(ca * ce)
    out = np.stack([sa * ce, se + still, -ca * ce], -1)
    right = np.stack([ca + still, still, sa + still], -1)
    up = np.stack([-sa * se, ce + still, ca * se], -1)
    return _triangles(out, normal=np.stack([out, right, up], -2))


def _bins(count: int, width: float, fovea: float) -> np.ndarray:
    """Middles, rad, of the bins that part the angles from -width to width (degrees), smaller towards 0."""
    edges = np.add.accumulate([-1.0] + [2.0 / count] * count)
    edges = np.deg2rad(width) * ((1 - fovea) * edges + fovea * edges**5)
    return 0.5 * (edges[1:] + edges[:-1])


def _plate(columns: float, rows: float) -> Triangles:
    """A lattice in the square at z = -1."""
    _check_count(columns * rows)
    nx, ny = int(columns), int(rows)
    x, y = np.meshgrid(*((2 * np.arange(n) + 1 - n) / n for n in (nx, ny)), indexing="ij")
    vert = np.stack([x, y, np.full_like(x, -1.0)], -1)
    i, j = (index.ravel() for index in np.meshgrid(np.arange(nx - 1), np.arange(ny - 1), indexing="ij"))
    a, b = i * ny + j, (i + 1) * ny + j
    face = np.stack([a, b, a + 1, b + 1, a + 1, b], 1)
    return _triangles(vert, face, np.tile(np.eye(3), (nx * ny, 1)))


def _count(name: str, least: float, most: float = inf) -> Parameter:
    return Parameter(name, least, most, whole=True)


SHAPES = {
    "sphere": Builtin((_count("subdivisions", 0, 4),), _sphere),
    "hemisphere": Builtin((_count("resolution", 0, 10),), _hemisphere),
    "cone": Builtin((_count("edges", 3), Parameter("radius")), _cone),
    "supersphere": Builtin((_count("resolution", 3), Parameter("e", 0), Parameter("n", 0)), _supersphere),
    "supertorus": Builtin(
        (
            _count("resolution", 3),
            Parameter("radius", 0, 1, open=True),
            Parameter("s", 0, open=True),
            Parameter("t", 0, open=True),
        ),
        _supertorus,
    ),
    "wedge": Builtin(
        (
            _count("horizontal", 1),
            _count("vertical", 1),
            Parameter("width", 0, 180, open=True),
            Parameter("height", 0, 90, open=True),
            Parameter("fovea", 0, 1),
        ),
        _wedge,
    ),
    "plate": Builtin((_count("columns", 1), _count("rows", 1)), _plate, shell=True),
}
"""Shapes by the word of `builtin`."""
