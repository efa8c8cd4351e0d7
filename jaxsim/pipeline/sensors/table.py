"""The function of every type of sensor that jaxsim computes: what is in here is supported."""

from __future__ import annotations

from jaxsim.enums import SensorType
from jaxsim.model import Model
from jaxsim.pipeline.sensors import (
    acceleration,
    camera,
    contact,
    coordinate,
    distance,
    limit,
    position,
    rangefinder,
    region,
    tactile,
    touch,
    user,
    velocity,
)
from jaxsim.pipeline.sensors.common import Compute

__all__ = ["SENSORS", "refusal"]

_FILES = (
    position,
    distance,
    camera,
    coordinate,
    limit,
    velocity,
    acceleration,
    touch,
    contact,
    rangefinder,
    tactile,
    user,
)

SENSORS: dict[SensorType, Compute] = {
    kind: compute for file in _FILES for kind, compute in file.SENSORS.items()
}

_PARTLY = {
    SensorType.RANGEFINDER: rangefinder.refusal,
    SensorType.TACTILE: tactile.refusal,
    **dict.fromkeys(distance.SENSORS, distance.refusal),
    **dict.fromkeys((SensorType.TOUCH, SensorType.CONTACT), region.refusal),
    SensorType.INSIDESITE: position.refusal,
}
"""Types of which some sensors are not computed."""


def refusal(model: Model, sensor: int) -> str:
    """What of a sensor jaxsim does not compute yet; empty: nothing."""
    kind = SensorType(model.sensor_type[sensor])
    if kind not in SENSORS:
        return f"type {kind.name.lower()}"
    return _PARTLY[kind](model, sensor) if kind in _PARTLY else ""
