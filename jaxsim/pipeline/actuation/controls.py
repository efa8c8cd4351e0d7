"""Controls as the actuators get them: delayed, clamped, and zero in worlds where any is bad."""

from __future__ import annotations

import jax.numpy as jnp
from jax import Array

from jaxsim.data import Data
from jaxsim.enums import DisableBit
from jaxsim.math.constants import MAXVAL
from jaxsim.model import Model
from jaxsim.pipeline.actuation.clamp import clamped
from jaxsim.pipeline.actuation.delay import delayed_controls

__all__ = ["bad_values", "received_controls"]


def bad_values(x: Array) -> Array:
    """True (W,) for worlds in which any of x (..., W) is not finite or above 1e10."""
    bad = ~(jnp.abs(x) <= MAXVAL)
    return jnp.any(bad, axis=tuple(range(bad.ndim - 1)))


def received_controls(model: Model, data: Data) -> tuple[Array, Array]:
    """Delayed and clamped controls (nu, W), zero in worlds where any is bad, and which worlds those are (W,)."""
    ctrl = delayed_controls(model, data)
    if not model.opt.disableflags & DisableBit.CLAMPCTRL:
        limited = model.actuator_ctrllimited.astype(bool)
        ctrl = clamped(ctrl, limited, model.actuator_ctrlrange[:, 0], model.actuator_ctrlrange[:, 1])
    bad = bad_values(ctrl)
    return jnp.where(bad, 0, ctrl), bad
