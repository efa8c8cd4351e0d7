"""Forces of the medium on bodies (computation chapter, fluid forces): a model by inertias, and one by ellipsoids."""

from jaxsim.pipeline.fluid.ellipsoid import geom_fluid
from jaxsim.pipeline.fluid.force import fluid_force, fluid_slope, has_fluid

__all__ = ["fluid_force", "fluid_slope", "geom_fluid", "has_fluid"]
