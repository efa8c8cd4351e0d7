"""Compares our compiler with the C compiler, field by field."""

from __future__ import annotations

import dataclasses
from typing import Any

import mujoco
import numpy as np

from jaxsim.collision.field import without_voxels
from jaxsim.compile import Spec, load_model
from jaxsim.hooks import Hooks
from jaxsim.interop.mujoco import put_model
from jaxsim.model import Model
from jaxsim.pytree import Record, held_record

__all__ = ["TOLERANCE", "check", "check_file", "check_spec", "differences"]

TOLERANCE = 1e-6
"""Relative, in the max norm: what the project promises. Smooth fields agree to about 1e-13."""

_OURS = {"nconmax", "njmax", "onset", "mesh_graph", "mesh_graphadr", "mesh_normal", "tex_data"}
_OURS |= {"corners", "cell", "row", "near", "vertex", "vertsum"}
"""Buffer sizes and smoothing are ours; hulls, vertex normals and painted pixels are equivalent, not equal.

What `mesh_hulls` takes from hulls and from the bits of vertices differs with them.
"""


def _error(ours: Any, theirs: Any) -> float:
    ours, theirs = np.asarray(ours), np.asarray(theirs)
    if ours.size != theirs.size:
        return float("inf")
    if not theirs.size:
        return 0.0
    ours, theirs = ours.astype(float).ravel(), theirs.astype(float).ravel()
    if not np.isfinite(ours).all():
        return float("inf")
    return float(np.abs(ours - theirs).max() / (1 + np.abs(theirs).max()))


def differences(ours: Model, theirs: Model) -> dict[str, Any]:
    """Returns the fields that differ, with their relative error or both values."""
    found: dict[str, Any] = {}
    _compare(without_voxels(ours), without_voxels(theirs), "", found)
    return found


def _compare(ours: Record, theirs: Record, prefix: str, found: dict[str, Any]) -> None:
    for field in dataclasses.fields(ours):  # pyright: ignore
        if field.name in _OURS:
            continue
        name, x, y = prefix + field.name, getattr(ours, field.name), getattr(theirs, field.name)
        if held_record(field):
            _compare(x, y, f"{name}.", found)
        elif isinstance(y, (str, bytes, tuple, Hooks)):
            if x != y:
                found[name] = (x, y)
        elif not (error := _error(x, y)) <= TOLERANCE:
            found[name] = error
        elif isinstance(y, np.ndarray) and (x.dtype, x.shape) != (y.dtype, y.shape):
            found[name] = ((x.dtype, x.shape), (y.dtype, y.shape))


def check(xml: str, assets: dict[str, bytes] | None = None) -> Model:
    """Compiles XML text with both compilers; returns our model."""
    ours = load_model(xml, assets=assets)
    theirs = put_model(mujoco.MjModel.from_xml_string(xml, assets or {}))
    found = differences(ours, theirs)
    assert not found, found
    return ours


def check_file(path: str) -> None:
    """Compiles a file with both compilers."""
    found = differences(load_model(path), put_model(mujoco.MjModel.from_xml_path(path)))
    assert not found, found


def check_spec(spec: Spec, theirs: mujoco.MjModel) -> None:
    """Compiles a specification, and compares it with the C compiler's model."""
    found = differences(spec.compile(), put_model(theirs))
    assert not found, found
