"""Volume, surface, moments of inertia and bounds of the geometric primitives.

Sizes are MuJoCo's: radius and half lengths. `shell` means that the mass is spread over the surface.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import pi, sqrt

from jaxsim.enums import GeomType
from jaxsim.math.constants import MAXVAL
from jaxsim.mjcf.frames import Vec3

__all__ = ["SIZES", "bounding_box", "bounding_radius", "extent", "half_sizes", "moments"]

SIZES = {
    GeomType.PLANE: 3,
    GeomType.HFIELD: 0,
    GeomType.SPHERE: 1,
    GeomType.CAPSULE: 2,
    GeomType.ELLIPSOID: 3,
    GeomType.CYLINDER: 2,
    GeomType.BOX: 3,
    GeomType.MESH: 0,
    GeomType.SDF: 0,
}
"""How many sizes a type has, all of which must be positive."""

Size = Sequence[float]

_THOMSEN = 1.6075
"""Exponent of Thomsen's approximation of the surface of an ellipsoid, whose error is below 1.1%."""
_SHELL = 1e-6
"""Thickness by which an ellipsoid is grown to compute the inertia of its shell, m."""


def extent(type: GeomType, size: Size, shell: bool) -> float:
    """Returns the volume (m^3) or, for a shell, the surface (m^2); 0 for a plane."""
    found = (_SURFACE if shell else _VOLUME).get(type)
    return found(size) if found else 0.0


def moments(type: GeomType, size: Size, mass: float, shell: bool) -> Vec3:
    """Returns the principal moments of inertia about the geom's own axes, kg m^2."""
    found = (_SHELL_MOMENTS if shell else _SOLID_MOMENTS).get(type)
    return found(size, mass) if found else (0.0, 0.0, 0.0)


def bounding_radius(type: GeomType, size: Size) -> float:
    """Returns the radius of the sphere about the geom's centre that holds a primitive, 0 for a plane."""
    if type == GeomType.SPHERE:
        return size[0]
    if type == GeomType.CAPSULE:
        return size[0] + size[1]
    if type == GeomType.CYLINDER:
        return sqrt(size[0] * size[0] + size[1] * size[1])
    if type == GeomType.ELLIPSOID:
        return max(size)
    if type == GeomType.BOX:
        return sqrt(size[0] * size[0] + size[1] * size[1] + size[2] * size[2])
    return 0.0


def bounding_box(type: GeomType, size: Size) -> tuple[float, ...]:
    """Returns centre and half sizes of the box, along the geom's axes, that holds a primitive."""
    if type == GeomType.PLANE:
        return (0.0, 0.0, -MAXVAL / 2, MAXVAL, MAXVAL, MAXVAL / 2)
    return (0.0, 0.0, 0.0, *half_sizes(type, size))


def half_sizes(type: GeomType, size: Size) -> Vec3:
    """Returns how far a primitive reaches along its own axes, m."""
    if type == GeomType.SPHERE:
        return (size[0], size[0], size[0])
    if type == GeomType.CAPSULE:
        return (size[0], size[0], size[0] + size[1])
    if type == GeomType.CYLINDER:
        return (size[0], size[0], size[1])
    return (size[0], size[1], size[2])


def _thomsen(size: Size) -> float:
    a, b, c = size
    total = (a * b) ** _THOMSEN + (b * c) ** _THOMSEN + (c * a) ** _THOMSEN
    return 4 * pi * (total / 3) ** (1 / _THOMSEN)


_VOLUME: dict[GeomType, Callable[[Size], float]] = {
    GeomType.SPHERE: lambda s: 4 * pi * s[0] ** 3 / 3,
    GeomType.CAPSULE: lambda s: pi * (s[0] * s[0] * 2 * s[1] + 4 * s[0] ** 3 / 3),
    GeomType.CYLINDER: lambda s: pi * s[0] * s[0] * 2 * s[1],
    GeomType.ELLIPSOID: lambda s: 4 * pi * s[0] * s[1] * s[2] / 3,
    GeomType.BOX: lambda s: s[0] * s[1] * s[2] * 8,
    GeomType.HFIELD: lambda s: s[0] * s[1] * s[2] * 8,
}

_SURFACE: dict[GeomType, Callable[[Size], float]] = {
    GeomType.SPHERE: lambda s: 4 * pi * s[0] ** 2,
    GeomType.CAPSULE: lambda s: 4 * pi * s[0] ** 2 + 4 * pi * s[0] * s[1],
    GeomType.CYLINDER: lambda s: 2 * pi * s[0] ** 2 + 4 * pi * s[0] * s[1],
    GeomType.ELLIPSOID: _thomsen,
    GeomType.BOX: lambda s: 8 * (s[0] * s[1] + s[1] * s[2] + s[2] * s[0]),
    GeomType.HFIELD: lambda s: 8 * (s[0] * s[1] + s[1] * s[2] + s[2] * s[0]),
}


