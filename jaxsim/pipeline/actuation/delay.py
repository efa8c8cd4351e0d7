"""Controls that take effect later, as the history buffer keeps them."""

from __future__ import annotations

import jax.numpy as jnp
from jax import Array

from jaxsim.data import Data
from jaxsim.math.axis import replace_rows, take
from jaxsim.model import Model
from jaxsim.pipeline.history import read
from jaxsim.structure.channels import actuator_channels, controls_of

__all__ = ["delayed_controls"]


def delayed_controls(model: Model, data: Data) -> Array:
    """Controls (nu, W) as they were `actuator_delay` ago, where that is not zero."""
    ctrl = data.ctrl
    if not model.has("actuator_delay"):
        return ctrl
    for channels in actuator_channels(model.static):
        delay = take(model.actuator_delay, channels.owner)
        past = read(model, data.history, channels, data.time - delay)
        rows = controls_of(model.static, channels).reshape(-1)
        late = jnp.repeat(delay != 0, channels.dim, axis=0)
        received = jnp.where(late, past.reshape(-1, past.shape[-1]), take(ctrl, rows))
        ctrl = replace_rows(ctrl, rows, received)
    return ctrl
