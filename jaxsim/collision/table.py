"""The dispatch table: which collider serves a pair of geom types."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from jax import Array

from jaxsim.collision import primitives, rounds
from jaxsim.collision.box_box import box_box
from jaxsim.collision.capsule_box import capsule_box
from jaxsim.collision.points import Points, Shape
from jaxsim.enums import GeomType

__all__ = ["COLLIDERS", "Collider"]


class Collider(NamedTuple):
    """How a pair of geom types is collided.

    Attributes:
      function: `(shape1, shape2, margin) -> Points`, for all pairs of these types at once; components (npair, W).
        `margin` (npair, 1 or W) is the distance at which contacts are detected, m.
      points: most points a pair can have.
      usual: points a touching pair usually has; sizes the contact buffer.
      exhaustive: pairs up to which all are computed; above, a broad phase picks the nearest.
    """

    function: Callable[[Shape, Shape, Array], Points]
    points: int
    usual: int
    exhaustive: int


_PLANE, _SPHERE, _CAPSULE, _BOX = GeomType.PLANE, GeomType.SPHERE, GeomType.CAPSULE, GeomType.BOX
_CYLINDER, _ELLIPSOID = GeomType.CYLINDER, GeomType.ELLIPSOID

COLLIDERS: dict[tuple[int, int], Collider] = {
    (_PLANE, _SPHERE): Collider(primitives.plane_sphere, 1, 1, 1024),
    (_PLANE, _CAPSULE): Collider(primitives.plane_capsule, 2, 2, 1024),
    (_PLANE, _BOX): Collider(primitives.plane_box, 4, 4, 1024),
    (_PLANE, _CYLINDER): Collider(rounds.plane_cylinder, 4, 4, 1024),
    (_PLANE, _ELLIPSOID): Collider(rounds.plane_ellipsoid, 1, 1, 1024),
    (_SPHERE, _SPHERE): Collider(primitives.sphere_sphere, 1, 1, 512),
    (_SPHERE, _CAPSULE): Collider(primitives.sphere_capsule, 1, 1, 512),
    (_SPHERE, _BOX): Collider(primitives.sphere_box, 1, 1, 256),
    (_SPHERE, _CYLINDER): Collider(rounds.sphere_cylinder, 1, 1, 256),
    (_CAPSULE, _CAPSULE): Collider(primitives.capsule_capsule, 2, 1, 256),
    (_CAPSULE, _BOX): Collider(capsule_box, 2, 2, 64),
    (_BOX, _BOX): Collider(box_box, 8, 8, 32),
}
