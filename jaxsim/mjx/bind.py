"""Rows of records by the objects of an MjSpec: `model.bind(objects)` and `data.bind(model, objects)`."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxsim.enums import JointType

__all__ = ["BoundData", "BoundModel"]

_MODEL = {
    "MjsBody": "body_",
    "MjsJoint": "jnt_",
    "MjsGeom": "geom_",
    "MjsSite": "site_",
    "MjsLight": "light_",
    "MjsCamera": "cam_",
    "MjsMesh": "mesh_",
    "MjsHField": "hfield_",
    "MjsPair": "pair_",
    "MjsTendon": "tendon_",
    "MjsActuator": "actuator_",
    "MjsSensor": "sensor_",
    "MjsNumeric": "numeric_",
    "MjsText": "text_",
    "MjsTuple": "tuple_",
    "MjsKey": "key_",
    "MjsEquality": "eq_",
    "MjsExclude": "exclude_",
    "MjsMaterial": "mat_",
}
"""What fields of Model begin with, by the class of the object."""

_DATA = {
    "MjsBody": "",
    "MjsJoint": "jnt_",
    "MjsGeom": "geom_",
    "MjsSite": "site_",
    "MjsLight": "light_",
    "MjsCamera": "cam_",
    "MjsTendon": "ten_",
    "MjsActuator": "actuator_",
    "MjsSensor": "sensor_",
    "MjsEquality": "eq_",
}
"""The same for Data."""

_DOFS = ("qvel", "qacc", "qfrc_")
"""Fields of joints with a row for each degree of freedom."""


class _Objects:
    """Ids of objects of one kind, and what their fields begin with."""

    def __init__(self, model: Any, obj: Any, prefixes: dict[str, str]) -> None:
        objects = list(obj) if isinstance(obj, Iterable) else [obj]
        signature = getattr(model, "signature", None)
        for one in objects:
            if type(one).__name__ not in prefixes:
                raise ValueError(
                    f"bind: a {type(one).__name__} has no fields here; give one of {', '.join(prefixes)}"
                )
            if signature is not None and one.signature != signature:
                raise ValueError(
                    f"bind: the MjSpec's signature {one.signature} is not the model's {signature}: "
                    "compile the spec, and put that model on the device"
                )
            if one.id < 0:
                raise KeyError(f"bind: object {one.name!r} has no id: compile its MjSpec first")
        self.prefix = prefixes[type(objects[-1]).__name__] if objects else ""
        self.ids = [int(one.id) for one in objects]
        self._several = isinstance(obj, Iterable)

    @property
    def id(self) -> int | np.ndarray:
        """The id of the object, or those of several."""
        return np.array(self.ids, int) if self._several else self.ids[0]

    @property
    def index(self) -> int | list[int]:
        """One id, or a list."""
        return self.ids[0] if len(self.ids) == 1 else self.ids


class BoundModel(_Objects):
    """Fields of a Model at some objects, by their names without the prefix."""

    def __init__(self, model: Any, obj: Any) -> None:
        super().__init__(model, obj, _MODEL)
        self.model = model

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        model = self.__dict__["model"]
        return _rows(model, self.prefix + name, self.index)


class BoundData(_Objects):
    """Fields of a Data at some objects, by their names without the prefix; `set` makes a Data with another value."""

    def __init__(self, data: Any, model: Any, obj: Any) -> None:
        super().__init__(model, obj, _DATA)
        self.data = data
        self.model = model

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        field, index = self._place(name)
        return _rows(self.__dict__["data"], field, index)

    def set(self, name: str, value: Any) -> Any:
        """The Data with another value of a field at the objects.

        Args:
          name: the field, without prefix.
          value: numbers for all rows of the objects, one after the other; a single number counts for all of them.

        Raises:
          AttributeError: the field is an output, or the objects have no such field.
        """
        if name == "sensordata":
            raise AttributeError("sensordata is an output: it cannot be set")
        field, index = self._place(name)
        old = getattr(self.data, field)
        places = _places(self.data, field, index)
        shape = old[places].shape
        new = jnp.asarray(value, old.dtype)
        new = new.reshape(shape) if new.size == np.prod(shape) else jnp.broadcast_to(new, shape)
        return self.data.replace(**{field: old.at[places].set(new)})

    def _place(self, name: str) -> tuple[str, Any]:
        """The field and its rows."""
        if name == "sensordata":
            return self._only("sensor_", name), self._ranges("sensor_adr", self.model.sensor_dim)
        if name == "ctrl":
            self._only("actuator_", name)
            return name, self._ranges("actuator_ctrladr", self.model.actuator_ctrlnum)
        if name == "qpos":
            return self._only("jnt_", name), self._ranges("jnt_qposadr", self._widths("nq"))
        if name.startswith(_DOFS):
            return self._only("jnt_", name), self._ranges("jnt_dofadr", self._widths("nv"))
        if name in ("mocap_pos", "mocap_quat"):
            rows = self.model.body_mocapid[np.array(self.ids)]
            return name, int(rows[0]) if len(self.ids) == 1 else rows
        if self.prefix == "jnt_" and name in ("xanchor", "xaxis"):
            return name, self.index
        return self.prefix + name, self.index

    def _only(self, prefix: str, name: str) -> str:
        if self.prefix != prefix:
            raise AttributeError(
                f"{name} is not available for this type: its objects have fields that begin with {prefix!r}, "
                f"these with {self.prefix!r}"
            )
        return name

    def _widths(self, size: str) -> np.ndarray:
        return np.array([getattr(JointType(t), size) for t in self.model.jnt_type], int)

    def _ranges(self, address: str, count: np.ndarray) -> Any:
        """Rows of the objects; of a single object with one row its number alone."""
        first = getattr(self.model, address)
        rows = np.concatenate([first[i] + np.arange(count[i]) for i in self.ids])
        return int(rows[0]) if len(self.ids) == 1 and len(rows) == 1 else rows


def _rows(record: Any, field: str, index: Any) -> Array:
    places = _places(record, field, index)
    return getattr(record, field)[places]


def _places(record: Any, field: str, index: Any) -> tuple[Any, ...]:
    """Rows of a field, worlds in front.

    Raises:
      AttributeError: there is no such field.
    """
    known = {f.name: f for f in dataclasses.fields(record)}
    if field not in known:
        raise AttributeError(f"{type(record).__name__} has no field {field!r}")
    axes = len(known[field].metadata["shape"].split())
    return (..., index, *(slice(None),) * (axes - 1))
