"""Models of the C engine: conversion, and acceptance wherever a Model is."""

from __future__ import annotations

import dataclasses
import weakref
from collections.abc import Mapping
from typing import Any

import numpy as np

from jaxsim.collision.field import with_voxels
from jaxsim.compile.own import OWN, own_fields
from jaxsim.data import Data
from jaxsim.enums import PREFIXES, WrapType
from jaxsim.mjcf.schema import schema
from jaxsim.model import Model, from_fields
from jaxsim.pipeline import make_data as native
from jaxsim.pytree import Record, held_record
from jaxsim.results import UnsupportedError
from jaxsim.structure.budgets import asked_sizes, given_sizes

__all__ = ["as_model", "make_data", "put_model"]

_LATER = {"nplastic": "springs that yield (springyield)"}
"""Physics that later C engines have, by the count of them."""


def put_model(
    mj_model: Any,
    nconmax: int | None = None,
    njmax: int | None = None,
    max_geom_pairs: str | int | None = None,
) -> Model:
    """Converts a `mujoco.MjModel`.

    Args:
      mj_model: the C engine's model.
      nconmax: contact slots; -1: chosen from what can collide; None: what the model asks for, as in `load_model`.
      njmax: constraint rows; None or -1: as many as it may have.
      max_geom_pairs: pairs of geoms of each kind that a broad phase keeps, as `nconmax`; "": chosen.

    Raises:
      TypeError: it is no MjModel.
      UnsupportedError: it has physics that came to the C engine after 3.17.
      ValueError: a height field has no cells, or `nconmax` or `njmax` is less than -1.
    """
    if not hasattr(mj_model, "name_bodyadr"):
        raise TypeError(f"put_model: expected a mujoco.MjModel, not {type(mj_model).__name__}")
    for k in np.flatnonzero(np.minimum(mj_model.hfield_nrow, mj_model.hfield_ncol) < 2).tolist():
        raise ValueError(
            f"put_model: height field {mj_model.hfield(k).name!r} has fewer than 2 rows or columns"
        )
    sizes = given_sizes(nconmax, njmax, max_geom_pairs)
    return _converted_model(mj_model, _fields(mj_model), sizes)


def _converted_model(mj_model: Any, fields: dict[str, Any], sizes: dict[str, Any]) -> Model:
    """The model of some fields, with what jaxsim derives from them, and buffer sizes where they are given by hand."""
    normals = np.asarray(mj_model.mesh_polynormal, float).reshape(-1, 3)
    return with_voxels(from_fields(fields | own_fields(fields, normals) | _asked(mj_model) | sizes))


def _asked(mj_model: Any) -> dict[str, Any]:
    """Buffer sizes that a model asks for: in `<size>`, or in the custom numbers and text of MJX's files."""
    m = mj_model

    def named(adr: np.ndarray, data: Any, start: np.ndarray, size: np.ndarray) -> dict[str, Any]:
        names = [m.names[a:].split(b"\0", 1)[0].decode() for a in adr]
        return {name: data[a : a + n] for name, a, n in zip(names, start, size, strict=True)}

    numbers = named(m.name_numericadr, m.numeric_data, m.numeric_adr, m.numeric_size)
    texts = named(m.name_textadr, m.text_data, m.text_adr, m.text_size)

    text = texts.get("max_geom_pairs", b"").decode().rstrip("\0")
    return asked_sizes(m.nconmax, m.njmax, numbers, text)


def make_data(model: Model | Any) -> Data:
    """Returns the state at qpos0, at rest, with all results zero; one world.

    Args:
      model: a Model, or a `mujoco.MjModel`, which is converted with the buffers that it asks for.

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
        raise TypeError(
            f"expected a jaxsim.Model or a mujoco.MjModel, not {type(model).__name__}; jaxsim.load_model reads files"
        )
    fields = _fields(model)
    before = _converted.get(model)
    if before is None or not _same(before[0], fields):
        before = fields, _converted_model(model, fields, {})
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


_OWN = ("nconmax", "njmax", "max_geom_pairs", "hooks", "onset", *OWN)
"""Fields of Model that are jaxsim's own, beside names."""


def _fields(mj_model: Any) -> dict[str, Any]:
    """Copies of all fields of a Model but its own; options, statistics and `vis` as mappings.

    Raises:
      UnsupportedError: it has physics that came to the C engine after 3.17.
    """
    for name, what in _LATER.items():
        if getattr(mj_model, name, 0):
            raise UnsupportedError(
                f"put_model: the model has {what}, of a MuJoCo newer than 3.17, not known here"
            )
    fields: dict[str, Any] = {}
    for field in dataclasses.fields(Model):
        name = field.name
        if name in _OWN:
            continue
        if record := held_record(field):
            fields[name] = _record_fields(record, getattr(mj_model, name))
        elif name == "names":
            fields[name] = tuple((int(t), _names(mj_model, key)) for t, key in PREFIXES.items())
        elif name == "modelname":
            fields[name] = mj_model.names.split(b"\0", 1)[0].decode()
        elif name == "wrap_sideid":
            wraps_geom = np.isin(mj_model.wrap_type, (WrapType.SPHERE, WrapType.CYLINDER))
            fields[name] = np.where(wraps_geom, np.round(mj_model.wrap_prm), -1).astype(np.int32)
        else:
            value = getattr(mj_model, name)
            fields[name] = np.array(value) if isinstance(value, np.ndarray) else value
    fields["cam_mat0"] = fields["cam_mat0"].reshape(-1, 3, 3)
    return fields


def _record_fields(cls: type[Record], source: Any) -> dict[str, Any]:
    """Copies of the fields of a record, which may hold records."""
    fields: dict[str, Any] = {}
    for field in dataclasses.fields(cls):  # pyright: ignore
        name, value = field.name, getattr(source, field.name)
        if record := held_record(field):
            fields[name] = _record_fields(record, value)
        elif not isinstance(value, np.ndarray):
            fields[name] = bool(value) if field.metadata["dtype"] is bool else value
        elif name in ("bv", "bvactive"):  # mujoco 3.17.0 does not give them out
            fields[name] = schema()["visual/rgba"].attributes[name].default
        else:
            fields[name] = np.array(value)
    return fields


def _names(mj_model: Any, key: str) -> tuple[str, ...]:
    table = mj_model.names
    return tuple(table[a : table.index(b"\0", a)].decode() for a in getattr(mj_model, f"name_{key}adr"))
