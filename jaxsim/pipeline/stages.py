"""The stages of one forward pass, in order (computation chapter, "Forward dynamics"); worlds on the last axis.

Every stage runs in a named scope, so that a profile and the compiled program read stage by stage.
"""

from __future__ import annotations

from collections.abc import Callable

from jax import Array

from jaxsim import worlds
from jaxsim.collision.driver import collision
from jaxsim.data import STATE_FIELDS, Data
from jaxsim.enums import DisableBit, EnableBit
from jaxsim.math.straight_kernel import straight_stages
from jaxsim.model import Model
from jaxsim.pipeline.acceleration import fwd_acceleration
from jaxsim.pipeline.actuation import fwd_actuation
from jaxsim.pipeline.blank import blank
from jaxsim.pipeline.call_hook import call_hook
from jaxsim.pipeline.energy import energy
from jaxsim.pipeline.inertia import com_pos, crb
from jaxsim.pipeline.kinematics import camlight, kinematics
from jaxsim.pipeline.passive import passive
from jaxsim.pipeline.required import compare_fwd_inv
from jaxsim.pipeline.sensors.run import sensor_acc, sensor_pos, sensor_vel
from jaxsim.pipeline.tendon import tendon, tendon_bias
from jaxsim.pipeline.transmission import transmission, transmission_velocity
from jaxsim.pipeline.velocity import com_vel, rne
from jaxsim.pipeline.work import Found, Work
from jaxsim.solver.constraint import make_constraint
from jaxsim.solver.solve import solve

__all__ = [
    "Stage",
    "State",
    "dynamics",
    "fwd_dynamics",
    "fwd_position",
    "fwd_velocity",
    "integration_state",
    "motion",
    "observed_and_controlled",
    "remaining_sensors",
    "run",
    "sensors",
]

State = dict[str, Array]
"""The fields of Data that a step reads, by name."""

Stage = Callable[[Model, Data], Data]

POSITION: tuple[Stage, ...] = (kinematics, com_pos, camlight, tendon, crb, collision, transmission)
VELOCITY: tuple[Stage, ...] = (transmission_velocity, com_vel, passive, rne, tendon_bias)
DYNAMICS: tuple[Stage, ...] = (fwd_actuation, fwd_acceleration, make_constraint, solve, compare_fwd_inv)


def run(stages: tuple[Stage, ...], model: Model, data: Data) -> Data:
    """Runs stages one after the other, each in a scope of its name."""
    return straight_stages(stages, model, data)


def fwd_position(model: Model, data: Data) -> Data:
    """Everything that depends on position alone."""
    return run(POSITION, model, data)


def fwd_velocity(model: Model, data: Data) -> Data:
    """Everything that depends on position and velocity, their energies included."""
    return _with_energy(model, run(VELOCITY, model, data))


def _with_energy(model: Model, data: Data) -> Data:
    return run((energy,), model, data) if model.opt.enableflags & EnableBit.ENERGY else data


def fwd_dynamics(model: Model, data: Data) -> Data:
    """Forces and accelerations."""
    return run(DYNAMICS, model, data)


def sensors(
    model: Model, data: Data, stages: tuple[Stage, ...] = (sensor_pos, sensor_vel, sensor_acc)
) -> Data:
    """Sensor outputs, by default of a state whose acceleration is known."""
    if not model.nsensor or model.opt.disableflags & DisableBit.SENSOR:
        return data
    return run(stages, model, data)


def remaining_sensors(model: Model, data: Data) -> Data:
    """Outputs of the sensors that `dynamics` has left out."""
    return sensors(model, data, (sensor_acc,)) if _is_controlled(model) else sensors(model, data)


def _is_controlled(model: Model) -> bool:
    """Whether a function of the user's gives the controls."""
    return model.hooks.control is not None and not model.opt.disableflags & DisableBit.ACTUATION


def observed_and_controlled(model: Model, data: Data) -> Data:
    """Sensors of position and velocity, then the controls that a function of the user's makes of them."""
    data = sensors(model, data, (sensor_pos, sensor_vel))
    if not _is_controlled(model):
        return data
    return data.replace(ctrl=call_hook(model, data, "control", (model.nu,)))


def motion(model: Model, state: State, known: Found | None = None) -> Data:
    """All stages that depend on position and velocity alone, but the sensors."""
    data = worlds.expand(blank(model)).replace(work=Work(**(known or Found())._asdict()), **state)
    return _with_energy(model, run((*POSITION, *VELOCITY), model, data))


def dynamics(model: Model, state: State, known: Found) -> Data:
    """All stages but the sensors.

    Sensors of position and velocity run where controls may depend on them; see `remaining_sensors`.
    """
    data = motion(model, state, known)
    if _is_controlled(model):
        data = run((observed_and_controlled,), model, data)
    return fwd_dynamics(model, data)


def integration_state(data: Data) -> State:
    """The fields that a step reads."""
    return {name: getattr(data, name) for name in STATE_FIELDS}
