"""The least distance of two geoms, at any distance up to a limit, and the segment between their surfaces."""

from __future__ import annotations

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from jaxsim.collision.convex import collide_convex
from jaxsim.collision.convex.hull import hulls_of
from jaxsim.collision.convex.settle import settled
from jaxsim.collision.geoms import tabulate
from jaxsim.collision.largest import entry_at, first_largest
from jaxsim.collision.points import Points, Portion, Search, Shape
from jaxsim.collision.vec import Vec
from jaxsim.data import Data
from jaxsim.enums import GeomType
from jaxsim.math.axis import split, stitch, take
from jaxsim.math.choices import Choices
from jaxsim.math.stage import stage
from jaxsim.model import Model
from jaxsim.structure.colliders import COLLIDERS, Collider, colliders_of
from jaxsim.structure.shaped import without_hull

__all__ = ["Distances", "distances", "without_distance"]


class Distances(NamedTuple):
    """Of n pairs of geoms.

    Attributes:
      dist: signed distance, m (n, W); the limit where it is not below it.
      fromto: nearest points on the first and on the second geom, m, world frame (n, 6, W); 0 beyond the limit.
    """

    dist: Array
    fromto: Array


def without_distance(model: Model, geom1: int, geom2: int) -> str:
    """What of two geoms has no distance yet; empty: nothing. Those that never collide are at the limit."""
    first, second = sorted((int(model.geom_type[geom1]), int(model.geom_type[geom2])))
    if first == GeomType.HFIELD or GeomType.SDF in (first, second):
        return f"{GeomType(first).name.lower()} and {GeomType(second).name.lower()}"
    for geom in (geom1, geom2):
        if without_hull(model)[geom]:
            mesh = int(model.geom_dataid[geom])
            named = model.name("mesh", mesh) or f"number {mesh}"
            return f"mesh {named}, which has no hull, as it collides with nothing or has no volume"
    return ""


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
    first, second = np.where(flip, geom2, geom1), np.where(flip, geom1, geom2)
    types.sort(axis=1)
    kinds, number = np.unique(types, axis=0, return_inverse=True)
    runs = [((int(a), int(b)), np.flatnonzero(number == k)) for k, (a, b) in enumerate(kinds)]
    table = colliders_of(model.static)
    searched = [run for run in runs if _is_searched(table.get(run[0]), run[0])]
    groups = [[run] for run in runs if not _is_searched(table.get(run[0]), run[0])]
    groups += [searched] if searched else []

    geoms = tabulate(model, data, jnp.zeros((len(model.geom_type), 1), data.qpos.dtype))
    hulls = hulls_of(model) if (types == GeomType.MESH).any() else None
    parts, rows = [], []
    for group in groups:
        own = np.concatenate([r for _, r in group])
        most = take(limit, own)
        search = Search(jnp.ones_like(most, bool), model.opt.ccd_iterations, model.opt.ccd_tolerance)
        portions = [Portion(((kind[0],), (kind[1],)), len(r), 1) for kind, r in group]
        collider = table.get(group[0][0])
        one, other = (side.shape(hulls) for side in geoms.pairs(first[own], second[own]))
        parts += _of_group(collider, portions, one, other, most, search)
        rows.append(own)
    dist, fromto = (stitch([p[k] for p in parts], rows) for k in (0, 1))
    turned = jnp.concatenate([fromto[:, 3:], fromto[:, :3]], axis=1)
    return Distances(dist, jnp.where(jnp.asarray(flip)[:, None, None], turned, fromto))


def _is_searched(known: Collider | None, types: tuple[int, int]) -> bool:
    """Whether the general collider gives the distance, which the one of boxes does not know when they are apart."""
    boxes = known is COLLIDERS.get(types) and types == (GeomType.BOX, GeomType.BOX)
    return known is not None and (known.general or boxes)


def _of_group(
    collider: Collider | None,
    portions: list[Portion],
    shape1: Shape,
    shape2: Shape,
    limit: Array,
    search: Search,
) -> list[Distances]:
    """Pairs of one pair of types, or of all that are searched."""
    first, second = (own[0] for own in portions[0].types)
    if collider is None:
        n, width = shape1.pos.x.shape
        return [Distances(jnp.broadcast_to(limit, (n, width)), jnp.zeros((n, 6, width), limit.dtype))]
    if not _is_searched(collider, (first, second)):
        return [_nearest(collider.function(shape1, shape2, limit), limit)]
    found = collide_convex(portions, shape1, shape2, limit, search, Choices(None))
    limits = split(limit, [p.size for p in portions])
    return [_nearest(points, most) for points, most in zip(found, limits, strict=True)]


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
