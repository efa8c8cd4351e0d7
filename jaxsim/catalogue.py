"""Objects by name or id: views of them, and their names."""

from __future__ import annotations

import operator

from jaxsim.enums import PREFIXES, ObjType
from jaxsim.hints import hint
from jaxsim.pytree import Record, label
from jaxsim.views import View

__all__ = ["ByName", "Catalogue", "Named", "named"]


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


class Catalogue(ByName, Record):
    """A model's objects by name."""

    names: tuple[tuple[int, tuple[str, ...]], ...] = label("(ObjType, names by id)", dtype=tuple, default=())

    def id(self, kind: str | ObjType, name: str) -> int:
        """Returns the id of a named element.

        Args:
          kind: `"geom"`, `"joint"`, ... or an `ObjType`.
          name: the element's name.

        Raises:
          KeyError: there is no such element; the message names the nearest.
        """
        if not self.names:
            raise KeyError(
                f"{name!r}: names are not known inside of hooks; look ids up before and keep them there"
            )
        names = self._names_of(kind)
        if name in names:
            return names.index(name)
        what = kind if isinstance(kind, str) else kind.name.lower()
        raise KeyError(f"no {what} named {name!r}{hint(name, filter(None, names))}")

    def name(self, kind: str | ObjType, id: int) -> str:
        """Returns the name of an element, `""` if it has none.

        Raises:
          IndexError: the id is out of range.
        """
        names = self._names_of(kind)
        if not 0 <= id < len(names):
            what = kind if isinstance(kind, str) else kind.name.lower()
            raise IndexError(f"no {what} number {id}; there are {len(names)}")
        return names[id]

    def _names_of(self, kind: str | ObjType) -> tuple[str, ...]:
        found = dict(self.names)
        if isinstance(kind, str):
            kinds = {ObjType(key).name.lower(): key for key in found}
            if kind not in kinds:
                raise KeyError(f"no kind {kind!r} of elements; there are {', '.join(kinds)}")
            kind = ObjType(kinds[kind])
        return found.get(kind, ())

    def find(self, kind: ObjType, key: str | int) -> int:
        """Returns the id of an object that is given by name or by id.

        Raises:
          KeyError: there is no such name.
          IndexError: the id is out of range.
        """
        if isinstance(key, str):
            return self.id(kind, key)
        index = operator.index(key)
        self.name(kind, index)
        return index

    def _view(self, kind: ObjType, key: str | int) -> View:
        return View(self, self, kind, self.find(kind, key))

    def _whose(self, name: str, row: int) -> str:
        kinds = [kind for kind, prefix in PREFIXES.items() if name.startswith(f"{prefix}_")]
        found = [own for kind in kinds for own in self._names_of(kind)[row : row + 1] if own]
        return f" of {found[0]!r}" if found else super()._whose(name, row)

    def mesh(self, key: str | int) -> View:
        """One mesh, with its vertices and faces."""
        return self._view(ObjType.MESH, key)

    def hfield(self, key: str | int) -> View:
        """One height field."""
        return self._view(ObjType.HFIELD, key)

    def texture(self, key: str | int) -> View:
        """One texture."""
        return self._view(ObjType.TEXTURE, key)

    def material(self, key: str | int) -> View:
        """One material."""
        return self._view(ObjType.MATERIAL, key)

    def pair(self, key: str | int) -> View:
        """One explicit contact pair."""
        return self._view(ObjType.PAIR, key)

    def exclude(self, key: str | int) -> View:
        """One excluded pair of bodies."""
        return self._view(ObjType.EXCLUDE, key)

    def numeric(self, key: str | int) -> View:
        """One custom numeric field; `data` are its numbers."""
        return self._view(ObjType.NUMERIC, key)

    def key(self, key: str | int) -> View:
        """One keyframe."""
        return self._view(ObjType.KEY, key)

    tex, mat, keyframe = texture, material, key


class Named(ByName):
    """The objects of a Data; see `named`."""

    def __init__(self, model: Catalogue, data: Record) -> None:
        self.model = model
        self.data = data

    def _view(self, kind: ObjType, key: str | int) -> View:
        return View(self.model, self.data, kind, self.model.find(kind, key))


def named(model: Catalogue, data: Record) -> Named:
    """Views of a state and its results by the names of the model: `named(model, data).sensor("gyro").data`.

    Args:
      model: the model; only its names and static fields are read.
      data: of this model, one world or many, with batch axes in front; it may be traced.
    """
    return Named(model, data)
