"""MJCF and URDF files to documents that can be edited."""

from jaxsim.mjcf.document import Document
from jaxsim.mjcf.element import Element
from jaxsim.mjcf.errors import MjcfError

__all__ = ["Document", "Element", "MjcfError"]
