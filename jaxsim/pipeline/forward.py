"""Forward dynamics and steps (computation chapter, "Forward dynamics" and "Numerical integration").

The functions named `native_*` have worlds on the last axis; `forward`, `step`, `step1` and `step2` are their per-world
versions, one JAX primitive each. A primitive reads the integration state (`data.STATE_FIELDS`) and the model, so that
is all a derivative keeps of a step, but for what was found by searching, which rides along as its *solution*.
"""

from __future__ import annotations

import operator

import jax
import jax.numpy as jnp
from jax import lax

from jaxsim import worlds
from jaxsim.data import Data
from jaxsim.enums import DisableBit
from jaxsim.model import Model
from jaxsim.pipeline.admit import admit
from jaxsim.pipeline.blank import blank
from jaxsim.pipeline.integrators import INTEGRATORS
from jaxsim.pipeline.sensors.run import sensor_acc
from jaxsim.pipeline.stages import (
    State,
    dynamics,
    fwd_dynamics,
    integration_state,
    motion,
    observed_and_controlled,
    remaining_sensors,
    run,
    sensors,
)
from jaxsim.pipeline.tendon import tendon
from jaxsim.pipeline.transmission import transmission
from jaxsim.pipeline.watch import Outcome, guard_state, guard_step, harmless
from jaxsim.pipeline.work import Found, Work
from jaxsim.structure.trees import m_entries

__all__ = ["advance", "forward", "native_forward", "native_step", "step", "step1", "step2"]


def native_forward(
    model: Model, state: State, solution: Found | None = None, kept: bool = False
) -> tuple[Data, Found]:
    """Forward dynamics; returns the data and what a derivative is told."""
    data = remaining_sensors(model, dynamics(model, state, solution or Found.nothing(kept)))
    return data.replace(work=None), data.work.found


def native_step(
    model: Model, state: State, solution: Outcome | None = None, kept: bool = False
) -> tuple[Data, Outcome]:
    """One step of the model's integrator; returns the data and what a derivative is told."""
    before = guard_state(model, state)
    start, known = harmless(model, before, solution)
    known = known or Found.nothing(kept)
    integrator = INTEGRATORS[model.opt.integrator]
    if integrator.whole is not None:
        data, found = integrator.whole(model, start, known)
    else:
        data = remaining_sensors(model, dynamics(model, start, known))
        found = data.work.found
        data = run((integrator.finish,), model, data)
    data, failed = guard_step(model, before, data, solution)
    return data, Outcome(found, failed)


def native_step1(model: Model, state: State) -> Data:
    """The first half of a step: results of position and velocity, their sensors and energies."""
    data = motion(model, guard_state(model, state))
    return observed_and_controlled(model, data).replace(work=None)


def native_step2(
    model: Model, data: Data, solution: Outcome | None = None, kept: bool = False
) -> tuple[Data, Outcome]:
    """The second half: forces, acceleration, its sensors, and integration, from the results of the first."""
    del kept
    before = integration_state(data)
    known = None
    if solution is not None:
        _, known = harmless(model, before, solution)
        data = jax.tree.map(lambda e, x: jnp.where(solution.failed, e, x), _at_rest(model), data)
    # moment arms are not kept in Data; of the stages only these two make them
    data = run((tendon, transmission), model, data.replace(work=Work(solution=known and known.solution)))
    data = sensors(model, fwd_dynamics(model, data), (sensor_acc,))
    found = data.work.found
    data = run((INTEGRATORS[model.opt.integrator].finish,), model, data)
    data, failed = guard_step(model, before, data, solution)
    return data, Outcome(found, failed)


def _at_rest(model: Model) -> Data:
    """Data with a worlds axis from which forces, accelerations and their derivatives are finite."""
    rows, cols = m_entries(model.static)
    data = worlds.expand(blank(model))
    return data.replace(M=jnp.asarray((rows == cols)[:, None], data.M.dtype), qpos=model.qpos0)


_forward = worlds.lift(native_forward, has_solution=True)
_step = worlds.lift(native_step, has_solution=True)
_step1 = worlds.lift(native_step1)
_step2 = worlds.lift(native_step2, has_solution=True)


def forward(model: Model, data: Data) -> Data:
    """Computes everything that mj_forward does, without moving in time.

    Args:
      model: the model; its leaves may be traced, batched by `vmap`, differentiated.
      data: one world; only its integration state (`data.STATE_FIELDS`) is read.

    Returns:
      The data with all results of position, velocity, force and acceleration, sensors included.

    Raises:
      UnsupportedError: the model asks for physics that jaxsim does not compute yet.
      ValueError: the state does not have the shapes of one world of the model.
    """
    data = admit(model, data, "forward")
    return _with_sensors(model, data, _forward(model, integration_state(data)))


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
      TypeError: the number of substeps is traced, or no integer.
      ValueError: model or state do not have the shapes of one world, or there are no substeps.
    """
    return advance(model, admit(model, data, "step"), substeps)


def advance(model: Model, data: Data, substeps: int = 1) -> Data:
    """`step` of a model and data that were looked at before.

    Raises:
      TypeError: the number of substeps is traced, or no integer.
      ValueError: there are no substeps.
    """
    try:
        substeps = operator.index(substeps)
    except TypeError:
        raise TypeError(
            f"substeps={substeps}; expected a Python integer, which of a jitted step is static: "
            "jax.jit(step, static_argnums=2)"
        ) from None
    if substeps < 1:
        raise ValueError(f"substeps={substeps}; expected 1 or more")

    def one(state: State, _: None) -> tuple[State, None]:
        return integration_state(_step(model, state)), None

    state = integration_state(data)
    if substeps > 1:
        state, _ = lax.scan(one, state, length=substeps - 1)
    return _with_sensors(model, data, _step(model, state))


def _with_sensors(model: Model, before: Data, after: Data) -> Data:
    """Where sensors are switched off `sensordata` keeps what was in it."""
    off = model.opt.disableflags & DisableBit.SENSOR
    return after.replace(sensordata=before.sensordata) if off else after


def step1(model: Model, data: Data) -> Data:
    """The part of a step that controls may depend on: results of position and velocity, their sensors and energies.

    Together with `step2` it makes one `step`, and costs no more; set `ctrl`, `qfrc_applied` or `xfrc_applied` in
    between (mj_step1).

    Args:
      model: the model.
      data: one world; only its integration state is read.

    Raises:
      UnsupportedError: the model asks for physics that jaxsim does not compute yet.
      ValueError: the state does not have the shapes of one world of the model.
    """
    return _step1(model, integration_state(admit(model, data, "step1")))


def step2(model: Model, data: Data) -> Data:
    """Finishes the step begun by `step1`, with the controls and forces set since (mj_step2).

    Like the C engine's it integrates with one evaluation of the dynamics: Euler where the model asks for RK4.

    Args:
      model: the model.
      data: what `step1` returned; its results of position and velocity are used as they are.

    Raises:
      UnsupportedError: the model asks for physics that jaxsim does not compute yet.
      ValueError: the state does not have the shapes of one world of the model.
    """
    return _step2(model, admit(model, data, "step2"))
