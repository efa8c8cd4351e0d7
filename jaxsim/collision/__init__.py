"""Geometry -> fixed contact buffer, worlds on the last axis."""

from jaxsim.collision.driver import collision
from jaxsim.collision.frame import make_frame

__all__ = ["collision", "make_frame"]
