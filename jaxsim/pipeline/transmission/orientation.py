"""Orientations: rotation vectors of ball joints, or of sites relative to others; three outputs each."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np

from jaxsim.data import Data
from jaxsim.math import quaternion as quat
from jaxsim.math.axis import concat, take
from jaxsim.model import Model
from jaxsim.pipeline.transmission.joint import orientations
from jaxsim.pipeline.transmission.part import Part, site_moments
from jaxsim.pipeline.transmission.site import relative_rotation

__all__ = ["on_orientations"]


def on_orientations(model: Model, data: Data, ids: np.ndarray) -> list[Part]:
    """Torques are about the axes of the joint's child, or of the first site."""
    target, reference = model.actuator_trnid[ids].T
    parts = []
    ball, sited = ids[reference < 0], ids[reference >= 0]
    if len(ball):
        turn = quat.logarithm(orientations(model, data, target[reference < 0]))
        parts.append(Part(ball, turn.reshape(-1, turn.shape[-1]), jnp.ones((3 * len(ball), 1), turn.dtype)))
    if len(sited):
        first, second = target[reference >= 0], reference[reference >= 0]
        turn = relative_rotation(model, data, first, second)
        axes = jnp.swapaxes(take(data.site_xmat, first), 1, 2)
        torque = axes.reshape(-1, 3, axes.shape[-1])
        push = concat([torque, jnp.zeros_like(torque)], axis=1)
        sites = np.concatenate([np.repeat(first, 3), np.repeat(second, 3)])
        moment = site_moments(model, data, sited, sites, concat([push, -push]))
        parts.append(Part(sited, turn.reshape(-1, turn.shape[-1]), moment))
    return parts
