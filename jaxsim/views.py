"""A view of one object: `model.body("torso").mass`, `named(model, data).joint("knee").qpos`.

Attributes are those of MuJoCo's Python bindings: the fields without their prefixes, a single number as an array of one.
Views work on traced arrays and keep batch axes in front. They cannot be written to: change a field of the record with
`replace`.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

from jaxsim.enums import PREFIXES, JointType, ObjType
from jaxsim.pytree import Record

__all__ = ["Naming", "View", "table"]


class _Range(NamedTuple):
    """Rows that an object owns.

    Attributes:
      first: the field with the first row; none: the object's id is its one row.
      number: the field with their number, or what a joint's type says about it.
      listed: whether a single row stays a list of one.
    """

    first: str = ""
    number: str | Callable[[JointType], int] = ""
    listed: bool = False


_OWN = _Range()

_ROWS: dict[ObjType, dict[str, _Range]] = {
    ObjType.JOINT: {
        "nq": _Range("jnt_qposadr", lambda kind: kind.nq, listed=True),
        "nv": _Range("jnt_dofadr", lambda kind: kind.nv, listed=True),
    },
    ObjType.MESH: {
        "nmeshvert": _Range("mesh_vertadr", "mesh_vertnum", listed=True),
        "nmeshnormal": _Range("mesh_normaladr", "mesh_normalnum", listed=True),
        "nmeshtexcoord": _Range("mesh_texcoordadr", "mesh_texcoordnum", listed=True),
        "nmeshface": _Range("mesh_faceadr", "mesh_facenum", listed=True),
    },
    ObjType.ACTUATOR: {
        "nu": _Range("actuator_ctrladr", "actuator_ctrlnum"),
        "nout": _Range("actuator_outadr", "actuator_outnum"),
        "na": _Range("actuator_actadr", "actuator_actnum"),
    },
    ObjType.SENSOR: {"nsensordata": _Range("sensor_adr", "sensor_dim")},
    ObjType.NUMERIC: {"nnumericdata": _Range("numeric_adr", "numeric_size", listed=True)},
}
"""Rows of fields whose first dimension is not the number of objects, by the name of that dimension."""

_ALSO = {ObjType.JOINT: ("dof_",), ObjType.TENDON: ("ten_",), ObjType.SENSOR: ("sensor",)}
"""What fields of a kind begin with besides its own prefix, which wins."""


class _Entry(NamedTuple):
    """A field and which of its rows belong to an object; `axes` is the number of its dimensions, worlds apart."""

    field: str
    rows: _Range
    axes: int


@functools.cache
def table(record: type[Record], kind: ObjType) -> dict[str, _Entry]:
    """The attributes of a kind of object in a record: fields whose first dimension counts what the object owns."""
    prefix = PREFIXES[kind]
    sizes = {f"n{prefix}": _OWN, **_ROWS.get(kind, {})}
    found: dict[str, _Entry] = {}
    done: set[str] = set()
    for start in (f"{prefix}_", *_ALSO.get(kind, ()), ""):
        for field in dataclasses.fields(record):  # pyright: ignore
            name, dims = field.name, field.metadata.get("shape", "").split()
            if name.startswith(start) and name not in done and dims and dims[0] in sizes:
                done.add(name)
                found.setdefault(name[len(start) :], _Entry(name, sizes[dims[0]], len(dims)))
    return found


class Naming(Protocol):
    """What a view asks of a model: the name of an object. Its fields say which rows the object owns."""

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
        entry = table(type(self._record), self._kind).get(attribute)
        if entry is None:
            known = ", ".join(table(type(self._record), self._kind))
            raise AttributeError(
                f"a {self._kind.name.lower()} has no {attribute!r} in {type(self._record).__name__}; there are {known}"
            )
        values = getattr(self._record, entry.field)
        start, stop = self._rows(entry.rows)
        rows = values[(..., slice(start, stop), *(slice(None),) * (entry.axes - 1))]
        if entry.axes > 1 and stop - start == 1 and not entry.rows.listed:
            return rows[(..., 0, *(slice(None),) * (entry.axes - 1))]
        return rows

    def _rows(self, rows: _Range) -> tuple[int, int]:
        if not rows.first:
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
        return ["id", "name", *table(type(self._record), self._kind)]

    def __repr__(self) -> str:
        return f"<{self._kind.name.lower()} {self.id} {self.name!r} of {type(self._record).__name__}>"
