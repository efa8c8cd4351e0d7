"""Watches for worlds that are no longer finite (mj_checkPos, mj_checkVel, mj_checkAcc); native layout."""

from __future__ import annotations

import jax.numpy as jnp
from jax import Array

from jaxsim.data import Data
from jaxsim.enums import DisableBit
from jaxsim.model import Model
from jaxsim.pipeline.actuation import bad_values
from jaxsim.pipeline.blank import initial_state
from jaxsim.results import WarningBit

__all__ = ["guard_acceleration", "guard_state"]


def guard_state(model: Model, state: dict[str, Array]) -> tuple[dict[str, Array], Array]:
    """Resets worlds whose state is not valid, zeroes controls that are not; returns the warning bits too."""
    bad_qpos, bad_qvel, bad_ctrl = (
        bad_values(state["qpos"]),
        bad_values(state["qvel"]),
        bad_values(state["ctrl"]),
    )
    warning = (
        state["warning"]
        | jnp.where(bad_qpos, WarningBit.BAD_QPOS, 0)
        | jnp.where(bad_qvel, WarningBit.BAD_QVEL, 0)
        | jnp.where(bad_ctrl, WarningBit.BAD_CTRL, 0)
    )
    state = state | {"ctrl": jnp.where(bad_ctrl, 0, state["ctrl"])}
    if model.opt.disableflags & DisableBit.AUTORESET:
        return state, warning
    return _replace_where(bad_qpos | bad_qvel, state, _initial(model)), warning


def guard_acceleration(model: Model, before: dict[str, Array], after: Data) -> Data:
    """Resets the worlds that the step made invalid, or leaves them where they were if autoreset is off."""
    failed = bad_values(after.qacc) | bad_values(after.qpos) | bad_values(after.qvel)
    fallback = before if model.opt.disableflags & DisableBit.AUTORESET else _initial(model)
    moved = {name: getattr(after, name) for name in ("time", "qpos", "qvel", "act", "qacc_warmstart")}
    moved = _replace_where(failed, moved, fallback)
    return after.replace(warning=after.warning | jnp.where(failed, WarningBit.BAD_QACC, 0), **moved)


def _initial(model: Model) -> dict[str, Array]:
    """The state at qpos0 with a worlds axis; fields that are zero there are left out."""
    state = initial_state(model)
    return state | {"eq_active": state["eq_active"][..., None]}


def _replace_where(where: Array, state: dict[str, Array], by: dict[str, Array]) -> dict[str, Array]:
    return {name: jnp.where(where, by.get(name, jnp.zeros((), x.dtype)), x) for name, x in state.items()}
