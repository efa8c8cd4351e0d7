"""The distance of two geoms, for users: one world."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.typing import ArrayLike

from jaxsim import worlds
from jaxsim.collision.distance import Distances, distances, without_distance
from jaxsim.data import Data
from jaxsim.model import Model
from jaxsim.results import UnsupportedError
from jaxsim.support.lifted import check_index

__all__ = ["geom_distance"]


@functools.lru_cache(maxsize=128)
def _lifted(geom1: int, geom2: int) -> Callable[..., Any]:
    """The native function of a pair, lifted once."""

    def native(model: Model, data: Data, limit: Array) -> Distances:
        return distances(model, data, np.array([geom1]), np.array([geom2]), limit[None])

    return worlds.lift(native)


def geom_distance(
    model: Model, data: Data, geom1: int, geom2: int, distmax: ArrayLike
) -> tuple[Array, Array]:
    """Smallest signed distance of two geoms, and the segment between their surfaces (mj_geomDistance).

    Differentiable in poses, sizes and vertices, with the features that are nearest held fixed.

    Args:
      model: the model.
      data: one world; `geom_xpos` and `geom_xmat` are read.
      geom1: id of the first geom, a Python integer: each pair has a program of its own.
      geom2: id of the second geom, likewise.
      distmax: distance from which on geoms are not told apart, m.

    Returns:
      The distance, m, negative if the geoms overlap, `distmax` if it is not below that or if geoms of these types
      never collide; and (6,) the points on the first and on the second geom, m, world frame, 0 beyond `distmax`. Half
      way between them is the contact's point.

    Raises:
      IndexError: there is no such geom.
      UnsupportedError: a geom is a height field or a signed distance field, or its mesh has no hull: it collides with
        nothing and is not that of a sensor of distances either; `inertia="convex"` gives it one.
    """
    for name, geom in (("geom1", geom1), ("geom2", geom2)):
        check_index(f"geom_distance: {name}", geom, model.ngeom)
    what = without_distance(model, geom1, geom2)
    if what:
        raise UnsupportedError(f"jaxsim does not compute yet: the distance of {what}")
    found = _lifted(int(geom1), int(geom2))(model, data, jnp.asarray(distmax, data.qpos.dtype))
    return found.dist[0], found.fromto[0]
