"""Sensors: what each type measures, on what kind of object, and how many numbers it gives."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from jaxsim.compile.columns import column
from jaxsim.compile.names import Names
from jaxsim.compile.userdata import user_column
from jaxsim.enums import DataType, GeomType, JointType, ObjType, SensorType, Stage
from jaxsim.mjcf import Document, Element

__all__ = ["compile_sensors"]

_P, _V, _A = Stage.POS, Stage.VEL, Stage.ACC
_S = SensorType

_TABLE: dict[str, tuple[SensorType, str, Stage, int]] = {
    "touch": (_S.TOUCH, "site", _A, 1),
    "accelerometer": (_S.ACCELEROMETER, "site", _A, 3),
    "velocimeter": (_S.VELOCIMETER, "site", _V, 3),
    "gyro": (_S.GYRO, "site", _V, 3),
    "force": (_S.FORCE, "site", _A, 3),
    "torque": (_S.TORQUE, "site", _A, 3),
    "magnetometer": (_S.MAGNETOMETER, "site", _P, 3),
    "camprojection": (_S.CAMPROJECTION, "site", _P, 2),
    "rangefinder": (_S.RANGEFINDER, "", _P, 0),
    "jointpos": (_S.JOINTPOS, "joint", _P, 1),
    "jointvel": (_S.JOINTVEL, "joint", _V, 1),
    "tendonpos": (_S.TENDONPOS, "tendon", _P, 1),
    "tendonvel": (_S.TENDONVEL, "tendon", _V, 1),
    "actuatorpos": (_S.ACTUATORPOS, "actuator", _P, 1),
    "actuatorvel": (_S.ACTUATORVEL, "actuator", _V, 1),
    "actuatorfrc": (_S.ACTUATORFRC, "actuator", _A, 1),
    "jointactuatorfrc": (_S.JOINTACTFRC, "joint", _A, 1),
    "tendonactuatorfrc": (_S.TENDONACTFRC, "tendon", _A, 1),
    "ballquat": (_S.BALLQUAT, "joint", _P, 4),
    "ballangvel": (_S.BALLANGVEL, "joint", _V, 3),
    "jointlimitpos": (_S.JOINTLIMITPOS, "joint", _P, 1),
    "jointlimitvel": (_S.JOINTLIMITVEL, "joint", _V, 1),
    "jointlimitfrc": (_S.JOINTLIMITFRC, "joint", _A, 1),
    "tendonlimitpos": (_S.TENDONLIMITPOS, "tendon", _P, 1),
    "tendonlimitvel": (_S.TENDONLIMITVEL, "tendon", _V, 1),
    "tendonlimitfrc": (_S.TENDONLIMITFRC, "tendon", _A, 1),
    "framepos": (_S.FRAMEPOS, "", _P, 3),
    "framequat": (_S.FRAMEQUAT, "", _P, 4),
    "framexaxis": (_S.FRAMEXAXIS, "", _P, 3),
    "frameyaxis": (_S.FRAMEYAXIS, "", _P, 3),
    "framezaxis": (_S.FRAMEZAXIS, "", _P, 3),
    "framelinvel": (_S.FRAMELINVEL, "", _V, 3),
    "frameangvel": (_S.FRAMEANGVEL, "", _V, 3),
    "framelinacc": (_S.FRAMELINACC, "", _A, 3),
    "frameangacc": (_S.FRAMEANGACC, "", _A, 3),
    "subtreecom": (_S.SUBTREECOM, "body", _P, 3),
    "subtreelinvel": (_S.SUBTREELINVEL, "body", _V, 3),
    "subtreeangmom": (_S.SUBTREEANGMOM, "body", _V, 3),
    "insidesite": (_S.INSIDESITE, "", _P, 1),
    "distance": (_S.GEOMDIST, "", _P, 1),
    "normal": (_S.GEOMNORMAL, "", _P, 3),
    "fromto": (_S.GEOMFROMTO, "", _P, 6),
    "contact": (_S.CONTACT, "", _A, 0),
    "e_potential": (_S.E_POTENTIAL, "", _P, 1),
    "e_kinetic": (_S.E_KINETIC, "", _P, 1),
    "clock": (_S.CLOCK, "", _P, 1),
    "tactile": (_S.TACTILE, "mesh", _A, 0),
    "user": (_S.USER, "", _P, 0),
}
"""Type, kind of object where the type fixes it, stage and number of outputs by element."""

_DATATYPES = {
    "touch": DataType.POSITIVE,
    "insidesite": DataType.POSITIVE,
    "framexaxis": DataType.AXIS,
    "frameyaxis": DataType.AXIS,
    "framezaxis": DataType.AXIS,
    "normal": DataType.AXIS,
    "ballquat": DataType.QUATERNION,
    "framequat": DataType.QUATERNION,
}
_CONTACT = {
    "found": 1,
    "force": 3,
    "torque": 3,
    "dist": 1,
    "pos": 3,
    "normal": 3,
    "tangent": 3,
    "linvel": 3,
    "angvel": 3,
}
_RAY = {"dist": 1, "dir": 3, "origin": 3, "point": 3, "normal": 3, "depth": 1}
_MAX_SAMPLES = 1 << 24


@dataclass(eq=False)
class _Sensor:
    element: Element
    values: Any
    name: str
    id: int
    type: SensorType
    stage: Stage
    datatype: DataType
    dim: int
    objtype: ObjType = ObjType.UNKNOWN
    objid: int = -1
    reftype: ObjType = ObjType.UNKNOWN
    refid: int = -1
    intprm: tuple[int, int, int] = (0, 0, 0)

    def take(self, attribute: str, default: Any) -> Any:
        """Returns an attribute, or the default where the element cannot have it."""
        return self.values.get(attribute, default)


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
        if element.tag == "plugin":
            raise element.error("engine plugins are not built in jaxsim; remove the element")
        type, _, stage, dim = _TABLE[element.tag]
        datatype = _DATATYPES.get(element.tag, DataType.REAL)
        sensor = _Sensor(element, document.resolve(element), element.name, index, type, stage, datatype, dim)
        _objects(names, sensor)
        _check(sensor)
        sensors.append(sensor)
    names.add("sensor", sensors)
    return _fields(document, sensors, history)


def _objects(names: Names, sensor: _Sensor) -> None:
    """Finds what the sensor measures and relative to what, and its number of outputs."""
    element, values, tag = sensor.element, sensor.values, sensor.element.tag

    def find(attribute: str, kind: str) -> Any:
        return names.find(kind, values[attribute], element, attribute)

    def first(*choices: tuple[str, str]) -> tuple[ObjType, Any]:
        for attribute, kind in choices:
            if values[attribute]:
                return ObjType[kind.upper()], find(attribute, kind)
        return ObjType.UNKNOWN, None

    target: Any = None
    reference: Any = None
    kind = _TABLE[tag][1]
    if kind:
        sensor.objtype, target = ObjType[kind.upper()], find(kind, kind)
    if tag == "camprojection":
        sensor.reftype, reference = first(("camera", "camera"))
    elif tag == "tactile":
        sensor.reftype, reference = first(("geom", "geom"))
        sensor.dim = 3 * target.nvert
    elif tag == "rangefinder":
        sensor.objtype, target = first(("site", "site"), ("camera", "camera"))
        sensor.intprm, rays = (_bits(_RAY, values["data"]), 0, 0), 1
        if sensor.objtype == ObjType.CAMERA:
            width, height = target.values["resolution"].tolist()
            rays = width * height
        sensor.dim = rays * sum(_RAY[word] for word in values["data"] or ("dist",))
    elif tag in ("distance", "normal", "fromto"):
        sensor.objtype, target = first(("body1", "body"), ("geom1", "geom"))
        sensor.reftype, reference = first(("body2", "body"), ("geom2", "geom"))
        _check_distance(sensor, target, reference)
    elif tag == "contact":
        sensor.objtype, target = first(
            ("site", "site"), ("body1", "body"), ("subtree1", "xbody"), ("geom1", "geom")
        )
        sensor.reftype, reference = first(("body2", "body"), ("subtree2", "xbody"), ("geom2", "geom"))
        reduce = ("none", "mindist", "maxforce", "netforce").index(values["reduce"])
        sensor.intprm = (_bits(_CONTACT, values["data"], "found"), reduce, values["num"])
        words = values["data"] or ("found",)
        sensor.dim = values["num"] * sum(_CONTACT[word] for word in words)
        sensor.stage = _contact_stage(sensor, words, values["reduce"])
    elif tag == "user":
        target = _user(names, sensor)
    elif "objtype" in values:
        sensor.objtype = ObjType[values["objtype"].upper()]
        target = find("objname", values["objtype"])
        if tag == "insidesite":
            sensor.reftype, reference = first(("site", "site"))
        elif values.get("reftype"):
            sensor.reftype = ObjType[values["reftype"].upper()]
            reference = find("refname", values["reftype"])
    sensor.objid = -1 if target is None else target.id
    sensor.refid = -1 if reference is None else reference.id
    if tag.startswith("actuator") and target is not None:
        sensor.dim = target.outnum
    if kind in ("joint", "tendon"):
        _check_scalar(sensor, target)
    if tag == "camprojection" and reference is not None and not reference.values["resolution"].all():
        raise element.error("the camera needs a resolution", attribute="camera")


def _contact_stage(sensor: _Sensor, words: tuple[str, ...], reduce: str) -> Stage:
    """Returns when a contact sensor can be evaluated: forces are known last."""
    moving = "linvel" in words or "angvel" in words
    if reduce == "netforce" and moving:
        raise sensor.element.error("a net force has no velocity", attribute="reduce")
    if reduce in ("maxforce", "netforce") or "force" in words or "torque" in words:
        return Stage.ACC
    return Stage.VEL if moving else Stage.POS


def _bits(table: dict[str, int], words: tuple[str, ...] | None, default: str = "dist") -> int:
    order = list(table)
    return sum(1 << order.index(word) for word in words or (default,))


def _user(names: Names, sensor: _Sensor) -> Any:
    """Reads a user sensor; returns its object, None if it has none."""
    element, values, target = sensor.element, sensor.values, None
    sensor.datatype = DataType[values["datatype"].upper()]
    sensor.stage = Stage[values["needstage"].upper()]
    sensor.dim = values["dim"]
    if values["objtype"]:
        word = values["objtype"].upper()
        if word not in ObjType.__members__:
            raise element.error("unknown object type", attribute="objtype")
        sensor.objtype = ObjType[word]
        target = names.find(values["objtype"], values["objname"], element, "objname")
    if sensor.dim < 0:
        raise element.error("cannot be negative", attribute="dim")
    needed = {DataType.AXIS: 3, DataType.QUATERNION: 4}.get(sensor.datatype, sensor.dim)
    if sensor.dim != needed:
        raise element.error(f"data of type {values['datatype']} has {needed} numbers", attribute="dim")
    return target


def _check_distance(sensor: _Sensor, target: Any, reference: Any) -> None:
    element = sensor.element
    if sensor.objtype == sensor.reftype and target is reference:
        raise element.error("the two bodies or geoms must differ")
    for objtype, item in ((sensor.objtype, target), (sensor.reftype, reference)):
        if objtype == ObjType.GEOM and item.type == GeomType.HFIELD:
            raise element.error("height fields have no distance")


def _check_scalar(sensor: _Sensor, target: Any) -> None:
    """Checks the type and the limits of the joint or tendon."""
    element, tag = sensor.element, sensor.element.tag
    kind = _TABLE[tag][1]
    if tag in ("jointpos", "jointvel", "jointactuatorfrc"):
        if target.type not in (JointType.HINGE, JointType.SLIDE):
            raise element.error("the joint must be a hinge or slide", attribute="joint")
    elif tag in ("ballquat", "ballangvel"):
        if target.type != JointType.BALL:
            raise element.error("the joint must be a ball joint", attribute="joint")
    elif "limit" in tag and not target.limited:
        raise element.error(f"the {kind} must be limited", attribute=kind)


def _check(sensor: _Sensor) -> None:
    element = sensor.element
    for name in ("noise", "cutoff"):
        if sensor.take(name, 0.0) < 0:
            raise element.error("cannot be negative", attribute=name)
    period, phase = np.asarray(sensor.take("interval", (0.0, 0.0))).tolist()
    if period < 0 or phase > 0 or (period > 0 and phase <= -period):
        raise element.error("expected a period >= 0 and a phase in (-period, 0]", attribute="interval")
    samples = sensor.take("nsample", 0)
    if sensor.take("delay", 0.0) > 0 and samples <= 0:
        raise element.error("a delay needs a history: set nsample", attribute="delay")
    if samples > _MAX_SAMPLES:
        raise element.error("at most 2^24 samples", attribute="nsample")
    axis = sensor.datatype == DataType.AXIS and sensor.type != SensorType.GEOMNORMAL
    if sensor.take("cutoff", 0.0) > 0 and (axis or sensor.datatype == DataType.QUATERNION):
        raise element.error("axes and quaternions cannot be clipped", attribute="cutoff")


def _fields(document: Document, sensors: list[_Sensor], history: int) -> dict[str, Any]:
    def take(attribute: str, default: Any) -> list[Any]:
        return [sensor.take(attribute, default) for sensor in sensors]

    samples = take("nsample", 0)
    lengths = [2 + n + n * s.dim if n > 0 else 0 for n, s in zip(samples, sensors, strict=True)]
    starts = [history, *(history + np.cumsum(lengths)).tolist()] if sensors else [history]
    modes = [("zoh", "linear", "cubic").index(word) for word in take("interp", "zoh")]
    dims = [sensor.dim for sensor in sensors]
    rows: dict[str, list[Any]] = {
        "sensor_type": [s.type for s in sensors],
        "sensor_datatype": [s.datatype for s in sensors],
        "sensor_needstage": [s.stage for s in sensors],
        "sensor_objtype": [s.objtype for s in sensors],
        "sensor_objid": [s.objid for s in sensors],
        "sensor_reftype": [s.reftype for s in sensors],
        "sensor_refid": [s.refid for s in sensors],
        "sensor_intprm": [s.intprm for s in sensors],
        "sensor_dim": dims,
        "sensor_adr": [0, *np.cumsum(dims).tolist()][: len(dims)],
        "sensor_history": list(zip(samples, modes, strict=True)),
        "sensor_historyadr": [start if n else -1 for start, n in zip(starts, lengths, strict=False)],
        "sensor_cutoff": take("cutoff", 0.0),
        "sensor_noise": take("noise", 0.0),
        "sensor_delay": take("delay", 0.0),
        "sensor_interval": take("interval", (0.0, 0.0)),
    }
    fields: dict[str, Any] = {name: column(name, values) for name, values in rows.items()}
    fields["sensor_user"] = user_column(document, "sensor", [s.element for s in sensors], take("user", None))
    fields.update(nsensor=len(sensors), nsensordata=sum(dims), nhistory=starts[-1])
    return fields
