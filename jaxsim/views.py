"""Views of one object at a time: `model.body("torso").mass`, `named(model, data).joint("knee").qpos`.

Attributes are those of MuJoCo's Python bindings: the fields without their prefixes, a single number as an array of one.
Views work on traced arrays and keep batch axes in front. They cannot be written to: change a field of the record with
`replace`.
"""

from __future__ import annotations

import dataclasses
import functools
import operator
from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import numpy as np

from jaxsim.enums import JointType, ObjType
from jaxsim.pytree import Record

__all__ = ["ByName", "Named", "View", "named"]


class _Range(NamedTuple):
    """Rows that an object owns: the field with its first row, and the field with their number or how to know it."""

    first: str
    number: str | Callable[[JointType], int]


_OWN = _Range("", "")
"""One row for each object."""
_DOFS = _Range("jnt_dofadr", lambda kind: kind.nv)
_COORDINATES = _Range("jnt_qposadr", lambda kind: kind.nq)

_SIZES: dict[ObjType, dict[str, _Range]] = {
    ObjType.BODY: {"nbody": _OWN},
    ObjType.JOINT: {"njnt": _OWN, "nq": _COORDINATES, "nv": _DOFS},
    ObjType.GEOM: {"ngeom": _OWN},
    ObjType.SITE: {"nsite": _OWN},
    ObjType.CAMERA: {"ncam": _OWN},
    ObjType.LIGHT: {"nlight": _OWN},
    ObjType.MESH: {"nmesh": _OWN},
    ObjType.HFIELD: {"nhfield": _OWN},
    ObjType.TEXTURE: {},
    ObjType.MATERIAL: {},
    ObjType.PAIR: {"npair": _OWN},
    ObjType.EXCLUDE: {},
    ObjType.EQUALITY: {"neq": _OWN},
    ObjType.TENDON: {"ntendon": _OWN},
    ObjType.ACTUATOR: {
        "nactuator": _OWN,
        "nu": _Range("actuator_ctrladr", "actuator_ctrlnum"),
        "nout": _Range("actuator_outadr", "actuator_outnum"),
        "na": _Range("actuator_actadr", "actuator_actnum"),
    },
    ObjType.SENSOR: {"nsensor": _OWN, "nsensordata": _Range("sensor_adr", "sensor_dim")},
    ObjType.NUMERIC: {},
    ObjType.KEY: {},
}
"""For each kind of object the sizes of the fields that have rows for it, and which rows."""

_PREFIXES = {
    ObjType.JOINT: ("jnt_", "dof_"),
    ObjType.CAMERA: ("cam_",),
    ObjType.TEXTURE: ("tex_",),
    ObjType.MATERIAL: ("mat_",),
    ObjType.EQUALITY: ("eq_",),
    ObjType.TENDON: ("tendon_", "ten_"),
    ObjType.SENSOR: ("sensor_", "sensor"),
}
"""What fields begin with where it is not the kind's own name; an earlier one wins."""

_RANGES = {
    "actuator_ctrllimited": _Range("actuator_ctrladr", "actuator_ctrlnum"),
    "numeric_data": _Range("numeric_adr", "numeric_size"),
    "mesh_vert": _Range("mesh_vertadr", "mesh_vertnum"),
    "mesh_normal": _Range("mesh_normaladr", "mesh_normalnum"),
    "mesh_texcoord": _Range("mesh_texcoordadr", "mesh_texcoordnum"),
    "mesh_face": _Range("mesh_faceadr", "mesh_facenum"),
    "mesh_facenormal": _Range("mesh_faceadr", "mesh_facenum"),
    "mesh_facetexcoord": _Range("mesh_faceadr", "mesh_facenum"),
}
"""Rows of fields whose size is not declared, or that are lists of all objects' rows."""

_WHOLE = ("hfield_data", "tex_data", "mesh_graph", "text_data")
"""Fields without rows."""


class _Entry(NamedTuple):
    """A field and which of its rows belong to an object; `axes` is the number of its dimensions, worlds apart."""

    field: str
    rows: _Range
    axes: int | None


@functools.cache
def _table(record: type[Record], kind: ObjType) -> dict[str, _Entry]:
    """The attributes of a kind of object in a record."""
    sizes = _SIZES[kind]
    prefixes = _PREFIXES.get(kind, (f"{kind.name.lower()}_",))
    table: dict[str, _Entry] = {}
    done: set[str] = set(_WHOLE)
    for prefix in (*prefixes, ""):
        for field in dataclasses.fields(record):  # pyright: ignore
            name = field.name
            if not name.startswith(prefix) or name in done:
                continue
            dims = field.metadata.get("shape", "").split()
            rows: _Range | None = None
            if dims:
                rows = sizes.get(dims[0])
            elif prefix and field.metadata["kind"] == "static":
                rows = _DOFS if prefix == "dof_" else _OWN
            if prefix:
                rows = _RANGES.get(name, rows)
            if rows is not None:
                done.add(name)
                table.setdefault(name[len(prefix) :], _Entry(name, rows, len(dims) or None))
    return table


