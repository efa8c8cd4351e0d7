"""Distances between geoms, or between the geoms of bodies: how far, in which direction, between which points."""

from __future__ import annotations

import functools
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxsim.collision.distance import distances, without_distance
from jaxsim.collision.largest import entry_at, first_largest
from jaxsim.data import Data
from jaxsim.enums import SensorType
from jaxsim.math import safe
from jaxsim.math.axis import take
from jaxsim.model import Model
from jaxsim.pipeline.sensors.common import Compute, flat
from jaxsim.pytree import Static
from jaxsim.structure.shaped import geoms_of

__all__ = ["SENSORS", "refusal"]


class _Pairs(NamedTuple):
    """Pairs of geoms of sensors, all those of a sensor in a row.

    Attributes:
      geom1: first geom (npair,).
      geom2: second geom.
      owner: number of the sensor among those asked.
      place: pairs of each sensor (n, k), filled up with its first; -1: it has none.
    """

    geom1: np.ndarray
    geom2: np.ndarray
    owner: np.ndarray
    place: np.ndarray


@functools.lru_cache(maxsize=64)
def _pairs(static: Static, sensors: tuple[int, ...]) -> _Pairs:
    """The pairs of some sensors."""
    geom1, geom2, owner = [], [], []
    place = np.full((len(sensors), 1), -1)
    for n, i in enumerate(sensors):
        ones = geoms_of(static, static.sensor_objtype[i], static.sensor_objid[i])
        others = geoms_of(static, static.sensor_reftype[i], static.sensor_refid[i])
        count = len(ones) * len(others)
        mine = len(owner) + np.arange(count)
        if count > place.shape[1]:
            place = np.pad(place, ((0, 0), (0, count - place.shape[1])), mode="edge")
        if count:
            place[n] = np.pad(mine, (0, place.shape[1] - count), mode="edge")
        geom1 += np.repeat(ones, len(others)).tolist()
        geom2 += np.tile(others, len(ones)).tolist()
        owner += [n] * count
    return _Pairs(np.array(geom1, int), np.array(geom2, int), np.array(owner, int), place)


def refusal(m: Model, sensor: int) -> str:
    """What of a sensor of distances is not computed yet; empty: nothing."""
    pairs = _pairs(m.static, (sensor,))
    of_pairs = (without_distance(m, *pair) for pair in zip(pairs.geom1, pairs.geom2, strict=True))
    what = next(filter(None, of_pairs), "")
    return what and f"distance of {what}"


def _nearest(m: Model, d: Data, i: np.ndarray) -> tuple[Array, Array]:
    """Distance (n, W) and segment (n, 6, W) of the nearest pair of each sensor."""
    pairs = _pairs(m.static, tuple(i.tolist()))
    cutoff = take(m.sensor_cutoff, i)
    none = cutoff, jnp.zeros((len(i), 6, 1), d.qpos.dtype)
    if not len(pairs.owner):
        return none
    found = distances(m, d, pairs.geom1, pairs.geom2, take(cutoff, pairs.owner))
    place = np.maximum(pairs.place, 0)
    dist, fromto = (take(x, place.reshape(-1)).reshape(*place.shape, *x.shape[1:]) for x in found)
    if place.shape[1] > 1:
        number = first_largest(-dist)
        dist = entry_at(dist, number)
        fromto = jnp.take_along_axis(fromto, number[:, None, None], axis=1)[:, 0]
    else:
        dist, fromto = dist[:, 0], fromto[:, 0]
    some = jnp.asarray(pairs.place[:, :1] >= 0)
    return jnp.where(some, dist, none[0]), jnp.where(some[:, None], fromto, none[1])


def _distance(m: Model, d: Data, i: np.ndarray) -> Array:
    return _nearest(m, d, i)[0]


def _normal(m: Model, d: Data, i: np.ndarray) -> Array:
    """The direction from the first point to the second; 0 where they are one, or beyond the cutoff."""
    fromto = _nearest(m, d, i)[1]
    direction, length = safe.normalize(fromto[:, 3:] - fromto[:, :3], axis=1)
    return flat(jnp.where(length > 0, direction, 0.0))


def _fromto(m: Model, d: Data, i: np.ndarray) -> Array:
    return flat(_nearest(m, d, i)[1])


SENSORS: dict[SensorType, Compute] = {
    SensorType.GEOMDIST: _distance,
    SensorType.GEOMNORMAL: _normal,
    SensorType.GEOMFROMTO: _fromto,
}
