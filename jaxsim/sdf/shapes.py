"""Distance functions of shapes, and what makes new ones of them; see `jaxsim.sdf`."""

from __future__ import annotations

from collections.abc import Callable

import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from jaxsim.enums import GeomType
from jaxsim.math import safe

__all__ = [
    "PRIMITIVES",
    "Distance",
    "bolt",
    "bowl",
    "box",
    "capsule",
    "cylinder",
    "ellipsoid",
    "gear",
    "hexagon",
    "intersection",
    "moved",
    "nut",
    "plane",
    "sphere",
    "subtraction",
    "torus",
    "union",
]

Distance = Callable[[Array, Array], Array]
"""`(point (3,), size (3,)) -> distance`, m."""


def _length(*parts: Array) -> Array:
    return safe.norm(jnp.stack(jnp.broadcast_arrays(*parts)), axis=0)


# --- the primitives of MuJoCo, by their `geom_size`


def plane(point: Array, size: Array) -> Array:
    """Height above the plane z = 0."""
    return point[2] + 0 * size[0]


def sphere(point: Array, size: Array) -> Array:
    """Sphere of radius `size[0]`."""
    return _length(*point) - size[0]


def capsule(point: Array, size: Array) -> Array:
    """Capsule of radius `size[0]` about the segment of half length `size[1]` on z."""
    beyond = point[2] - jnp.clip(point[2], -size[1], size[1])
    return _length(point[0], point[1], beyond) - size[0]


def ellipsoid(point: Array, size: Array) -> Array:
    """Ellipsoid of half axes `size`: to first order at its surface, as the C engine has it."""
    scaled = point / size
    far, steep = _length(*scaled), _length(*(scaled / size))
    least = jnp.min(size)
    return jnp.where(steep > 0, far * (far - 1) / jnp.where(steep > 0, steep, 1), -least)


def cylinder(point: Array, size: Array) -> Array:
    """Cylinder of radius `size[0]` and half length `size[1]` along z."""
    return _extruded(_length(point[0], point[1]) - size[0], safe.absolute(point[2]) - size[1])


def box(point: Array, size: Array) -> Array:
    """Box of half sizes `size`: outside the distance, inside a bound that is smooth below edges and corners.

    With the depths d below the faces it is `-(sum d^-4)^(-1/4)`: exact below a face, less deep below an edge, where the
    distance itself has a kink at the very points that lie deepest in another shape.
    """
    beyond = safe.absolute(point) - size
    inside = jnp.all(beyond < 0)
    depth = jnp.where(inside, -beyond, size)
    least = lax.stop_gradient(jnp.min(depth))  # scales the powers; the result does not depend on it
    below = least * jnp.sum((least / depth) ** 4) ** -0.25
    return jnp.where(inside, -below, _length(*jnp.maximum(beyond, 0)))


PRIMITIVES: dict[GeomType, Distance] = {
    GeomType.PLANE: plane,
    GeomType.SPHERE: sphere,
    GeomType.CAPSULE: capsule,
    GeomType.ELLIPSOID: ellipsoid,
    GeomType.CYLINDER: cylinder,
    GeomType.BOX: box,
}
"""The distance of each primitive type of geoms."""


def _extruded(flat: Array, along: Array) -> Array:
    """Distance of a prism from those of its outline in the plane and of its slab."""
    outside = _length(jnp.maximum(flat, 0), jnp.maximum(along, 0))
    return outside + jnp.minimum(jnp.maximum(flat, along), 0)


# --- shapes with sizes of their own


def torus(radius: float, tube: float) -> Distance:
    """Ring about z: `radius` of its circle, `tube` of its cross-section, m."""

    def distance(point: Array, size: Array) -> Array:
        del size
        return _length(_length(point[0], point[1]) - radius, point[2]) - tube

    return distance


def bowl(radius: float, rim: float, thickness: float) -> Distance:
    """Hollow sphere about the origin, open above the height `rim`, with walls of twice `thickness`, rounded, m.

    Raises:
      ValueError: the rim is not on the sphere.
    """
    if not abs(rim) < radius:
        raise ValueError(f"bowl: rim={rim} is not between -radius and radius, {radius}")
    width = float(np.sqrt(radius**2 - rim**2))

    def distance(point: Array, size: Array) -> Array:
        del size
        across, up = _length(point[0], point[1]), point[2]
        below = rim * across > width * up
        wall = safe.absolute(_length(across, up) - radius)
        return jnp.where(below, wall, _length(across - width, up - rim)) - thickness

    return distance


