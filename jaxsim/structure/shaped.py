"""Geoms that need a shape: they may collide, or sensors measure their distances from others. Host code."""

from __future__ import annotations

from typing import Any

import numpy as np

from jaxsim.enums import GeomType, ObjType
from jaxsim.structure.sensors import CATALOGUE

__all__ = ["geoms_of", "may_collide", "measured_geoms", "without_hull"]

_SENSORS = [sensor.type for sensor in CATALOGUE if sensor.form == "geoms"]


def geoms_of(static: Any, kind: int, number: int) -> np.ndarray:
    """The geoms of an object: itself, or those of a body."""
    if kind == ObjType.GEOM:
        return np.array([number])
    return static.body_geomadr[number] + np.arange(static.body_geomnum[number])


def may_collide(static: Any) -> np.ndarray:
    """Which geoms of a model, or of its fields, have a mask or are in an explicit pair (ngeom,)."""
    masked = (np.asarray(static.geom_contype) | np.asarray(static.geom_conaffinity)) != 0
    paired = np.isin(np.arange(len(masked)), [*static.pair_geom1, *static.pair_geom2])
    return masked | paired


def measured_geoms(static: Any) -> set[int]:
    """All geoms that sensors of distances, normals and segments look at, of a model or its fields."""
    sensors = np.flatnonzero(np.isin(static.sensor_type, _SENSORS))
    objects = [(static.sensor_objtype[i], static.sensor_objid[i]) for i in sensors]
    objects += [(static.sensor_reftype[i], static.sensor_refid[i]) for i in sensors]
    return {geom for kind, number in objects for geom in geoms_of(static, kind, number).tolist()}


def without_hull(static: Any) -> np.ndarray:
    """Which geoms are meshes of which there is no hull (ngeom,)."""
    found = static.geom_type == GeomType.MESH
    found[found] = static.mesh_hulled[static.geom_dataid[found]] == 0
    return found
