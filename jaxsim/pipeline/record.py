"""What a step leaves in the history buffer: controls as they were given, and what sensors measured."""

from __future__ import annotations

import numpy as np
from jax import Array

from jaxsim.data import Data
from jaxsim.math.axis import take
from jaxsim.model import Model
from jaxsim.pipeline.history import insert, replace_channels
from jaxsim.pipeline.sensors.run import sensor_history
from jaxsim.structure.channels import actuator_channels

__all__ = ["record_history"]


def record_history(model: Model, data: Data) -> Array:
    """The history buffer (nhistory, W) at the end of a step, from data on which all stages have run."""
    changed = []
    for channels in actuator_channels(model.static):
        ctrl = take(data.ctrl, np.asarray(model.actuator_ctrladr[channels.owner]))
        changed.append((channels, insert(model, data.history, channels, data.time, ctrl[:, None])))
    return replace_channels(data.history, changed + sensor_history(model, data))
