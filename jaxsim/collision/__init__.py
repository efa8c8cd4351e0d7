"""Geometry -> fixed contact buffer, worlds on the last axis."""

from jaxsim.collision import pairs
from jaxsim.collision.driver import collision
from jaxsim.collision.frame import make_frame
from jaxsim.structure.colliders import COLLIDERS, collider

__all__ = ["COLLIDERS", "collider", "collision", "make_frame", "pairs"]
