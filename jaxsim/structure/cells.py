"""How many cells of a height field can lie under a geom: static, from sizes as the model was made with them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from jaxsim.enums import EnableBit, GeomType

__all__ = ["MOST_CELLS", "cells_under"]

MOST_CELLS = 24
"""Most columns and most rows of cells that are looked at under one geom."""


def cells_under(fields: Mapping[str, Any]) -> np.ndarray:
    """The most columns and rows of cells of any height field of the model that a geom can be above, turned anyhow.

    A geom of diameter D is above at most ceil(D / h) + 1 cells of width h that stand in a row; the distance at which
    contacts are detected makes it larger.

    Args:
      fields: of a model.

    Returns:
      (ngeom, 2), not above `MOST_CELLS`; 0 of planes and height fields, and where there is no height field.
    """
    kinds = np.asarray(fields["geom_type"])
    radius = np.asarray(fields["geom_rbound"]) + _reach(fields)
    most = np.zeros((len(radius), 2), np.int32)
    solid = (kinds != GeomType.HFIELD) & (kinds != GeomType.PLANE)
    for size, nrow, ncol in zip(
        fields["hfield_size"], fields["hfield_nrow"], fields["hfield_ncol"], strict=True
    ):
        for axis, cells in enumerate((int(ncol) - 1, int(nrow) - 1)):
            step = 2 * float(size[axis]) / cells
            # radii of two compilers differ in rounding errors
            under = np.ceil(2 * radius / step - 1e-6) + 1
            under = np.minimum(under, min(cells, MOST_CELLS)).astype(np.int32)
            most[:, axis] = np.where(solid, np.maximum(most[:, axis], under), 0)
    return most


def _reach(fields: Mapping[str, Any]) -> np.ndarray:
    """Most distance at which a geom's contacts with a height field are detected, m (ngeom,)."""
    gap, margin = np.asarray(fields["geom_gap"]), np.asarray(fields["geom_margin"])
    terrain = np.asarray(fields["geom_type"]) == GeomType.HFIELD
    option = fields["opt"]
    if int(option["enableflags"]) & EnableBit.OVERRIDE:
        margin = np.full_like(gap, 0.5 * float(option["o_margin"]))
    reach = margin + gap + np.max((margin + gap)[terrain], initial=0.0)
    for geoms in (fields["pair_geom1"], fields["pair_geom2"]):
        np.maximum.at(reach, geoms, np.asarray(fields["pair_margin"]) + np.asarray(fields["pair_gap"]))
    return reach