class Naming(Protocol):
    """What a view asks of a model: names and ids of its objects."""

    def id(self, kind: ObjType, name: str) -> int:
        """The id of a name."""
        ...

    def name(self, kind: ObjType, id: int) -> str:
        """The name of an id."""
        ...


class View:
    """One object of a model or of its data; what it has is listed by `dir`.

    Attributes:
      id: of the object.
      name: of the object, `""` if it has none.
    """

    __slots__ = ("_kind", "_model", "_record", "id", "name")

    id: int
    name: str

    def __init__(self, model: Naming, record: Record, kind: ObjType, id: int) -> None:
        put = functools.partial(object.__setattr__, self)
        put("_model", model)
        put("_record", record)
        put("_kind", kind)
        put("id", id)
        put("name", model.name(kind, id))

    def __getattr__(self, attribute: str) -> Any:
        entry = _table(type(self._record), self._kind).get(attribute)
        if entry is None:
            known = ", ".join(_table(type(self._record), self._kind))
            raise AttributeError(
                f"a {self._kind.name.lower()} has no {attribute!r} in {type(self._record).__name__}; there are {known}"
            )
        values = getattr(self._record, entry.field)
        start, stop = self._rows(entry.rows)
        axes = entry.axes or np.ndim(values)
        rows = values[(..., slice(start, stop), *(slice(None),) * (axes - 1))]
        joined = entry.rows is not _DOFS and entry.rows is not _COORDINATES
        if axes > 1 and stop - start == 1 and joined and entry.field not in _RANGES:
            return rows[(..., 0, *(slice(None),) * (axes - 1))]
        return rows

    def _rows(self, rows: _Range) -> tuple[int, int]:
        if rows is _OWN:
            return self.id, self.id + 1
        start = int(getattr(self._model, rows.first)[self.id])
        if isinstance(rows.number, str):
            count = int(getattr(self._model, rows.number)[self.id])
        else:
            count = rows.number(JointType(self._model.jnt_type[self.id]))
        return (start, start + count) if start >= 0 else (0, 0)

    def __setattr__(self, attribute: str, value: Any) -> None:
        raise AttributeError(f"a view cannot be written to; use replace({attribute}=...) on the record")

    def __dir__(self) -> list[str]:
        return ["id", "name", *_table(type(self._record), self._kind)]

    def __repr__(self) -> str:
        return f"<{self._kind.name.lower()} {self.id} {self.name!r} of {type(self._record).__name__}>"


class ByName:
    """Gives a record views of its objects, by name or id."""

    def _view(self, kind: ObjType, key: str | int) -> View:
        raise NotImplementedError

    def body(self, key: str | int) -> View:
        """One body."""
        return self._view(ObjType.BODY, key)

    def joint(self, key: str | int) -> View:
        """One joint, with its degrees of freedom."""
        return self._view(ObjType.JOINT, key)

    def geom(self, key: str | int) -> View:
        """One geom."""
        return self._view(ObjType.GEOM, key)

    def site(self, key: str | int) -> View:
        """One site."""
        return self._view(ObjType.SITE, key)

    def camera(self, key: str | int) -> View:
        """One camera."""
        return self._view(ObjType.CAMERA, key)

    def light(self, key: str | int) -> View:
        """One light."""
        return self._view(ObjType.LIGHT, key)

    def tendon(self, key: str | int) -> View:
        """One tendon."""
        return self._view(ObjType.TENDON, key)

    def actuator(self, key: str | int) -> View:
        """One actuator, with its controls, activations and force outputs."""
        return self._view(ObjType.ACTUATOR, key)

    def sensor(self, key: str | int) -> View:
        """One sensor; `data` is its output."""
        return self._view(ObjType.SENSOR, key)

    def equality(self, key: str | int) -> View:
        """One equality constraint."""
        return self._view(ObjType.EQUALITY, key)

    jnt, cam, eq = joint, camera, equality


def find(model: Naming, kind: ObjType, key: str | int) -> int:
    """The id of an object that is given by name or by id.

    Raises:
      KeyError: there is no such name.
      IndexError: the id is out of range.
    """
    if isinstance(key, str):
        return model.id(kind, key)
    index = operator.index(key)
    model.name(kind, index)
    return index


class Named(ByName):
    """The objects of a Data; see `named`."""

    def __init__(self, model: Naming, data: Record) -> None:
        self.model = model
        self.data = data

    def _view(self, kind: ObjType, key: str | int) -> View:
        return View(self.model, self.data, kind, find(self.model, kind, key))


def named(model: Naming, data: Record) -> Named:
    """Views of a state and its results by the names of the model: `named(model, data).sensor("gyro").data`.

    Args:
      model: the model; only its static fields are read.
      data: of this model, one world or many, with batch axes in front; it may be traced.
    """
    return Named(model, data)
