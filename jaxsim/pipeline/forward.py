"""A step, stage by stage (computation chapter, "Forward dynamics" and "Numerical integration").

The stages and the functions named `native_*` have worlds on the last axis; `forward`, `step`, `step1` and `step2` are
their per-world versions, one JAX primitive each. A primitive reads the integration state (`data.STATE_FIELDS`) and the
model, so that is all a derivative keeps of a step; the solver's accelerations ride along as its *solution*.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from jax import Array, lax

from jaxsim import worlds
from jaxsim.collision.driver import collision
from jaxsim.data import STATE_FIELDS, Data
from jaxsim.enums import DisableBit, EnableBit, IntegratorType
from jaxsim.model import Model
from jaxsim.pipeline.acceleration import fwd_acceleration
from jaxsim.pipeline.actuation import fwd_actuation
from jaxsim.pipeline.energy import energy
from jaxsim.pipeline.inertia import com_pos, crb
from jaxsim.pipeline.integrate import advance, euler, integrate_pos
from jaxsim.pipeline.kinematics import camlight, kinematics
from jaxsim.pipeline.make_data import blank
from jaxsim.pipeline.passive import passive
from jaxsim.pipeline.sensor import sensor_acc, sensor_pos, sensor_vel
from jaxsim.pipeline.supported import check_supported
from jaxsim.pipeline.transmission import tendon, transmission, transmission_velocity
from jaxsim.pipeline.velocity import com_vel, rne
from jaxsim.pipeline.watch import guard_acceleration, guard_state
from jaxsim.pipeline.work import Work
from jaxsim.pytree import Record, leaf, record
from jaxsim.solver.constraint import make_constraint
from jaxsim.solver.solve import solve

__all__ = ["forward", "native_forward", "native_step", "step", "step1", "step2"]

State = dict[str, Array]

RK4_STEP = (0.0, 0.5, 0.5, 1.0)
"""Fraction of the timestep at which each Runge-Kutta stage stands."""
RK4_WEIGHT = (1 / 6, 1 / 3, 1 / 3, 1 / 6)
"""Weight of each stage's derivative in the step."""


def fwd_position(model: Model, data: Data) -> Data:
    """Everything that depends on position alone."""
    for stage in (kinematics, com_pos, camlight, tendon, crb, transmission, collision):
        data = stage(model, data)
    return data


def fwd_velocity(model: Model, data: Data) -> Data:
    """Everything that depends on position and velocity."""
    for stage in (transmission_velocity, com_vel, passive, rne):
        data = stage(model, data)
    return data


def fwd_dynamics(model: Model, data: Data) -> Data:
    """Forces and accelerations."""
    for stage in (fwd_actuation, fwd_acceleration, make_constraint, solve):
        data = stage(model, data)
    return data


def sensors(model: Model, data: Data) -> Data:
    """Sensor outputs and energy of a state whose acceleration is known."""
    if model.opt.enableflags & EnableBit.ENERGY:
        data = energy(model, data)
    if model.nsensor and not model.opt.disableflags & DisableBit.SENSOR:
        data = sensor_acc(model, sensor_vel(model, sensor_pos(model, data)))
    return data


def dynamics(model: Model, state: State, solution: Array | None) -> Data:
    """All stages but the sensors."""
    data = worlds.expand(blank(model)).replace(work=Work(solution=solution), **state)
    return fwd_dynamics(model, fwd_velocity(model, fwd_position(model, data)))


def native_forward(model: Model, state: State, solution: Array | None = None) -> tuple[Data, Array]:
    """Forward dynamics; returns the data and qacc, the solver's solution."""
    data = sensors(model, dynamics(model, state, solution))
    return data.replace(work=None), data.qacc


def native_step(model: Model, state: State, solution: Array | None = None) -> tuple[Data, Array]:
    """One step of the model's integrator; returns the data and the solver's solutions."""
    state, warning = guard_state(model, state)
    stepper = rk4 if model.opt.integrator == IntegratorType.RK4 else euler_step
    data, solution = stepper(model, state | {"warning": warning}, solution)
    return guard_acceleration(model, state, data).replace(work=None), solution


def euler_step(model: Model, state: State, solution: Array | None) -> tuple[Data, Array]:
    """Semi-implicit Euler, implicit in joint damping unless DisableBit.EULERDAMP."""
    data = sensors(model, dynamics(model, state, solution))
    return euler(model, data), data.qacc


