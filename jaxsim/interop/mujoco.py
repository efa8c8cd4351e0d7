"""Models of the C engine: conversion, and acceptance wherever a Model is."""

from __future__ import annotations

import dataclasses
import weakref
from collections.abc import Mapping
from typing import Any

import numpy as np

from jaxsim.data import Data
from jaxsim.enums import PREFIXES, WrapType
from jaxsim.model import Model, from_fields
from jaxsim.options import Option, Statistic
from jaxsim.pipeline import make_data as native
from jaxsim.structure.quads import other_corners

__all__ = ["as_model", "make_data", "put_model"]


def put_model(mj_model: Any, nconmax: int = -1, njmax: int = -1, max_geom_pairs: str | int = "") -> Model:
    """Converts a `mujoco.MjModel`.

    Args:
      mj_model: the C engine's model.
      nconmax: contact slots; -1: chosen from the model.
      njmax: constraint rows; -1: chosen from the model.
      max_geom_pairs: pairs of geoms of each kind that a broad phase keeps, as in `load_model`; "": chosen likewise.
    """
    sizes = {"nconmax": nconmax, "njmax": njmax, "max_geom_pairs": str(max_geom_pairs)}
    return from_fields(_fields(mj_model) | sizes)


def make_data(model: Model | Any) -> Data:
    """Returns the state at qpos0, at rest, with all results zero; one world.

    Args:
      model: a Model, or a `mujoco.MjModel`, which is converted with buffers of the sizes that `put_model` chooses.

    Raises:
      UnsupportedError: the model asks for physics that jaxsim does not compute yet.
    """
    return native.make_data(as_model(model))


def as_model(model: Model | Any) -> Model:
    """A Model as it is; a `mujoco.MjModel` converted, once as long as nobody changes a number in it.

    Raises:
      TypeError: it is neither.
    """
    if isinstance(model, Model):
        return model
    if not hasattr(model, "body_parentid"):
        raise TypeError(f"expected a jaxsim.Model or a mujoco.MjModel, not {type(model).__name__}")
    fields = _fields(model)
    before = _converted.get(model)
    if before is None or not _same(before[0], fields):
        before = fields, from_fields(fields)
        _converted[model] = before
    return before[1]


_converted: weakref.WeakKeyDictionary[Any, tuple[dict[str, Any], Model]] = weakref.WeakKeyDictionary()
"""For each model of the C engine its fields when it was last converted, and the result."""


def _same(a: Any, b: Any) -> bool:
    """Whether two values are equal, arrays and mappings entry by entry; nan equals nan."""
    if isinstance(a, Mapping):
        return a.keys() == b.keys() and all(_same(a[name], b[name]) for name in a)
    if isinstance(a, np.ndarray):
        return a.shape == b.shape and a.tobytes() == b.tobytes()
    return a == b


_OWN = ("nconmax", "njmax", "max_geom_pairs", "hooks")
"""Fields of Model that are jaxsim's own, beside names; they have defaults."""


def _fields(mj_model: Any) -> dict[str, Any]:
    """Copies of all fields of a Model, its options and statistics as mappings."""
    fields: dict[str, Any] = {}
    for field in dataclasses.fields(Model):
        name = field.name
        if name in ("opt", "stat"):
            fields[name] = _record_fields(Option if name == "opt" else Statistic, getattr(mj_model, name))
        elif name == "names":
            fields[name] = tuple((int(t), _names(mj_model, key)) for t, key in PREFIXES.items())
        elif name == "modelname":
            fields[name] = mj_model.names.split(b"\0", 1)[0].decode()
        elif name in _OWN:
            continue
        elif name == "mesh_polyothers":
            meshes = {n: np.asarray(getattr(mj_model, n)) for n in dir(mj_model) if n.startswith("mesh_")}
            fields[name] = other_corners(meshes)
        elif name == "wrap_sideid":
            wraps_geom = np.isin(mj_model.wrap_type, (WrapType.SPHERE, WrapType.CYLINDER))
            fields[name] = np.where(wraps_geom, np.round(mj_model.wrap_prm), -1).astype(np.int32)
        else:
            value = getattr(mj_model, name)
            fields[name] = np.array(value) if isinstance(value, np.ndarray) else value
    fields["cam_mat0"] = fields["cam_mat0"].reshape(-1, 3, 3)
    return fields


def _record_fields(cls: type[Any], source: Any) -> dict[str, Any]:
    return {
        f.name: np.array(v) if isinstance(v := getattr(source, f.name), np.ndarray) else v
        for f in dataclasses.fields(cls)
    }


def _names(mj_model: Any, key: str) -> tuple[str, ...]:
    table = mj_model.names
    return tuple(table[a : table.index(b"\0", a)].decode() for a in getattr(mj_model, f"name_{key}adr"))
