"""Collision of geoms by their signed distance functions."""

from jaxsim.collision.field.baked import with_voxels, without_voxels
from jaxsim.collision.field.contact import collide_fields, collide_vertices
from jaxsim.collision.field.shapes import Fields, fields_of

__all__ = ["Fields", "collide_fields", "collide_vertices", "fields_of", "with_voxels", "without_voxels"]
