"""Pictures of simulations: images and videos without a display, and a viewer in the browser."""

from jaxsim.viewer.browser import Viewer, view
from jaxsim.viewer.cameras import FreeCamera
from jaxsim.viewer.decor import Show
from jaxsim.viewer.pictures import render
from jaxsim.viewer.session import Session
from jaxsim.viewer.video import write

__all__ = ["FreeCamera", "Session", "Show", "Viewer", "render", "view", "write"]
