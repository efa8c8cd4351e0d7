"""Forward dynamics and steps (computation chapter, "Forward dynamics" and "Numerical integration").

The functions named `native_*` have worlds on the last axis; `forward`, `step`, `step1` and `step2` are their per-world
versions, one JAX primitive each. A primitive reads the integration state (`data.STATE_FIELDS`) and the model, so that
is all a derivative keeps of a step; the solver's accelerations ride along as its *solution*.
"""

from __future__ import annotations

from jax import Array, lax

from jaxsim import worlds
from jaxsim.data import Data
from jaxsim.model import Model
from jaxsim.pipeline.integrators import INTEGRATORS
from jaxsim.pipeline.stages import State, dynamics, integration_state, sensors
from jaxsim.pipeline.supported import check_supported
from jaxsim.pipeline.watch import guard_acceleration, guard_state

__all__ = ["forward", "native_forward", "native_step", "step", "step1", "step2"]


def native_forward(model: Model, state: State, solution: Array | None = None) -> tuple[Data, Array]:
    """Forward dynamics; returns the data and qacc, the solver's solution."""
    data = sensors(model, dynamics(model, state, solution))
    return data.replace(work=None), data.qacc


def native_step(model: Model, state: State, solution: Array | None = None) -> tuple[Data, Array]:
    """One step of the model's integrator; returns the data and the solver's solutions."""
    state, warning = guard_state(model, state)
    state = state | {"warning": warning}
    integrator = INTEGRATORS[model.opt.integrator]
    if integrator.whole is not None:
        data, solution = integrator.whole(model, state, solution)
    else:
        data = sensors(model, dynamics(model, state, solution))
        solution = data.qacc
        data = integrator.finish(model, data)
    return guard_acceleration(model, state, data).replace(work=None), solution


_forward = worlds.lift(native_forward, has_solution=True)
_step = worlds.lift(native_step, has_solution=True)


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
    return _forward(model, integration_state(data))


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
    state = integration_state(data)
    if substeps > 1:
        state = lax.scan(lambda s, _: (integration_state(_step(model, s)), None), state, length=substeps - 1)[
            0
        ]
    return _step(model, state)


def step1(model: Model, data: Data) -> Data:
    """The part of a step that controls may depend on: results of position and velocity, and their sensors.

    Together with `step2` it makes one `step`; set `ctrl` in between.
    """
    check_supported(model)
    return _forward(model, integration_state(data))


def step2(model: Model, data: Data) -> Data:
    """Finishes the step begun by `step1`, with the controls and forces set since."""
    return step(model, data)
