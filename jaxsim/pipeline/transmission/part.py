"""What a type of transmission computes for its actuators."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from jax import Array

from jaxsim.data import Data
from jaxsim.math.axis import concat, take
from jaxsim.math.vector import cross, dot
from jaxsim.model import Model
from jaxsim.structure.transmissions import end_entries

__all__ = ["Part", "gear_of", "site_moments"]


class Part(NamedTuple):
    """Lengths and moment arms of some actuators.

    Attributes:
      ids: the actuators.
      length: of their force outputs, in order (m, W), m or rad.
      moment: of their moment entries, in order (k, W); `structure.transmissions.entries_of`.
    """

    ids: np.ndarray
    length: Array
    moment: Array


def gear_of(model: Model, ids: np.ndarray) -> Array:
    """Gears (n, 6, W) of the first output of each actuator."""
    return take(model.actuator_gear, model.actuator_outadr[ids])


def site_moments(model: Model, data: Data, ids: np.ndarray, sites: np.ndarray, push: Array) -> Array:
    """Moment entries (k, W) of actuators that push on sites.

    Args:
      model: the model.
      data: after `com_pos`.
      ids: the actuators.
      sites: first sites of their outputs, then second sites (2 m); -1: none, whatever the push.
      push: torques and forces on the sites (2 m, 6, W), torque first, about the sites, in the world frame.
    """
    ends, dofs = end_entries(model.static, ids)
    sites = np.maximum(sites, 0)
    arm = take(data.site_xpos, sites) - take(data.subtree_com, model.body_rootid[model.site_bodyid[sites]])
    torque, force = push[:, :3], push[:, 3:]
    wrench = concat([torque + cross(arm, force), force], axis=1)
    return dot(take(data.cdof, dofs), take(wrench, ends))
