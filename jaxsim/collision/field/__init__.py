"""Collision of geoms by their signed distance functions."""

from jaxsim.collision.field.baked import with_voxels, without_voxels
from jaxsim.collision.field.contact import collide_fields, collide_vertices
from jaxsim.collision.field.shapes import Field, Fields, field_of_meshes, fields_of, has_function

__all__ = [
    "Field",
    "Fields",
    "collide_fields",
    "collide_vertices",
    "field_of_meshes",
    "fields_of",
    "has_function",
    "with_voxels",
    "without_voxels",
]
