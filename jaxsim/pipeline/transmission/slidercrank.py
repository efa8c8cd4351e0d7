"""Slider-cranks: a rod from a pin on a crank to a slider on an axis (MJCF reference, `actuator/general/cranksite`)."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np

from jaxsim.data import Data
from jaxsim.math import safe
from jaxsim.math.axis import concat, take
from jaxsim.math.vector import cross, dot
from jaxsim.model import Model
from jaxsim.pipeline.transmission.part import Part, gear_of, site_moments

__all__ = ["on_cranks"]


def on_cranks(model: Model, data: Data, ids: np.ndarray) -> list[Part]:
    """The position of the slider on its axis, the third of its site.

    With v from the site to the pin, u the axis and r the rod, the length is u.v - sqrt((u.v)^2 + r^2 - v.v); u.v where
    the pin is too far away.
    """
    pin, slider = model.actuator_trnid[ids].T
    gear = gear_of(model, ids)[:, 0]
    axis = take(data.site_xmat, slider)[:, :, 2]
    v = take(data.site_xpos, pin) - take(data.site_xpos, slider)
    along, rod = dot(v, axis), take(model.actuator_cranklength, ids)
    square = along * along + rod * rod - dot(v, v)
    root = safe.sqrt(square)
    reached = (square > 0)[:, None]
    share = jnp.where(reached, 1 - safe.divide(along, root)[:, None], 1)
    by_pin = share * axis + jnp.where(reached, safe.divide(v, root[:, None]), 0)
    by_axis = share * v
    push, torque = gear[:, None] * by_pin, gear[:, None] * cross(axis, by_axis)
    pushes = concat([concat([jnp.zeros_like(push), push], axis=1), concat([torque, -push], axis=1)])
    moment = site_moments(model, data, ids, np.concatenate([pin, slider]), pushes)
    return [Part(ids, gear * (along - root), moment)]
