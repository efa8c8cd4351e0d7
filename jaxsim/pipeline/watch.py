"""Watches for worlds that are no longer finite (mj_checkPos, mj_checkVel, mj_checkAcc); native layout.

A world that a step makes invalid keeps nothing of that step: neither its numbers nor its derivatives, which are as
little finite. That is why a derivative, which runs the step again, is told which worlds failed, and gives those
harmless inputs: a selection of outputs alone would leave zero times infinity.
"""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from jaxsim import worlds
from jaxsim.data import Data
from jaxsim.enums import DisableBit
from jaxsim.math.straight_kernel import straight
from jaxsim.model import Model
from jaxsim.pipeline.actuation import bad_values
from jaxsim.pipeline.blank import blank, initial_state
from jaxsim.pipeline.stages import State
from jaxsim.pipeline.work import Found
from jaxsim.results import WarningBit

__all__ = ["Outcome", "guard_state", "guard_step", "harmless"]


class Outcome(NamedTuple):
    """What a derivative needs to know of a step: the *solution* that `worlds.lift` hands back to it.

    Attributes:
      found: by searching; of Runge-Kutta's four stages, which are on a new first axis.
      failed: worlds that the step made invalid, (W,).
    """

    found: Found
    failed: Array


@jax.named_call
def guard_state(model: Model, state: State) -> State:
    """Resets worlds whose positions or velocities are not valid, unless autoreset is off, and says so in `warning`."""
    bad_qpos, bad_qvel = bad_values(state["qpos"]), bad_values(state["qvel"])
    warning = _with(_with(state["warning"], bad_qpos, WarningBit.BAD_QPOS), bad_qvel, WarningBit.BAD_QVEL)
    if not model.opt.disableflags & DisableBit.AUTORESET:
        state = _select(bad_qpos | bad_qvel, _initial(model), state)
    return state | {"warning": warning}


@jax.named_call
def harmless(model: Model, state: State, known: Outcome | None) -> tuple[State, Found | None]:
    """The state from which to run a step again, and what is known of it: at qpos0 in worlds where it failed."""
    if known is None:
        return state, None
    safe = _select(known.failed, _initial(model), state)
    found = jax.tree.map(lambda x: jnp.where(known.failed, jnp.zeros((), x.dtype), x), known.found)
    return safe | {"warning": state["warning"]}, found


@straight
@jax.named_call
def guard_step(model: Model, before: State, after: Data, known: Outcome | None) -> tuple[Data, Array]:
    """Resets worlds that the step made invalid, or leaves them where they were if autoreset is off.

    Args:
      model: the model.
      before: the state that the step began with.
      after: the data that it ended with.
      known: from an earlier run of the same step, if there was one.

    Returns:
      The data, in which the results of such worlds are zero as those of `make_data`, and which worlds failed (W,).
    """
    bad_qacc, bad_qpos, bad_qvel = (bad_values(x) for x in (after.qacc, after.qpos, after.qvel))
    failed = bad_qacc | bad_qpos | bad_qvel if known is None else known.failed
    unsolved = after.warning & ~int(WarningBit.NOT_CONVERGED) | before["warning"]
    warning = jnp.where(bad_qacc, unsolved, after.warning)  # what has no solution does not lack iterations
    warning = _with(warning, bad_qacc, WarningBit.BAD_QACC)
    warning = _with(warning, bad_qpos & ~bad_qacc, WarningBit.BAD_QPOS)
    warning = _with(warning, bad_qvel & ~bad_qacc, WarningBit.BAD_QVEL)
    fallback = before if model.opt.disableflags & DisableBit.AUTORESET else _initial(model)
    empty = worlds.expand(blank(model)).replace(**fallback)
    after = after.replace(work=None)
    return jax.tree.map(lambda e, x: jnp.where(failed, e, x), empty, after).replace(warning=warning), failed


def _with(warning: Array, where: Array, bit: WarningBit) -> Array:
    return warning | jnp.where(where, int(bit), 0).astype(warning.dtype)


def _initial(model: Model) -> State:
    """The state at qpos0 with a worlds axis; fields that are zero there are left out."""
    state = initial_state(model)
    return state | {"eq_active": state["eq_active"][..., None]}


def _select(where: Array, chosen: State, other: State) -> State:
    """`chosen` in some worlds, zero for fields that it has not, and `other` in the rest."""
    return {name: jnp.where(where, chosen.get(name, jnp.zeros((), x.dtype)), x) for name, x in other.items()}
