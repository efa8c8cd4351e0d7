"""The least distance of two geoms, at any distance up to a limit, and the segment between their surfaces."""

from __future__ import annotations

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from jaxsim.collision.convex import collide_convex
from jaxsim.collision.convex.hull import hulls_of
from jaxsim.collision.convex.settle import settled
from jaxsim.collision.geoms import Geoms, tabulate
from jaxsim.collision.largest import entry_at, first_largest
from jaxsim.collision.points import Points, Search
from jaxsim.collision.vec import Vec
from jaxsim.data import Data
from jaxsim.enums import GeomType
from jaxsim.math.axis import concat, take
from jaxsim.math.stage import stage
from jaxsim.model import Model
from jaxsim.structure.colliders import COLLIDERS

__all__ = ["Distances", "distances", "has_distance"]


class Distances(NamedTuple):
    """Of n pairs of geoms.

    Attributes:
      dist: signed distance, m (n, W); the limit where it is not below it.
      fromto: nearest points on the first and on the second geom, m, world frame (n, 6, W); 0 beyond the limit.
    """

    dist: Array
    fromto: Array


def has_distance(types: tuple[int, int]) -> bool:
    """Whether distances of two types of geoms are computed; those that never collide are at the limit."""
    first, second = sorted(types)
    return first != GeomType.HFIELD and GeomType.SDF not in (first, second)


def distances(model: Model, data: Data, geom1: np.ndarray, geom2: np.ndarray, limit: Array) -> Distances:
    """Signed distances of pairs of geoms (mj_geomDistance).

    Args:
      model: native layout.
      data: geom_xpos and geom_xmat are read.
      geom1: first geom of each pair (n,).
      geom2: second geom (n,).
      limit: distances from here on are not told apart, m (n, 1 or W).
    """
    types = np.stack([model.geom_type[geom1], model.geom_type[geom2]], axis=1)
    flip = types[:, 0] > types[:, 1]
    types.sort(axis=1)
    geoms = tabulate(model, data, jnp.zeros((len(model.geom_type), 1), data.qpos.dtype))
    parts, rows = [], []
    for kind in np.unique(types, axis=0):
        own = np.flatnonzero((types == kind).all(axis=1))
        first, second = (np.where(flip, *pair)[own] for pair in ((geom2, geom1), (geom1, geom2)))
        rows.append(own)
        both = geoms.at(np.concatenate([first, second]))
        parts.append(_of_kind(model, (GeomType(kind[0]), GeomType(kind[1])), both, take(limit, own)))
    back = np.argsort(np.concatenate(rows))
    dist, fromto = (take(concat([p[k] for p in parts]), back) for k in (0, 1))
    turned = jnp.concatenate([fromto[:, 3:], fromto[:, :3]], axis=1)
    return Distances(dist, jnp.where(jnp.asarray(flip)[:, None, None], turned, fromto))


def _of_kind(model: Model, types: tuple[GeomType, GeomType], both: Geoms, limit: Array) -> Distances:
    """Pairs of one pair of types; first geoms, then second ones."""
    n = len(both.pose) // 2
    collider = COLLIDERS.get(types)
    if collider is None:
        width = both.pose.shape[-1]
        return Distances(jnp.broadcast_to(limit, (n, width)), jnp.zeros((n, 6, width), both.pose.dtype))
    assets = hulls_of(model) if GeomType.MESH in types else None
    shapes = both.shape(0, n, assets), both.shape(n, 2 * n, assets)
    search = Search(jnp.ones_like(limit, bool), model.opt.ccd_iterations, model.opt.ccd_tolerance)
    if collider.general or types == (GeomType.BOX, GeomType.BOX):
        points = collide_convex(types, *shapes, limit, search)
    elif collider.iterative:
        points = collider.function(*shapes, limit, search, multi=False)
    else:
        points = collider.function(*shapes, limit)
    return _nearest(points, limit)


@stage
def _nearest(points: Points, limit: Array) -> Distances:
    """The point of least distance."""
    held = lax.stop_gradient(points.dist)
    valid = held < limit[:, None]
    if points.valid is not None:
        valid = valid & points.valid
    number = settled(first_largest(jnp.where(valid, -held, -jnp.inf)))
    near = jnp.any(valid, axis=1)
    dist = entry_at(points.dist, number)
    pos, normal = (Vec(*(entry_at(c, number) for c in v)) for v in (points.pos, points.normal))
    half = normal * (0.5 * dist)
    fromto = jnp.stack([*(pos - half), *(pos + half)], axis=1)
    return Distances(jnp.where(near, dist, limit), jnp.where(near[:, None], fromto, 0.0))
