"""What a step leaves in the history buffer: controls as they were given, and what sensors measured."""

from __future__ import annotations

from jax import Array

from jaxsim.data import Data
from jaxsim.model import Model
from jaxsim.pipeline.history import insert, replace_channels
from jaxsim.pipeline.sensors.run import sensor_history
from jaxsim.structure.channels import actuator_channels, controls_of

__all__ = ["record_history"]


def record_history(model: Model, data: Data) -> Array:
    """The history buffer (nhistory, W) at the end of a step, from data on which all stages have run."""
    changed = []
    for channels in actuator_channels(model.static):
        ctrl = data.ctrl[controls_of(model.static, channels)]
        changed.append((channels, insert(model, data.history, channels, data.time, ctrl)))
    return replace_channels(data.history, changed + sensor_history(model, data))
