"""What a plan should make small, and the simulation of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import Array, lax
from jax.core import Tracer

from jaxsim.data import Data
from jaxsim.model import Model
from jaxsim.pipeline.admit import admit
from jaxsim.pipeline.forward import step

__all__ = ["Cost", "State", "Term", "check", "limits", "state_of", "total_cost", "with_state"]

Term = Callable[[Model, Data], Array]


class Cost(NamedTuple):
    """The cost of a trajectory of T steps: the sum of `running` at states 0 to T - 1 and `terminal` at state T.

    Both are smooth functions of one world that return a scalar. They read `qpos`, `qvel`, `act` and `time`, and
    `running` also `ctrl`, the control held from that state on. What follows from a state, such as `xpos`, is not up to
    date: call `jaxsim.kinematics(model, data)`, or as much of `forward` as is needed, at their beginning.

    Attributes:
      running: `(model, data) -> scalar`, of a state and the control there.
      terminal: `(model, data) -> scalar`, of the last state.
    """

    running: Term
    terminal: Term = lambda model, data: jnp.zeros((), data.qpos.dtype)


class State(NamedTuple):
    """What a step changes, and the next one reads.

    Attributes:
      qpos: (nq,).
      qvel: (nv,).
      act: (na,).
      time: s.
      warmstart: accelerations from which the solver starts, (nv,); they change no result.
    """

    qpos: Array
    qvel: Array
    act: Array
    time: Array
    warmstart: Array


def state_of(data: Data) -> State:
    """The state of one world."""
    return State(data.qpos, data.qvel, data.act, data.time, lax.stop_gradient(data.qacc_warmstart))


def with_state(data: Data, state: State, ctrl: Array | None = None) -> Data:
    """The data of a state, and of a control (nu,) if given."""
    return data.replace(
        qpos=state.qpos,
        qvel=state.qvel,
        act=state.act,
        time=state.time,
        qacc_warmstart=state.warmstart,
        ctrl=data.ctrl if ctrl is None else ctrl,
    )


def total_cost(model: Model, data: Data, ctrl: Array, cost: Cost) -> Array:
    """The cost of controls (T, nu) from the state of one world.

    Raises:
      ValueError: controls do not have the shape of the model's.
    """
    check("total_cost", model, data, ctrl, cost)

    def body(state: State, u: Array) -> tuple[State, Array]:
        at = with_state(data, state, u)
        return state_of(step(model, at)), cost.running(model, at)

    end, running = lax.scan(body, state_of(data), ctrl)
    return jnp.sum(running) + cost.terminal(model, with_state(data, end))


def limits(model: Model, bounds: tuple[Array, Array] | None = None) -> tuple[Array, Array]:
    """Lower and upper limits (nu,) of controls: those given, or the model's, infinite where it has none.

    Raises:
      ValueError: what is given does not have the shape of controls, or a lower limit is above its upper one.
    """
    if bounds is None:
        limited = np.asarray(model.actuator_ctrllimited, bool)
        low, high = model.actuator_ctrlrange[:, 0], model.actuator_ctrlrange[:, 1]
        return jnp.where(limited, low, -jnp.inf), jnp.where(limited, high, jnp.inf)
    for x in bounds:
        if jnp.shape(x) not in ((), (model.nu,)):
            raise ValueError(
                f"bounds: shape {jnp.shape(x)}; expected a lower and an upper limit, ({model.nu},) each"
            )
    known = not any(isinstance(x, Tracer) for x in bounds)
    if known and np.greater(*map(np.asarray, bounds)).any():
        raise ValueError("bounds: a lower limit is above its upper one; expected (lower, upper)")
    low, high = map(jnp.asarray, bounds)
    return low, high


def check(who: str, model: Model, data: Data, ctrl: Array, cost: Cost | None = None) -> None:
    """Refuses models that cannot be simulated, and data, controls and costs that are not those of one world.

    Raises:
      ValueError: controls do not have the shape (T, nu), or data holds several worlds.
      TypeError: the cost is not a Cost, as when it is a function.
      UnsupportedError: the model asks for physics that jaxsim does not compute yet.
    """
    if jnp.ndim(ctrl) != 2 or ctrl.shape[1] != model.nu or not len(ctrl):
        raise ValueError(f"{who}: ctrl has shape {jnp.shape(ctrl)}; expected (T, {model.nu})")
    admit(model, data, who)
    if cost is not None and not isinstance(cost, Cost):
        raise TypeError(f"{who}: cost is of type {type(cost).__name__}; expected Cost(running, terminal)")
