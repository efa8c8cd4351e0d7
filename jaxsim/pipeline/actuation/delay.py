"""Controls that take effect later, as the history buffer keeps them."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxsim.data import Data
from jaxsim.math.axis import take
from jaxsim.model import Model
from jaxsim.pipeline.actuation.group import join
from jaxsim.pipeline.history import read
from jaxsim.structure.channels import actuator_channels

__all__ = ["delayed_controls"]


def delayed_controls(model: Model, data: Data) -> Array:
    """Controls (nu, W) as they were `actuator_delay` ago, where that is not zero."""
    ctrl = data.ctrl
    if not model.has("actuator_delay"):
        return ctrl
    for channels in actuator_channels(model.static):
        delay = take(model.actuator_delay, channels.owner)
        past = read(model, data.history, channels, data.time - delay)[:, 0]
        rows = model.actuator_ctrladr[channels.owner]
        rest = np.setdiff1d(np.arange(model.nu), rows)
        received = jnp.where(delay != 0, past, take(ctrl, rows))
        ctrl = join([(rest, take(ctrl, rest)), (rows, received)], model.nu, ctrl.dtype)
    return ctrl