def hexagon(inner: float, half: float) -> Distance:
    """Hexagonal prism along z: `inner` radius to its flats, `half` its length, m."""
    normals = [(np.cos(a), np.sin(a)) for a in np.pi / 3 * np.arange(3)]

    def distance(point: Array, size: Array) -> Array:
        del size
        flats = [safe.absolute(c * point[0] + s * point[1]) for c, s in normals]
        nearest = jnp.max(jnp.stack(flats)) - inner
        return _extruded(nearest, safe.absolute(point[2]) - half)

    return distance


def gear(radius: float, teeth: int, height: float, half: float, hole: float = 0.0) -> Distance:
    """Spur gear about z: a disc to the roots of trapezoidal teeth, m.

    Args:
      radius: of the pitch circle, midway between roots and tips.
      teeth: how many.
      height: from root to tip.
      half: of the length along z.
      hole: radius of the bore; 0: none.
    """
    root, tip = radius - height / 2, radius + height / 2
    pitch = 2 * np.pi / teeth
    # half widths at root and tip leave a tooth as wide as its gap on the pitch circle
    wide, narrow = 0.36 * pitch * radius, 0.14 * pitch * radius
    slope = np.array([height, wide - narrow]) / np.hypot(height, wide - narrow)

    def distance(point: Array, size: Array) -> Array:
        del size
        rho = _length(point[0], point[1])
        angle = jnp.arctan2(jnp.where(rho > 0, point[1], 0), jnp.where(rho > 0, point[0], 1))
        angle = angle - pitch * jnp.round(angle / pitch)
        out, side = rho * jnp.cos(angle), safe.absolute(rho * jnp.sin(angle))
        flank = slope[1] * (out - tip) + slope[0] * (side - narrow)
        tooth = jnp.maximum(jnp.maximum(flank, out - tip), root - height - out)
        flat = jnp.minimum(rho - root, tooth)
        flat = jnp.maximum(flat, hole - rho) if hole else flat
        return _extruded(flat, safe.absolute(point[2]) - half)

    return distance


def _thread(point: Array, radius: float, pitch: float, depth: float) -> Array:
    """Endless rod along z with a right-handed thread of triangular profile, `depth` deep below `radius`, m."""
    rho = _length(point[0], point[1])
    turn = jnp.arctan2(jnp.where(rho > 0, point[1], 0), jnp.where(rho > 0, point[0], 1)) / (2 * np.pi)
    phase = point[2] / pitch - turn
    core = radius - depth
    # towards the axis the thread fades, as it would turn ever faster there
    ridge = 2 * safe.absolute(phase - jnp.round(phase)) * jnp.minimum(rho / core, 1)
    steep = np.linalg.norm([1.0, 2 * depth / pitch, depth / (np.pi * core)])
    return (rho - radius + depth * ridge) / steep


def bolt(radius: float, length: float, pitch: float, depth: float, head: float = 0.0) -> Distance:
    """Threaded rod from the origin up z, with a hexagonal head below it, m.

    Args:
      radius: of the thread's crests.
      length: of the rod.
      pitch: rise of a turn.
      depth: of the thread.
      head: inner radius of the head, which is as high as the rod is thick; 0: none.
    """
    cap = hexagon(head, radius)

    def distance(point: Array, size: Array) -> Array:
        middle = safe.absolute(point[2] - length / 2) - length / 2
        rod = jnp.maximum(_thread(point, radius, pitch, depth), middle)
        return jnp.minimum(rod, cap(point + jnp.array([0, 0, radius]), size)) if head else rod

    return distance


def nut(radius: float, inner: float, half: float, pitch: float, depth: float, play: float = 0.0) -> Distance:
    """Hexagonal nut along z for a bolt of the same `radius`, `pitch` and `depth`, m.

    Args:
      radius: of the crests of the bolt's thread.
      inner: radius to the flats.
      half: of the height.
      pitch: rise of a turn.
      depth: of the thread.
      play: between the threads.
    """
    body = hexagon(inner, half)

    def distance(point: Array, size: Array) -> Array:
        return jnp.maximum(body(point, size), play - _thread(point, radius, pitch, depth))

    return distance


# --- what makes shapes of shapes


def union(*shapes: Distance) -> Distance:
    """All of the shapes."""
    return lambda point, size: jnp.min(jnp.stack([shape(point, size) for shape in shapes]))


def intersection(*shapes: Distance) -> Distance:
    """What the shapes have in common."""
    return lambda point, size: jnp.max(jnp.stack([shape(point, size) for shape in shapes]))


def subtraction(shape: Distance, *others: Distance) -> Distance:
    """A shape without the others."""
    removed = union(*others)
    return lambda point, size: jnp.maximum(shape(point, size), -removed(point, size))


def moved(shape: Distance, pos: tuple[float, float, float]) -> Distance:
    """A shape moved by `pos`, m."""
    return lambda point, size: shape(point - jnp.array(pos), size)
