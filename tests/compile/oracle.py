"""Compares our compiler with the C compiler, field by field."""

from __future__ import annotations

import dataclasses
from typing import Any

import mujoco
import numpy as np

from jaxsim.collision.field import without_voxels
from jaxsim.compile import load_model
from jaxsim.hooks import Hooks
from jaxsim.interop.mujoco import put_model
from jaxsim.model import Model
from jaxsim.options import Option, Statistic

__all__ = ["TOLERANCE", "check", "check_file", "differences"]

TOLERANCE = 1e-6
"""Relative, in the max norm: what the project promises. Smooth fields agree to about 1e-13."""

_OURS = {"nconmax", "njmax", "onset", "mesh_graph", "mesh_graphadr", "mesh_normal", "tex_data"}
"""Buffer sizes and smoothing are ours; hulls, vertex normals and painted pixels are equivalent, not equal."""


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
    ours, theirs = without_voxels(ours), without_voxels(theirs)
    for cls, name in ((Model, ""), (Option, "opt"), (Statistic, "stat")):
        a, b = (getattr(m, name) if name else m for m in (ours, theirs))
        for field in dataclasses.fields(cls):
            if field.name in _OURS or field.name in ("opt", "stat"):
                continue
            x, y = getattr(a, field.name), getattr(b, field.name)
            if isinstance(y, (str, bytes, tuple, Hooks)):
                if x != y:
                    found[field.name] = (x, y)
            elif not (error := _error(x, y)) <= TOLERANCE:
                found[field.name] = error
            elif isinstance(y, np.ndarray) and (x.dtype, x.shape) != (y.dtype, y.shape):
                found[field.name] = ((x.dtype, x.shape), (y.dtype, y.shape))
    return found


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
