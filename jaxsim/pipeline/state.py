"""The state of a world as one vector, chosen by the bits of mjtState."""

from __future__ import annotations

import enum
import math
from typing import Any

import jax.numpy as jnp
from jax import Array

from jaxsim.data import Data
from jaxsim.model import Model
from jaxsim.pipeline.admit import check_state, state_shapes

__all__ = ["State", "get_state", "set_state", "state_size"]


class State(enum.IntFlag):
    """Components of the state, in the order in which they are concatenated; values are mjtState's."""

    TIME = 1 << 0
    QPOS = 1 << 1
    QVEL = 1 << 2
    ACT = 1 << 3
    HISTORY = 1 << 4
    WARMSTART = 1 << 5
    CTRL = 1 << 6
    QFRC_APPLIED = 1 << 7
    XFRC_APPLIED = 1 << 8
    EQ_ACTIVE = 1 << 9
    MOCAP_POS = 1 << 10
    MOCAP_QUAT = 1 << 11
    USERDATA = 1 << 12
    PLUGIN = 1 << 13
    PHYSICS = QPOS | QVEL | ACT | HISTORY
    FULLPHYSICS = TIME | PHYSICS | PLUGIN
    USER = CTRL | QFRC_APPLIED | XFRC_APPLIED | EQ_ACTIVE | MOCAP_POS | MOCAP_QUAT | USERDATA
    INTEGRATION = FULLPHYSICS | USER | WARMSTART


_FIELDS = {
    State.TIME: "time",
    State.QPOS: "qpos",
    State.QVEL: "qvel",
    State.ACT: "act",
    State.HISTORY: "history",
    State.WARMSTART: "qacc_warmstart",
    State.CTRL: "ctrl",
    State.QFRC_APPLIED: "qfrc_applied",
    State.XFRC_APPLIED: "xfrc_applied",
    State.EQ_ACTIVE: "eq_active",
    State.MOCAP_POS: "mocap_pos",
    State.MOCAP_QUAT: "mocap_quat",
    State.USERDATA: "userdata",
}


_PLASTIC = 1 << 14
"""A component of MuJoCo 4, of which models here have nothing."""


def _chosen(spec: Any) -> list[str]:
    spec = int(spec)
    if not 0 <= spec <= State.INTEGRATION | _PLASTIC:
        raise ValueError(
            f"state spec {spec} is not a combination of State bits, 0 to {int(State.INTEGRATION)}"
        )
    return [name for bit, name in _FIELDS.items() if spec & bit]


def state_size(model: Model, spec: int) -> int:
    """Length of the vector of `get_state` (mj_stateSize).

    Args:
      model: the model.
      spec: bits of `State`; a `mujoco.mjtState` will do, here as everywhere.

    Raises:
      ValueError: `spec` has bits that mjtState has not.
    """
    shapes = state_shapes(model.static)
    return sum(math.prod(shapes[name]) for name in _chosen(spec))


def get_state(model: Model, data: Data, spec: int) -> Array:
    """Copies components of the state of one world into a vector (mj_getState).

    Args:
      model: the model.
      data: one world.
      spec: bits of `State`.

    Raises:
      ValueError: `spec` has bits that mjtState has not, or `data` has not the shapes of one world.
    """
    check_state(model, data, "get_state")
    dtype = data.qpos.dtype
    parts = [jnp.ravel(getattr(data, name)).astype(dtype) for name in _chosen(spec)]
    return jnp.concatenate(parts) if parts else jnp.zeros((0,), dtype)


def set_state(model: Model, data: Data, state: Array, spec: int) -> Data:
    """Replaces components of the state of one world by those in a vector (mj_setState).

    Args:
      model: the model.
      data: one world.
      state: a vector that `get_state` made with the same `spec`.
      spec: bits of `State`.

    Raises:
      ValueError: the vector has the wrong length, or `spec` has bits that mjtState has not.
    """
    check_state(model, data, "set_state")
    if state.shape != (state_size(model, spec),):
        raise ValueError(f"state has shape {state.shape}; spec {spec} needs ({state_size(model, spec)},)")
    fields, start = {}, 0
    for name in _chosen(spec):
        old = getattr(data, name)
        size = math.prod(old.shape)
        fields[name] = state[start : start + size].reshape(old.shape).astype(old.dtype)
        start += size
    return data.replace(**fields)
