"""Transmissions: lengths of actuators, and their moment arms (computation chapter, "Transmission")."""

from jaxsim.pipeline.transmission.stage import (
    TRANSMISSIONS,
    actuator_forces_to_dofs,
    transmission,
    transmission_velocity,
)

__all__ = ["TRANSMISSIONS", "actuator_forces_to_dofs", "transmission", "transmission_velocity"]
