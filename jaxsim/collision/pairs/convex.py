"""Pairs of convex geoms without a closed form: the general collider."""

from __future__ import annotations

from collections.abc import Callable

from jax import Array

from jaxsim.collision.convex import collide_convex
from jaxsim.collision.convex.hull import hulls_of
from jaxsim.collision.convex.solid import KINDS
from jaxsim.collision.points import Points, Search, Shape
from jaxsim.enums import GeomType
from jaxsim.structure.colliders import collider

__all__ = ["PAIRS"]

_CAPSULE, _ELLIPSOID, _CYLINDER = GeomType.CAPSULE, GeomType.ELLIPSOID, GeomType.CYLINDER

PAIRS = (
    (GeomType.SPHERE, _ELLIPSOID),
    (_CAPSULE, _ELLIPSOID),
    (_CAPSULE, _CYLINDER),
    (_ELLIPSOID, _ELLIPSOID),
    (_ELLIPSOID, _CYLINDER),
    (_ELLIPSOID, GeomType.BOX),
    (_CYLINDER, _CYLINDER),
    (_CYLINDER, GeomType.BOX),
    *((kind, GeomType.MESH) for kind in KINDS if kind != GeomType.HFIELD),
)


def _between(first: GeomType, second: GeomType) -> Callable[..., Points]:
    def collide(a: Shape, b: Shape, reach: Array, search: Search, *, multi: bool) -> Points:
        del multi
        return collide_convex((first, second), a, b, reach, search)

    return collide


for _pair in PAIRS:
    _assets = hulls_of if GeomType.MESH in _pair else None
    collider(*_pair, points=1, exhaustive=64, iterative=True, general=True, assets=_assets)(_between(*_pair))