def rk4(model: Model, state: State, solution: Array | None) -> tuple[Data, Array]:
    """Runge-Kutta of the fourth order; sensors are those of the first stage, other results those of the last.

    One loop over the stages, so that the dynamics are compiled once. Each stage starts from the beginning of the
    step along the slope of the stage before.
    """
    h = model.opt.timestep
    start = worlds.expand(blank(model)).replace(**state)
    width = worlds.width_of((model, start))
    start = jax.tree.map(lambda x: jnp.broadcast_to(x, (*x.shape[:-1], width)), start)
    observe = bool(model.nsensor) or bool(model.opt.enableflags & EnableBit.ENERGY)

    def stage(carry: tuple[Data, Slope, Slope], table: tuple[Array, ...]) -> tuple[Any, Array]:
        before, slope, total = carry
        index, fraction, weight, *known = table
        at = start.replace(
            time=start.time + fraction * h,
            qpos=integrate_pos(model, start.qpos, slope.qpos, fraction * h),
            qvel=start.qvel + fraction * h * slope.qvel,
            act=start.act + fraction * h * slope.act,
            qacc_warmstart=before.qacc_warmstart,
            warning=before.warning,
        )
        after = dynamics(model, _state(at), known[0] if known else None)
        slope = _full_width(Slope(qpos=after.qvel, qvel=after.qacc, act=after.act_dot), width)
        total = jax.tree.map(lambda s, d: s + weight * d, total, slope)
        if observe:
            seen = lax.cond(
                index == 0,
                lambda: _full_width(_select(sensors(model, after), OBSERVED), width),
                lambda: _select(before, OBSERVED),
            )
            after = after.replace(**seen)
        after = after.replace(work=None, qacc_warmstart=after.qacc)
        return (_full_width(after, width), slope, total), after.qacc

    zero = jnp.zeros_like(start.qvel)
    slope = Slope(qpos=zero, qvel=zero, act=jnp.zeros_like(start.act))
    dtype = start.qvel.dtype
    table = [jnp.arange(4), jnp.asarray(RK4_STEP, dtype), jnp.asarray(RK4_WEIGHT, dtype)]
    if solution is not None:
        table.append(solution)
    (last, _, total), solution = lax.scan(stage, (start, slope, slope), tuple(table))
    at_start = {name: getattr(start, name) for name in ("time", "qpos", "qvel", "act")}
    return advance(model, last.replace(**at_start), total.act, total.qvel, total.qpos), solution


@record
class Slope(Record):
    """Time derivative of the state, native layout."""

    qpos: Array = leaf("nv", "velocity, m/s and rad/s")
    qvel: Array = leaf("nv", "acceleration, m/s^2 and rad/s^2")
    act: Array = leaf("na", "1/s")


OBSERVED = ("sensordata", "energy", "cacc", "cfrc_int", "cfrc_ext", "subtree_linvel", "subtree_angmom")
"""Fields that the sensors fill."""


def _select(data: Data, names: tuple[str, ...]) -> dict[str, Array]:
    return {name: getattr(data, name) for name in names}


def _full_width(tree: Any, width: int) -> Any:
    return jax.tree.map(lambda x: jnp.broadcast_to(x, (*x.shape[:-1], width)), tree)


_forward = worlds.lift(native_forward, has_solution=True)
_step = worlds.lift(native_step, has_solution=True)


def _state(data: Data) -> State:
    return _select(data, STATE_FIELDS)


def forward(model: Model, data: Data) -> Data:
    """Computes everything that mj_forward does, without moving in time.

    Args:
      model: the model; its leaves may be traced, batched by `vmap`, differentiated.
      data: one world; only its integration state (`data.STATE_FIELDS`) is read.

    Returns:
      The data with all results of position, velocity, force and acceleration, sensors included.

    Raises:
      UnsupportedError: the model asks for physics that jaxsim does not compute yet.
    """
    check_supported(model)
    return _forward(model, _state(data))


def step(model: Model, data: Data, substeps: int = 1) -> Data:
    """Advances one world by `substeps` timesteps with the model's integrator (mj_step).

    As in the C engine, the results describe the state before the last step. A world that is not finite is reset to
    qpos0, or left where it was if DisableBit.AUTORESET is set; `warning` says so, and no other world is touched.

    Args:
      model: the model.
      data: one world; only its integration state is read. `ctrl` is held over the substeps.
      substeps: number of steps.

    Raises:
      UnsupportedError: the model asks for physics that jaxsim does not compute yet.
    """
    check_supported(model)
    state = _state(data)
    if substeps > 1:
        state = lax.scan(lambda s, _: (_state(_step(model, s)), None), state, length=substeps - 1)[0]
    return _step(model, state)


def step1(model: Model, data: Data) -> Data:
    """The part of a step that controls may depend on: results of position and velocity, and their sensors.

    Together with `step2` it makes one `step`; set `ctrl` in between.
    """
    check_supported(model)
    return _forward(model, _state(data))


def step2(model: Model, data: Data) -> Data:
    """Finishes the step begun by `step1`, with the controls and forces set since."""
    return step(model, data)
