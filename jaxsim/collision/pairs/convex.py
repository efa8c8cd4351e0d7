"""Pairs of convex geoms without a closed form: the general collider."""

from __future__ import annotations

from jaxsim.collision.convex import collide_convex
from jaxsim.collision.convex.hull import hulls_of
from jaxsim.collision.convex.solid import KINDS
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


def _most_points(first: GeomType, second: GeomType) -> int:
    """Of two faces four, of a face and an edge two, else one."""
    kinds = KINDS[first], KINDS[second]
    if not all(kind.edges for kind in kinds):
        return 1
    return 4 if all(kind.faces for kind in kinds) else 2


for _pair in PAIRS:
    _assets = hulls_of if GeomType.MESH in _pair else None
    collider(*_pair, points=_most_points(*_pair), exhaustive=64, general=True, assets=_assets)(collide_convex)
