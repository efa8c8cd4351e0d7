"""From and to the C engine's structs; `mujoco` is imported by the caller, never by the core."""

from __future__ import annotations

import dataclasses
from typing import Any

import jax.numpy as jnp
import numpy as np

from jaxsim.data import Data
from jaxsim.enums import PREFIXES, WrapType
from jaxsim.model import Model, from_fields
from jaxsim.options import Option, Statistic
from jaxsim.pipeline.make_data import make_data

__all__ = ["get_data", "put_data", "put_model"]


def put_model(mj_model: Any, nconmax: int = -1, njmax: int = -1, max_geom_pairs: str | int = "") -> Model:
    """Converts a `mujoco.MjModel`.

    Args:
      mj_model: the C engine's model.
      nconmax: contact slots; -1: chosen from the model.
      njmax: constraint rows; -1: chosen from the model.
      max_geom_pairs: pairs of geoms of each kind that a broad phase keeps, as in `load_model`; "": chosen likewise.
    """
    sizes = {"nconmax": nconmax, "njmax": njmax, "max_geom_pairs": str(max_geom_pairs)}
    fields: dict[str, Any] = {}
    for field in dataclasses.fields(Model):
        name = field.name
        if name in ("opt", "stat"):
            fields[name] = _record_fields(Option if name == "opt" else Statistic, getattr(mj_model, name))
        elif name == "names":
            fields[name] = tuple((int(t), _names(mj_model, key)) for t, key in PREFIXES.items())
        elif name == "modelname":
            fields[name] = mj_model.names.split(b"\0", 1)[0].decode()
        elif name == "hooks":
            continue
        elif name in sizes:
            fields[name] = sizes[name]
        elif name == "wrap_sideid":
            wraps_geom = np.isin(mj_model.wrap_type, (WrapType.SPHERE, WrapType.CYLINDER))
            fields[name] = np.where(wraps_geom, np.round(mj_model.wrap_prm), -1).astype(np.int32)
        else:
            value = getattr(mj_model, name)
            fields[name] = np.array(value) if isinstance(value, np.ndarray) else value
    fields["cam_mat0"] = fields["cam_mat0"].reshape(-1, 3, 3)
    return from_fields(fields)


def _record_fields(cls: type[Any], source: Any) -> dict[str, Any]:
    return {
        f.name: np.array(v) if isinstance(v := getattr(source, f.name), np.ndarray) else v
        for f in dataclasses.fields(cls)
    }


def _names(mj_model: Any, key: str) -> tuple[str, ...]:
    table = mj_model.names
    return tuple(table[a : table.index(b"\0", a)].decode() for a in getattr(mj_model, f"name_{key}adr"))


def put_data(model: Model, mj_data: Any) -> Data:
    """Converts the fields of a `mujoco.MjData` whose sizes the model fixes; contacts and rows start empty."""
    data = make_data(model)
    values = {}
    for field in Data.leaf_fields():
        ours, theirs = getattr(data, field.name), getattr(mj_data, field.name, None)
        if theirs is None or not hasattr(ours, "shape") or np.size(theirs) != ours.size:
            continue
        if field.name != "M":
            values[field.name] = jnp.asarray(theirs, ours.dtype).reshape(ours.shape)
    return data.replace(**values)


def get_data(model: Model, data: Data, mj_data: Any) -> None:
    """Copies one world into a `mujoco.MjData` of the same model.

    Raises:
      ValueError: a field's size differs from the model's, as when `data` holds several worlds.
    """
    for field in Data.leaf_fields():
        ours, theirs = getattr(data, field.name), getattr(mj_data, field.name, None)
        if (
            theirs is None
            or not hasattr(ours, "shape")
            or field.name in ("M", "ncon", "ne", "nf", "nl", "nefc")
        ):
            continue
        if field.name == "efc_force" or field.name == "warning":
            continue
        if not isinstance(theirs, np.ndarray):
            setattr(mj_data, field.name, float(ours))
            continue
        if ours.size != theirs.size:
            raise ValueError(
                f"get_data: {field.name} has {ours.size} numbers, the C engine expects {theirs.size}"
            )
        theirs[...] = np.asarray(ours).reshape(theirs.shape)
