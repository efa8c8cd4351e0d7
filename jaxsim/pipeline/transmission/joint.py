"""Actuators on joints."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxsim.data import Data
from jaxsim.enums import JointType, TrnType
from jaxsim.math import quaternion as quat
from jaxsim.math.axis import concat, take, take_blocks
from jaxsim.math.vector import dot
from jaxsim.model import Model
from jaxsim.pipeline.transmission.part import Part, gear_of

__all__ = ["on_joints", "orientations"]


def on_joints(model: Model, data: Data, ids: np.ndarray) -> list[Part]:
    """Slides and hinges turn the gear's first number; ball joints are driven about an axis, free joints by a wrench."""
    kind = model.jnt_type[model.actuator_trnid[ids, 0]]
    scalar, ball, free = (
        ids[chosen] for chosen in (kind >= JointType.SLIDE, kind == JointType.BALL, kind == JointType.FREE)
    )
    parts = []
    if len(scalar):
        gear = gear_of(model, scalar)[:, 0]
        position = take(data.qpos, model.jnt_qposadr[model.actuator_trnid[scalar, 0]])
        parts.append(Part(scalar, gear * position, gear))
    if len(ball):
        orientation = orientations(model, data, model.actuator_trnid[ball, 0])
        axis = _in_child(model, ball, orientation, gear_of(model, ball)[:, :3])
        parts.append(Part(ball, dot(quat.logarithm(orientation), axis), _flat(axis)))
    if len(free):
        gear = gear_of(model, free)
        orientation = orientations(model, data, model.actuator_trnid[free, 0])
        axis = _in_child(model, free, orientation, gear[:, 3:])
        none = jnp.zeros((len(free), 1), gear.dtype)
        parts.append(Part(free, none, _flat(concat([gear[:, :3], axis], axis=1))))
    return parts


def orientations(model: Model, data: Data, joints: np.ndarray) -> Array:
    """Orientations (n, 4, W) of ball and free joints."""
    first = model.jnt_qposadr[joints] + np.where(model.jnt_type[joints] == JointType.FREE, 3, 0)
    return quat.normalize(take_blocks(data.qpos, first, 4))


def _in_child(model: Model, ids: np.ndarray, orientation: Array, axis: Array) -> Array:
    """Axes (n, 3, W) in the joints' own frames, given there, or in the parents' frames by JOINTINPARENT."""
    in_parent = model.actuator_trntype[ids] == TrnType.JOINTINPARENT
    if not in_parent.any():
        return axis
    rotated = quat.rotate_inverse(orientation, axis)
    return rotated if in_parent.all() else jnp.where(jnp.asarray(in_parent[:, None, None]), rotated, axis)


def _flat(x: Array) -> Array:
    return x.reshape(-1, x.shape[-1])
