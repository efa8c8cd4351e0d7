"""Geoms of type SDF against planes, primitives, meshes and each other: by distance functions of the user's."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from jaxsim.collision.field import collide_fields, collide_vertices, fields_of, has_function
from jaxsim.enums import GeomType
from jaxsim.pytree import Static
from jaxsim.sdf import PRIMITIVES
from jaxsim.structure.colliders import Collider, collider
from jaxsim.structure.pairs import GeomPairs

__all__ = ["POINTS"]

POINTS = 8
"""Most points of a pair."""


def _fields(static: Static) -> tuple[Any, ...]:
    return tuple(sorted(static.hooks.sdfs, key=lambda row: row[0]))


def _has_none(static: Static, pairs: GeomPairs) -> np.ndarray:
    """Pairs with a geom of type SDF whose mesh has no function."""
    bad = (static.geom_type == GeomType.SDF) & ~has_function(static)
    return bad[pairs.geom1] | bad[pairs.geom2]


def _with_primitive(kind: GeomType, made: Collider, static: Static, pairs: GeomPairs) -> Collider:
    """The collider of a primitive type, or of SDFs, for the functions of a model."""
    del pairs
    own = _fields(static)
    first = own if kind == GeomType.SDF else ((-1, PRIMITIVES[kind]),)
    return made._replace(
        function=functools.partial(
            made.function, kinds=(kind, GeomType.SDF), functions=(first, own), count=POINTS
        )
    )


def _with_mesh(made: Collider, static: Static, pairs: GeomPairs) -> Collider:
    """The collider of meshes for the functions of a model."""
    del pairs
    return made._replace(function=functools.partial(made.function, functions=_fields(static), count=POINTS))


for _kind in (*PRIMITIVES, GeomType.SDF):
    collider(
        _kind,
        GeomType.SDF,
        points=POINTS,
        usual=POINTS // 2,
        assets=fields_of,
        iterative=True,
        fitted=functools.partial(_with_primitive, _kind),
        refuses=_has_none,
    )(collide_fields)
collider(
    GeomType.MESH,
    GeomType.SDF,
    points=POINTS,
    usual=POINTS // 2,
    assets=fields_of,
    iterative=True,
    fitted=_with_mesh,
    refuses=_has_none,
)(collide_vertices)
