"""Which collider serves a pair of geom types: fills the dispatch table."""

from __future__ import annotations

from jaxsim.collision import primitives, rounds
from jaxsim.collision.box_box import box_box
from jaxsim.collision.capsule_box import capsule_box
from jaxsim.enums import GeomType
from jaxsim.structure.colliders import COLLIDERS, Collider

__all__ = ["COLLIDERS"]

_PLANE, _SPHERE, _CAPSULE, _BOX = GeomType.PLANE, GeomType.SPHERE, GeomType.CAPSULE, GeomType.BOX
_CYLINDER, _ELLIPSOID = GeomType.CYLINDER, GeomType.ELLIPSOID

COLLIDERS |= {
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
