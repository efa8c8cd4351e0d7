"""The catalogue of sensors: one row a sensor, read by the MJCF reader, the compiler and the pipeline.

A new sensor is a row here and a function in `pipeline/sensors`.
"""

from __future__ import annotations

import enum
from typing import NamedTuple

from jaxsim.enums import DataType, SensorType, Stage

__all__ = ["BY_TAG", "BY_TYPE", "CATALOGUE", "CONTACT_DATA", "RAY_DATA", "Needs", "Reduce", "Sensor"]


class Needs(enum.Flag):
    """Results that are computed only because a sensor reads them, as soon as its stage allows."""

    NOTHING = 0
    SUBTREES = enum.auto()
    """Momenta of subtrees: `subtree_vel`."""
    ACCELERATIONS = enum.auto()
    """Accelerations of bodies and forces between them: `rne_postconstraint`."""


class Reduce(enum.IntEnum):
    """Which of the matching contacts a contact sensor reports; values are the wheel's."""

    NONE = 0
    MINDIST = 1
    MAXFORCE = 2
    NETFORCE = 3


class Sensor(NamedTuple):
    """One kind of sensor.

    Attributes:
      tag: its element in MJCF.
      type: its type in the model.
      form: which attributes name what it measures: the kind of object where that is all (`site`, `joint`, ...), else a
        key of `mjcf.tables.sensor.FORMS`.
      stage: stage of the pipeline after which it is known, as far as the type decides.
      dim: numbers that it gives; 0: the element decides.
      datatype: which values it can have, as far as the type decides.
      only: what its joint or tendon must be: `scalar` (a hinge or slide), `ball` or `limited`; empty: anything.
      needs: results that are computed for it.
      clipped: whether `cutoff` clips its output.
    """

    tag: str
    type: SensorType
    form: str
    stage: Stage
    dim: int
    datatype: DataType = DataType.REAL
    only: str = ""
    needs: Needs = Needs.NOTHING
    clipped: bool = True


_S = SensorType
_P, _V, _A = Stage.POS, Stage.VEL, Stage.ACC
_POSITIVE, _AXIS, _QUATERNION = DataType.POSITIVE, DataType.AXIS, DataType.QUATERNION
_SUBTREES, _ACCELERATIONS = Needs.SUBTREES, Needs.ACCELERATIONS

