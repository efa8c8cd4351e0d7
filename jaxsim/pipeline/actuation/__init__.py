"""Actuators: controls become activations, both become forces (computation chapter, "Actuation model").

What each type of dynamics, gain and bias does stands in one table each (`dynamics.DYNAMICS`, `gain.GAINS`,
`bias.BIASES`); actuators of one type are computed together.
"""

from jaxsim.pipeline.actuation.activation import next_activation, rewrap_activations
from jaxsim.pipeline.actuation.bias import BIASES
from jaxsim.pipeline.actuation.clamp import actuator_disabled
from jaxsim.pipeline.actuation.controls import bad_values
from jaxsim.pipeline.actuation.dynamics import DYNAMICS
from jaxsim.pipeline.actuation.force import actuator_force, force_slope, fwd_actuation
from jaxsim.pipeline.actuation.gain import GAINS
from jaxsim.pipeline.actuation.group import Signals

__all__ = [
    "BIASES",
    "DYNAMICS",
    "GAINS",
    "Signals",
    "actuator_disabled",
    "actuator_force",
    "bad_values",
    "force_slope",
    "fwd_actuation",
    "next_activation",
    "rewrap_activations",
]
