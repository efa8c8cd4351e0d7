"""Sensors: the rows of `sensor_*`, from the catalogue and what each element names."""

from __future__ import annotations

from typing import Any

import numpy as np

from jaxsim.compile.columns import addresses, columns, gated, landed
from jaxsim.compile.history import check_history, history_lengths
from jaxsim.compile.names import Names
from jaxsim.compile.sensor_forms import FORMS, CompiledSensor
from jaxsim.compile.userdata import user_field
from jaxsim.enums import DataType, ObjType, SensorType
from jaxsim.mjcf import Document
from jaxsim.structure.sensors import BY_TAG

__all__ = ["compile_sensors"]


def compile_sensors(document: Document, names: Names, history: int) -> dict[str, Any]:
    """Returns the fields of sensors, and registers their names.

    Args:
        document: the model.
        names: names of all other objects.
        history: length of the history buffer that actuators use.

    Raises:
        MjcfError: a sensor is not valid.
    """
    section = document.root.find("sensor")
    sensors = []
    for index, element in enumerate(section.children if section is not None else ()):
        row, values = BY_TAG[element.tag], document.resolve(element)
        sensor = CompiledSensor(row, element, values, element.name, index, row.stage, row.datatype, row.dim)
        FORMS[row.form](names, sensor)
        _check(sensor)
        sensors.append(sensor)
    names.add("sensor", sensors)
    return _fields(document, sensors, history)


def _check(sensor: CompiledSensor) -> None:
    element = sensor.element
    for name in ("noise", "cutoff"):
        if sensor.take(name, 0.0) < 0:
            raise element.error("cannot be negative", attribute=name)
    period, phase = np.asarray(sensor.take("interval", (0.0, 0.0))).tolist()
    if period < 0 or phase > 0 or (period > 0 and phase <= -period):
        raise element.error("expected a period >= 0 and a phase in (-period, 0]", attribute="interval")
    check_history(element, sensor.take("delay", 0.0), sensor.take("nsample", 0))
    axis = sensor.datatype == DataType.AXIS and sensor.row.type != SensorType.GEOMNORMAL
    if sensor.take("cutoff", 0.0) > 0 and (axis or sensor.datatype == DataType.QUATERNION):
        raise element.error("axes and quaternions cannot be clipped", attribute="cutoff")


def _fields(document: Document, sensors: list[CompiledSensor], history: int) -> dict[str, Any]:
    def take(attribute: str, default: Any) -> list[Any]:
        return [sensor.take(attribute, default) for sensor in sensors]

    samples, dims = take("nsample", 0), [sensor.dim for sensor in sensors]
    lengths = history_lengths(samples, dims)
    modes = [("zoh", "linear", "cubic").index(word) for word in take("interp", "zoh")]
    rows: dict[str, list[Any]] = {
        "sensor_type": [s.row.type for s in sensors],
        "sensor_datatype": [s.datatype for s in sensors],
        "sensor_needstage": [s.stage for s in sensors],
        "sensor_objtype": [s.objtype for s in sensors],
        "sensor_objid": [s.objid for s in sensors],
        "sensor_reftype": [s.reftype for s in sensors],
        "sensor_refid": [s.refid for s in sensors],
        "sensor_intprm": [s.intprm for s in sensors],
        "sensor_dim": dims,
        "sensor_adr": addresses(dims),
        "sensor_history": list(zip(samples, modes, strict=True)),
        "sensor_historyadr": gated(lengths, history),
        **landed("sensor/touch", "sensor_", [s.values for s in sensors]),
    }
    fields: dict[str, Any] = columns(rows)
    fields |= user_field(document, ObjType.SENSOR, [s.element for s in sensors], take("user", None))
    fields.update(nsensor=len(sensors), nsensordata=sum(dims), nhistory=history + sum(lengths))
    return fields
