"""What a sensor measures and relative to what: one function for each form of the catalogue."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from jaxsim.compile.names import Names
from jaxsim.enums import DataType, GeomType, JointType, ObjType, Stage
from jaxsim.mjcf import Element
from jaxsim.structure.sensors import CONTACT_DATA, RAY_DATA, Reduce, Sensor

__all__ = ["FORMS", "CompiledSensor"]


@dataclass(eq=False)
class CompiledSensor:
    """A sensor on its way to a row of the model's `sensor_*` fields.

    Attributes:
        row: its row in the catalogue.
        element: where it was read.
        values: attributes.
        name: name, unique among sensors.
        id: row of the fields.
        stage: stage after which it is known.
        datatype: which values it can have.
        dim: numbers that it gives.
        objtype: kind of object.
        objid: object; -1: none.
        reftype: kind of the reference.
        refid: reference; -1: none.
        intprm: integer parameters.
    """

    row: Sensor
    element: Element
    values: Any
    name: str
    id: int
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

    def find(self, names: Names, attribute: str, kind: str) -> Any:
        """Returns the object of a kind that an attribute names."""
        return names.find(kind, self.values[attribute], self.element, attribute)

    def measure(self, kind: str, target: Any) -> Any:
        """Sets the object, and returns it."""
        self.objtype, self.objid = ObjType[kind.upper()], target.id
        return target

    def refer(self, kind: str, reference: Any) -> Any:
        """Sets the reference, and returns it."""
        self.reftype, self.refid = ObjType[kind.upper()], reference.id
        return reference

    def first(self, names: Names, *choices: tuple[str, str]) -> tuple[str, Any] | None:
        """Returns kind and object of the first of the attributes, as (attribute, kind), that is given."""
        for attribute, kind in choices:
            if self.values[attribute]:
                return kind, self.find(names, attribute, kind)
        return None


_NOTHING: tuple[str, Any] = ("unknown", None)
"""What a sensor is of that names no object."""


def _object(names: Names, sensor: CompiledSensor) -> None:
    """One object of a kind that the catalogue fixes."""
    kind = sensor.row.form
    target = sensor.measure(kind, sensor.find(names, kind, kind))
    if kind == "actuator":
        sensor.dim = target.outnum
    only, element = sensor.row.only, sensor.element
    if only == "scalar" and target.type not in (JointType.HINGE, JointType.SLIDE):
        raise element.error("the joint must be a hinge or slide", attribute="joint")
    if only == "ball" and target.type != JointType.BALL:
        raise element.error("the joint must be a ball joint", attribute="joint")
    if only == "limited" and not target.limited:
        raise element.error(f"the {kind} must be limited", attribute=kind)


def _world(names: Names, sensor: CompiledSensor) -> None:
    """Nothing in particular."""


def _frame(names: Names, sensor: CompiledSensor) -> None:
    kind = sensor.values["objtype"]
    sensor.measure(kind, sensor.find(names, "objname", kind))


def _frame_in_frame(names: Names, sensor: CompiledSensor) -> None:
    _frame(names, sensor)
    kind = sensor.values["reftype"]
    if kind:
        sensor.refer(kind, sensor.find(names, "refname", kind))


def _frame_in_site(names: Names, sensor: CompiledSensor) -> None:
    _frame(names, sensor)
    sensor.refer("site", sensor.find(names, "site", "site"))
    if sensor.values["enclosed"]:
        sensor.intprm, sensor.datatype = (1, 0, 0), DataType.REAL


def _site_in_camera(names: Names, sensor: CompiledSensor) -> None:
    sensor.measure("site", sensor.find(names, "site", "site"))
    camera = sensor.refer("camera", sensor.find(names, "camera", "camera"))
    if not camera.values["resolution"].all():
        raise sensor.element.error("the camera needs a resolution", attribute="camera")


def _rays(names: Names, sensor: CompiledSensor) -> None:
    """One ray of a site, or one a pixel of a camera."""
    kind, target = sensor.first(names, ("site", "site"), ("camera", "camera")) or _NOTHING
    sensor.measure(kind, target)
    words = sensor.values["data"] or ("dist",)
    width, height = target.values["resolution"].tolist() if kind == "camera" else (1, 1)
    sensor.intprm = (_bits(RAY_DATA, words), 0, 0)
    sensor.dim = width * height * sum(RAY_DATA[word] for word in words)


def _geoms(names: Names, sensor: CompiledSensor) -> None:
    """Two geoms or bodies between which there is a distance."""
    element = sensor.element
    ends = [sensor.first(names, (f"body{k}", "body"), (f"geom{k}", "geom")) for k in (1, 2)]
    (kind1, target), (kind2, reference) = (end or _NOTHING for end in ends)
    if kind1 == kind2 and target is reference:
        raise element.error("the two bodies or geoms must differ")
    for kind, item in ((kind1, target), (kind2, reference)):
        if kind == "geom" and item.type == GeomType.HFIELD:
            raise element.error("height fields have no distance")
    sensor.measure(kind1, target)
    sensor.refer(kind2, reference)


def _contacts(names: Names, sensor: CompiledSensor) -> None:
    """Contacts in a site, or between geoms, bodies or subtrees; of all if nothing is named."""
    values = sensor.values
    first = (("site", "site"), ("body1", "body"), ("subtree1", "xbody"), ("geom1", "geom"))
    if target := sensor.first(names, *first):
        sensor.measure(*target)
    if reference := sensor.first(names, ("body2", "body"), ("subtree2", "xbody"), ("geom2", "geom")):
        sensor.refer(*reference)
    words = values["data"] or ("found",)
    reduce = Reduce[values["reduce"].upper()]
    sensor.intprm = (_bits(CONTACT_DATA, words), reduce, values["num"])
    sensor.dim = values["num"] * sum(CONTACT_DATA[word] for word in words)
    moving = "linvel" in words or "angvel" in words
    if reduce == Reduce.NETFORCE and moving:
        raise sensor.element.error("a net force has no velocity", attribute="reduce")
    if not (reduce in (Reduce.MAXFORCE, Reduce.NETFORCE) or "force" in words or "torque" in words):
        sensor.stage = Stage.VEL if moving else Stage.POS


def _taxels(names: Names, sensor: CompiledSensor) -> None:
    mesh = sensor.measure("mesh", sensor.find(names, "mesh", "mesh"))
    geom = sensor.refer("geom", sensor.find(names, "geom", "geom"))
    if all(other.visual for other in geom.body.geoms):
        raise sensor.element.error(
            "no geom of its body can collide: there is nothing to feel", attribute="geom"
        )
    sensor.dim = 3 * mesh.nvert


def _user(names: Names, sensor: CompiledSensor) -> None:
    """Whatever the user's function makes of it."""
    element, values = sensor.element, sensor.values
    sensor.datatype = DataType[values["datatype"].upper()]
    sensor.stage = Stage[values["needstage"].upper()]
    sensor.dim = values["dim"]
    if kind := values["objtype"]:
        if kind.upper() not in ObjType.__members__:
            raise element.error("unknown object type", attribute="objtype")
        sensor.measure(kind, sensor.find(names, "objname", kind))
    if sensor.dim < 0:
        raise element.error("cannot be negative", attribute="dim")
    needed = {DataType.AXIS: 3, DataType.QUATERNION: 4}.get(sensor.datatype, sensor.dim)
    if sensor.dim != needed:
        raise element.error(f"data of type {values['datatype']} has {needed} numbers", attribute="dim")


def _plugin(names: Names, sensor: CompiledSensor) -> None:
    raise sensor.element.error("engine plugins are not built in jaxsim; remove the element")


def _bits(lengths: dict[str, int], words: tuple[str, ...]) -> int:
    order = list(lengths)
    return sum(1 << order.index(word) for word in words)


FORMS: dict[str, Callable[[Names, CompiledSensor], None]] = {
    **dict.fromkeys(("site", "joint", "tendon", "actuator", "body"), _object),
    "world": _world,
    "frame": _frame,
    "frame in frame": _frame_in_frame,
    "frame in site": _frame_in_site,
    "site in camera": _site_in_camera,
    "rays": _rays,
    "geoms": _geoms,
    "contacts": _contacts,
    "taxels": _taxels,
    "user": _user,
    "plugin": _plugin,
}
"""Fills in what a sensor of each form measures, and what follows from it."""