def _sphere(size: Size, mass: float) -> Vec3:
    i = 2 * mass * size[0] ** 2 / 5
    return (i, i, i)


def _sphere_shell(size: Size, mass: float) -> Vec3:
    i = 2 * mass * size[0] ** 2 / 3
    return (i, i, i)


def _ellipsoid(size: Size, mass: float) -> Vec3:
    a, b, c = (s * s for s in size)
    return (mass * (b + c) / 5, mass * (a + c) / 5, mass * (a + b) / 5)


def _ellipsoid_shell(size: Size, mass: float) -> Vec3:
    """An ellipsoid grown by a thin layer, less itself, with the mass in the layer."""
    grown = [s + _SHELL for s in size]
    inner, outer = _VOLUME[GeomType.ELLIPSOID](size), _VOLUME[GeomType.ELLIPSOID](grown)
    density = mass / (outer - inner)
    whole, core = _ellipsoid(grown, outer * density), _ellipsoid(size, inner * density)
    return (whole[0] - core[0], whole[1] - core[1], whole[2] - core[2])


def _box(size: Size, mass: float) -> Vec3:
    a, b, c = (s * s for s in size)
    return (mass * (b + c) / 3, mass * (a + c) / 3, mass * (a + b) / 3)


def _box_shell(size: Size, mass: float) -> Vec3:
    """Six thin plates, each with its share of the mass by area."""
    total = 2 * (size[0] * size[1] + size[1] * size[2] + size[2] * size[0])
    result = [0.0, 0.0, 0.0]
    for normal in range(3):
        u, v = (normal + 1) % 3, (normal + 2) % 3
        pair = 2 * mass * size[u] * size[v] / total
        distance = size[normal] ** 2
        result[normal] += pair * (size[u] ** 2 + size[v] ** 2) / 3
        result[u] += pair * (size[v] ** 2 / 3 + distance)
        result[v] += pair * (size[u] ** 2 / 3 + distance)
    return (result[0], result[1], result[2])


def _capsule(size: Size, mass: float) -> Vec3:
    """A cylinder and two half balls, whose centres of mass lie 3/8 of a radius beyond its ends."""
    radius, height = size[0], 2 * size[1]
    ends = mass * 4 * radius / (4 * radius + 3 * height)
    middle = mass - ends
    ball = 2 * ends * radius**2 / 5
    side = middle * (3 * radius**2 + height**2) / 12 + ball + ends * height * (3 * radius + 2 * height) / 8
    return (side, side, middle * radius**2 / 2 + ball)


def _capsule_shell(size: Size, mass: float) -> Vec3:
    """A tube and two half spheres, whose centres of mass lie half a radius beyond its ends."""
    radius, height = size[0], 2 * size[1]
    sphere, tube = 4 * pi * radius**2, 2 * pi * radius * height
    ends = mass * sphere / (sphere + tube)
    middle = mass - ends
    ball = 2 * ends * radius**2 / 3
    inset = radius / 2
    shifted = ends * ((size[1] + inset) ** 2 - inset**2)
    side = middle * (6 * radius**2 + height**2) / 12 + ball + shifted
    return (side, side, middle * radius**2 + ball)


def _cylinder(size: Size, mass: float) -> Vec3:
    radius, height = size[0], 2 * size[1]
    side = mass * (3 * radius**2 + height**2) / 12
    return (side, side, mass * radius**2 / 2)


def _cylinder_shell(size: Size, mass: float) -> Vec3:
    """A tube and two discs."""
    radius, height = size[0], 2 * size[1]
    disc, tube = pi * radius**2, 2 * pi * radius * height
    end = mass * disc / (2 * disc + tube)
    middle = mass - 2 * end
    side = middle * (6 * radius**2 + height**2) / 12 + 2 * (end * radius**2 / 4 + end * size[1] ** 2)
    return (side, side, middle * radius**2 + 2 * end * radius**2 / 2)


_SOLID_MOMENTS: dict[GeomType, Callable[[Size, float], Vec3]] = {
    GeomType.SPHERE: _sphere,
    GeomType.CAPSULE: _capsule,
    GeomType.CYLINDER: _cylinder,
    GeomType.ELLIPSOID: _ellipsoid,
    GeomType.BOX: _box,
    GeomType.HFIELD: _box,
}

_SHELL_MOMENTS: dict[GeomType, Callable[[Size, float], Vec3]] = {
    GeomType.SPHERE: _sphere_shell,
    GeomType.CAPSULE: _capsule_shell,
    GeomType.CYLINDER: _cylinder_shell,
    GeomType.ELLIPSOID: _ellipsoid_shell,
    GeomType.BOX: _box_shell,
    GeomType.HFIELD: _box_shell,
}
