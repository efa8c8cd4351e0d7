"""The general collider: two convex geoms of any types."""

from __future__ import annotations

import jax.numpy as jnp
from jax import Array, lax

from jaxsim.collision.convex.difference import pair_of
from jaxsim.collision.convex.features import find_features
from jaxsim.collision.convex.solid import KINDS, radius_of, solid_of
from jaxsim.collision.convex.witness import shortest
from jaxsim.collision.points import Points, Search, Shape, stack_points
from jaxsim.enums import GeomType

__all__ = ["collide_convex"]


def collide_convex(
    types: tuple[GeomType, GeomType], shape1: Shape, shape2: Shape, reach: Array, search: Search
) -> Points:
    """Contact points between two convex geoms.

    Args:
      types: types of the two geoms.
      shape1: geoms 1.
      shape2: geoms 2.
      reach: distance at which contacts are detected, m, (npair, 1 or W).
      search: which pairs are asked, and options of the searches.
    """
    kinds = KINDS[types[0]], KINDS[types[1]]
    pair = pair_of(solid_of(kinds[0], shape1), solid_of(kinds[1], shape2), shape1, shape2)
    # what differs between worlds makes all of it as wide as the worlds are many
    width = jnp.zeros(
        jnp.broadcast_shapes(*(x.shape for x in (*pair.offset, *pair.turn.x, reach, search.active))),
        pair.offset.x.dtype,
    )
    cores = reach + radius_of(kinds[0], shape1.size) + radius_of(kinds[1], shape2.size)
    features = find_features(
        kinds, pair, lax.stop_gradient(cores + width), search.active & (width == 0), lax.stop_gradient(search)
    )
    found = shortest(kinds, shape1, shape2, features)
    middle = shape1.pos + (found.first + found.second) * 0.5
    return stack_points([Points(found.dist, middle, found.normal, valid=~features.far)])
