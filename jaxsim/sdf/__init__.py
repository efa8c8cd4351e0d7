"""Signed distance functions: shapes, what makes new ones of them, and grids made of meshes; for geoms of type `sdf`.

A distance is a pure function `(point (3,), size (3,)) -> m`: the point in the frame of the shape, negative inside,
`size` the geom's own `geom_size`, so that a shape may depend on it and be differentiated by it. What a combination
gives is a bound, not the distance itself, inside of unions and outside of intersections: its zero set is exact, and
nowhere does it grow faster than the point moves, which is what collision asks for (Hart 1996, "Sphere tracing").
"""

from jaxsim.sdf.shapes import (
    PRIMITIVES,
    Distance,
    bolt,
    bowl,
    box,
    capsule,
    cylinder,
    ellipsoid,
    gear,
    hexagon,
    intersection,
    moved,
    nut,
    plane,
    sphere,
    subtraction,
    torus,
    union,
)
from jaxsim.sdf.voxels import Voxels, voxels

__all__ = [
    "PRIMITIVES",
    "Distance",
    "Voxels",
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
    "voxels",
]
