"""Geometry -> fixed contact buffer, worlds on the last axis."""

from jaxsim.collision.driver import collision
from jaxsim.collision.frame import make_frame
from jaxsim.collision.table import COLLIDERS

__all__ = ["COLLIDERS", "collision", "make_frame"]
