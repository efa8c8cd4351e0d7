"""Mechanics on the host, in numpy: poses, inertia, tendons and transmissions of one configuration or of many at once.

Configurations are the leading axes of every array, here written `...`; there may be none.

`pipeline/` computes the same on the device. Here it is numpy, since loading a model must not wait for XLA to compile.
Formulas stand in both; each is tested against the C engine.
"""

from jaxsim.compile.kinematics.massmatrix import mass_matrix, spatial_inertia
from jaxsim.compile.kinematics.mechanism import Fields, Mechanism
from jaxsim.compile.kinematics.pose import Pose, kinematics
from jaxsim.compile.kinematics.tendon import Routes, tendons
from jaxsim.compile.kinematics.transmission import transmission

__all__ = [
    "Fields",
    "Mechanism",
    "Pose",
    "Routes",
    "kinematics",
    "mass_matrix",
    "spatial_inertia",
    "tendons",
    "transmission",
]
