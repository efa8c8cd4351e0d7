"""What a plan should make small, and the simulation of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax
from jax.core import Tracer
from jax.interpreters.partial_eval import dce_jaxpr
from numpy.typing import ArrayLike

from jaxsim.data import STATE_FIELDS, Data
from jaxsim.hints import check_counts
from jaxsim.model import Model
from jaxsim.pipeline.admit import admit
from jaxsim.pipeline.forward import step
from jaxsim.results import is_lost

__all__ = [
    "Cost",
    "State",
    "Term",
    "check",
    "check_positive",
    "fresh",
    "limits",
    "lost",
    "state_of",
    "total_cost",
    "with_state",
]

Term = Callable[[Model, Data], Array]


class Cost(NamedTuple):
    """The cost of a trajectory of T controls: the sum of `running` at states 0 to T - 1 and `terminal` at state T.

    Both are smooth functions of one world that return a scalar. They read `qpos`, `qvel`, `act` and `time`, and
    `running` also `ctrl`, the control held from that state on. What follows from a state, such as `xpos`, is not up to
    date: call `jaxsim.kinematics(model, data)`, or as much of `forward` as is needed, at their beginning. Terms that
    read it without are refused.

    Attributes:
      running: `(model, data) -> scalar`, of a state and the control there.
      terminal: `(model, data) -> scalar`, of the last state.
    """

    running: Term
    terminal: Term = lambda model, data: jnp.zeros((), data.qpos.dtype)


class State(NamedTuple):
    """What a step changes, and the next one reads; fields of Data, one world.

    Attributes:
      qpos: (nq,).
      qvel: (nv,).
      act: (na,).
      history: past controls and sensor values of delayed elements, (nhistory,).
      time: s.
      qacc_warmstart: accelerations from which the solver starts, (nv,); they change no result.
      warning: bits of what went wrong on the way.
    """

    qpos: Array
    qvel: Array
    act: Array
    history: Array
    time: Array
    qacc_warmstart: Array
    warning: Array


def state_of(data: Data) -> State:
    """The state of one world."""
    state = State(*(getattr(data, name) for name in State._fields))
    warmstart = lax.stop_gradient(state.qacc_warmstart)
    return state._replace(qacc_warmstart=warmstart, warning=jnp.asarray(state.warning))


def lost(state: State, dtype: Any) -> Array:
    """Infinity if the world was reset on the way, as its state was no longer finite, else 0.

    What comes after a reset is no motion of the model, and may well be near the goal.
    """
    return jnp.where(is_lost(state.warning), jnp.inf, 0.0).astype(dtype)


def fresh(state: State) -> State:
    """The state without bits of what went wrong before."""
    return state._replace(warning=jnp.zeros_like(state.warning))


def with_state(data: Data, state: State, ctrl: Array | None = None) -> Data:
    """The data of a state, and of a control (nu,) if given."""
    return data.replace(**state._asdict(), ctrl=data.ctrl if ctrl is None else ctrl)


def total_cost(model: Model, data: Data, ctrl: ArrayLike, cost: Cost, *, substeps: int = 1) -> Array:
    """The cost of controls (T, nu) from the state of one world; infinite if its state was lost on the way.

    Each control is held for `substeps` timesteps; `running` is of the state in which that begins.

    Raises:
      ValueError: controls do not have the shape of the model's, there are no substeps, or the cost is no scalar or
        reads what is out of date.
    """
    ctrl = check("total_cost", model, data, ctrl, cost, substeps=substeps)

    def body(state: State, u: Array) -> tuple[State, Array]:
        at = with_state(data, state, u)
        return state_of(step(model, at, substeps)), cost.running(model, at)

    end, running = lax.scan(body, fresh(state_of(data)), ctrl)
    value = jnp.sum(running) + cost.terminal(model, with_state(data, end))
    return value + lost(end, value.dtype)


def limits(model: Model, bounds: tuple[Array, Array] | None = None) -> tuple[Array, Array]:
    """Lower and upper limits (nu,) of controls: those given, or the model's, infinite where it has none.

    Raises:
      ValueError: what is given is no two limits of the shape of controls, or a lower one is above its upper one.
    """
    if bounds is None:
        limited = np.asarray(model.actuator_ctrllimited, bool)
        low, high = model.actuator_ctrlrange[:, 0], model.actuator_ctrlrange[:, 1]
        return jnp.where(limited, low, -jnp.inf), jnp.where(limited, high, jnp.inf)
    if not isinstance(bounds, Sequence) or len(bounds) != 2:
        raise ValueError(f"bounds: {bounds!r}; expected a lower and an upper limit, (lower, upper)")
    for x in bounds:
        if jnp.shape(x) not in ((), (model.nu,)):
            raise ValueError(
                f"bounds: shape {jnp.shape(x)}; expected a lower and an upper limit, ({model.nu},) each"
            )
    known = not any(isinstance(x, Tracer) for x in bounds)
    if known and any(np.isnan(x).any() for x in bounds):
        raise ValueError("bounds: not a number")
    if known and np.greater(*map(np.asarray, bounds)).any():
        raise ValueError("bounds: a lower limit is above its upper one; expected (lower, upper)")
    low, high = map(jnp.asarray, bounds)
    return low, high


def check(
    who: str, model: Model, data: Data, ctrl: ArrayLike, cost: Cost | None = None, **counts: int
) -> Array:
    """Refuses models that cannot be simulated, and what is not of one world, no cost, or no count of something.

    Returns:
      The controls, an array of the state's type.

    Raises:
      ValueError: controls do not have the shape (T, nu) or are not finite, data holds several worlds, a count is no
        positive integer, or a term of the cost is no scalar or reads what is not up to date.
      TypeError: the cost is not a Cost, as when it is a function.
      UnsupportedError: the model asks for physics that jaxsim does not compute yet.
    """
    admit(model, data, who)
    ctrl = jnp.asarray(ctrl, jnp.asarray(data.qpos).dtype)
    if ctrl.ndim != 2 or ctrl.shape[1] != model.nu or not len(ctrl):
        raise ValueError(f"{who}: ctrl has shape {ctrl.shape}; expected (T, {model.nu})")
    if not isinstance(ctrl, Tracer) and not np.isfinite(np.asarray(ctrl)).all():
        raise ValueError(f"{who}: ctrl is not finite")
    check_counts(who, **counts)
    if cost is not None and not isinstance(cost, Cost):
        raise TypeError(f"{who}: cost is of type {type(cost).__name__}; expected Cost(running, terminal)")
    for name, term in cost._asdict().items() if cost is not None else ():
        _check_term(f"{who}: Cost.{name}", term, model, data)
    return ctrl


def check_positive(who: str, **numbers: Any) -> None:
    """Refuses numbers or arrays that are not positive and finite; what is traced is not known.

    Raises:
      ValueError: names the function, the first such argument and its value.
    """
    for name, x in numbers.items():
        if not isinstance(x, Tracer) and not np.all((np.asarray(x) > 0) & np.isfinite(x)):
            raise ValueError(f"{who}: {name}={x!r}; expected a positive number")


def _check_term(what: str, term: Term, model: Model, data: Data) -> None:
    """Refuses a term that is no scalar, or reads of the data it is given what follows from a state.

    A stage such as `kinematics` is given nearly all of Data, so that what a term reads beside it is not seen.

    Raises:
      ValueError: says what it gives, or which fields it reads.
    """
    program, found = jax.make_jaxpr(term, return_shape=True)(model, data)
    shape = jax.tree.map(lambda x: x.shape, found)
    if shape != ():
        raise ValueError(f"{what} gives shape {shape}; expected a scalar")
    fields = [jax.tree_util.keystr(path) for path, _ in jax.tree_util.tree_leaves_with_path(data)]
    used = dce_jaxpr(program.jaxpr, [True])[1][-len(fields) :]
    follow = [name.split(".")[1] not in STATE_FIELDS for name in fields]
    read = [name for name, *both in zip(fields, used, follow, strict=True) if all(both)]
    if 0 < len(read) < sum(follow) / 2:
        raise ValueError(
            f"{what} reads data{', data'.join(read)}, which is not up to date there; begin with "
            "data = jaxsim.kinematics(model, data), or as much of jaxsim.forward as is needed"
        )
