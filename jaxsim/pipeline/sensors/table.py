"""The function of every type of sensor that jaxsim computes: what is in here is supported."""

from __future__ import annotations

from jaxsim.enums import SensorType
from jaxsim.pipeline.sensors import (
    acceleration,
    camera,
    contact,
    coordinate,
    limit,
    position,
    touch,
    velocity,
)
from jaxsim.pipeline.sensors.common import Compute

__all__ = ["SENSORS"]

_FILES = (position, camera, coordinate, limit, velocity, acceleration, touch, contact)

SENSORS: dict[SensorType, Compute] = {
    kind: compute for file in _FILES for kind, compute in file.SENSORS.items()
}
