"""Lists of rows to the arrays of a Model: dtype and row width of every field, as in mjModel."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

from jaxsim.model import Model

__all__ = ["column", "empty_fields"]

_WIDTHS = {
    "actuator_history": 2,
    "actuator_trnid": 2,
    "cam_resolution": 2,
    "geom_rgba": 4,
    "light_ambient": 3,
    "light_attenuation": 3,
    "light_diffuse": 3,
    "light_specular": 3,
    "mat_rgba": 4,
    "mat_texid": 10,
    "mat_texrepeat": 2,
    "mesh_face": 3,
    "mesh_facenormal": 3,
    "mesh_facetexcoord": 3,
    "mesh_normal": 3,
    "mesh_texcoord": 2,
    "sensor_history": 2,
    "sensor_intprm": 3,
    "site_rgba": 4,
    "tendon_rgba": 4,
}
"""Row widths of static matrices; those of traced fields are in the Model."""

_SINGLE = frozenset(
    [
        "geom_rgba",
        "site_rgba",
        "light_bulbradius",
        "light_intensity",
        "light_range",
        "light_attenuation",
        "light_cutoff",
        "light_softness",
        "light_exponent",
        "light_ambient",
        "light_diffuse",
        "light_specular",
        "mesh_normal",
        "mesh_texcoord",
        "mat_texrepeat",
        "mat_emission",
        "mat_specular",
        "mat_shininess",
        "mat_reflectance",
        "mat_metallic",
        "mat_roughness",
        "mat_rgba",
        "tendon_rgba",
    ]
)
"""Static fields that mjModel stores in single precision."""

_ROUNDED = frozenset({"cam_sensorsize", "cam_intrinsic", "mesh_vert", "hfield_data"})
"""Traced fields that mjModel stores in single precision; they are rounded, so that results are comparable."""


@cache
def _layout() -> dict[str, tuple[Any, tuple[int, ...]]]:
    """Returns dtype and shape of a row of every array field."""
    table: dict[str, tuple[Any, tuple[int, ...]]] = {}
    for field in dataclasses.fields(Model):
        if field.metadata["kind"] == "leaf":
            dims = field.metadata["shape"].split()[1:]
            width = tuple(12 if dim == "neqdata" else int(dim) for dim in dims)
            dtype = np.float32 if field.name in _ROUNDED else np.float64
        elif field.type in ("Ints", "Bools", "Floats", "np.ndarray"):
            width = (_WIDTHS[field.name],) if field.name in _WIDTHS else ()
            dtype = {"Ints": np.int32, "Bools": np.bool_, "Floats": np.float64, "np.ndarray": np.uint8}[
                field.type
            ]
            if field.name in _SINGLE:
                dtype = np.float32
        else:
            continue
        table[field.name] = (dtype, width)
    table["tex_adr"] = (np.int64, ())
    return table


def column(name: str, rows: Sequence[Any] | np.ndarray, width: int | None = None) -> np.ndarray:
    """Returns the rows of a field as one array.

    Args:
        name: the field.
        rows: one entry for each object.
        width: numbers in a row, where the model decides that.
    """
    dtype, row = _layout()[name]
    if width is not None:
        row = (width,)
    array = np.asarray(rows, dtype)
    return array.reshape(len(rows), *row)


def empty_fields() -> dict[str, np.ndarray]:
    """Returns every array field with no rows."""
    return {name: np.zeros((0, *row), dtype) for name, (dtype, row) in _layout().items()}