CATALOGUE: tuple[Sensor, ...] = (
    Sensor("touch", _S.TOUCH, "site", _A, 1, _POSITIVE),
    Sensor("accelerometer", _S.ACCELEROMETER, "site", _A, 3, needs=_ACCELERATIONS),
    Sensor("velocimeter", _S.VELOCIMETER, "site", _V, 3),
    Sensor("gyro", _S.GYRO, "site", _V, 3),
    Sensor("force", _S.FORCE, "site", _A, 3, needs=_ACCELERATIONS),
    Sensor("torque", _S.TORQUE, "site", _A, 3, needs=_ACCELERATIONS),
    Sensor("magnetometer", _S.MAGNETOMETER, "site", _P, 3),
    Sensor("camprojection", _S.CAMPROJECTION, "site in camera", _P, 2),
    Sensor("rangefinder", _S.RANGEFINDER, "rays", _P, 0),
    Sensor("jointpos", _S.JOINTPOS, "joint", _P, 1, only="scalar"),
    Sensor("jointvel", _S.JOINTVEL, "joint", _V, 1, only="scalar"),
    Sensor("ballquat", _S.BALLQUAT, "joint", _P, 4, _QUATERNION, only="ball"),
    Sensor("ballangvel", _S.BALLANGVEL, "joint", _V, 3, only="ball"),
    Sensor("jointactuatorfrc", _S.JOINTACTFRC, "joint", _A, 1, only="scalar"),
    Sensor("jointlimitpos", _S.JOINTLIMITPOS, "joint", _P, 1, only="limited"),
    Sensor("jointlimitvel", _S.JOINTLIMITVEL, "joint", _V, 1, only="limited"),
    Sensor("jointlimitfrc", _S.JOINTLIMITFRC, "joint", _A, 1, only="limited"),
    Sensor("tendonpos", _S.TENDONPOS, "tendon", _P, 1),
    Sensor("tendonvel", _S.TENDONVEL, "tendon", _V, 1),
    Sensor("tendonactuatorfrc", _S.TENDONACTFRC, "tendon", _A, 1),
    Sensor("tendonlimitpos", _S.TENDONLIMITPOS, "tendon", _P, 1, only="limited"),
    Sensor("tendonlimitvel", _S.TENDONLIMITVEL, "tendon", _V, 1, only="limited"),
    Sensor("tendonlimitfrc", _S.TENDONLIMITFRC, "tendon", _A, 1, only="limited"),
    Sensor("actuatorpos", _S.ACTUATORPOS, "actuator", _P, 0),
    Sensor("actuatorvel", _S.ACTUATORVEL, "actuator", _V, 0),
    Sensor("actuatorfrc", _S.ACTUATORFRC, "actuator", _A, 0),
    Sensor("framepos", _S.FRAMEPOS, "frame in frame", _P, 3),
    Sensor("framequat", _S.FRAMEQUAT, "frame in frame", _P, 4, _QUATERNION),
    Sensor("framexaxis", _S.FRAMEXAXIS, "frame in frame", _P, 3, _AXIS),
    Sensor("frameyaxis", _S.FRAMEYAXIS, "frame in frame", _P, 3, _AXIS),
    Sensor("framezaxis", _S.FRAMEZAXIS, "frame in frame", _P, 3, _AXIS),
    Sensor("framelinvel", _S.FRAMELINVEL, "frame in frame", _V, 3),
    Sensor("frameangvel", _S.FRAMEANGVEL, "frame in frame", _V, 3),
    Sensor("framelinacc", _S.FRAMELINACC, "frame", _A, 3, needs=_ACCELERATIONS),
    Sensor("frameangacc", _S.FRAMEANGACC, "frame", _A, 3, needs=_ACCELERATIONS),
    Sensor("subtreecom", _S.SUBTREECOM, "body", _P, 3),
    Sensor("subtreelinvel", _S.SUBTREELINVEL, "body", _V, 3, needs=_SUBTREES),
    Sensor("subtreeangmom", _S.SUBTREEANGMOM, "body", _V, 3, needs=_SUBTREES),
    Sensor("insidesite", _S.INSIDESITE, "frame in site", _P, 1, _POSITIVE),
    Sensor("distance", _S.GEOMDIST, "geoms", _P, 1),
    Sensor("normal", _S.GEOMNORMAL, "geoms", _P, 3, _AXIS),
    Sensor("fromto", _S.GEOMFROMTO, "geoms", _P, 6, clipped=False),
    Sensor("contact", _S.CONTACT, "contacts", _A, 0, clipped=False),
    Sensor("e_potential", _S.E_POTENTIAL, "world", _P, 1),
    Sensor("e_kinetic", _S.E_KINETIC, "world", _P, 1),
    Sensor("clock", _S.CLOCK, "world", _P, 1),
    Sensor("tactile", _S.TACTILE, "taxels", _V, 0),
    Sensor("user", _S.USER, "user", _A, 0, needs=_SUBTREES | _ACCELERATIONS),
    Sensor("plugin", _S.PLUGIN, "plugin", _A, 0),
)
"""All sensors of MJCF."""

BY_TAG: dict[str, Sensor] = {row.tag: row for row in CATALOGUE}
BY_TYPE: dict[SensorType, Sensor] = {row.type: row for row in CATALOGUE}

CONTACT_DATA: dict[str, int] = {
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
"""What a contact sensor may say of a contact, with its length, in the order of the bits of `sensor_intprm`."""

RAY_DATA: dict[str, int] = {"dist": 1, "dir": 3, "origin": 3, "point": 3, "normal": 3, "depth": 1}
"""The same of a rangefinder's ray."""
