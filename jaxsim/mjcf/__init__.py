"""MJCF and URDF files to an editable `Spec`."""

from jaxsim.mjcf.element import Element
from jaxsim.mjcf.errors import MjcfError
from jaxsim.mjcf.spec import Spec

__all__ = ["Element", "MjcfError", "Spec"]
