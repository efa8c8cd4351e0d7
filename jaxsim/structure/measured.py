"""Geoms whose distances from others sensors measure. Host code."""

from __future__ import annotations

from typing import Any

import numpy as np

from jaxsim.enums import ObjType, SensorType

__all__ = ["geoms_of", "measured_geoms"]

_SENSORS = (SensorType.GEOMDIST, SensorType.GEOMNORMAL, SensorType.GEOMFROMTO)


def geoms_of(static: Any, kind: int, number: int) -> np.ndarray:
    """The geoms of an object: itself, or those of a body."""
    if kind == ObjType.GEOM:
        return np.array([number])
    return static.body_geomadr[number] + np.arange(static.body_geomnum[number])


def measured_geoms(static: Any) -> set[int]:
    """All geoms that sensors of distances, normals and segments look at, of a model or its fields."""
    sensors = np.flatnonzero(np.isin(static.sensor_type, _SENSORS))
    objects = [(static.sensor_objtype[i], static.sensor_objid[i]) for i in sensors]
    objects += [(static.sensor_reftype[i], static.sensor_refid[i]) for i in sensors]
    return {geom for kind, number in objects for geom in geoms_of(static, kind, number).tolist()}
