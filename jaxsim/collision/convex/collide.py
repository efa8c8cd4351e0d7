"""The general collider: two convex geoms of any types."""

from __future__ import annotations

import jax.numpy as jnp
from jax import Array, lax

from jaxsim.collision.convex.difference import pair_of
from jaxsim.collision.convex.features import find_features
from jaxsim.collision.convex.outline import outline
from jaxsim.collision.convex.patch import contact_patch
from jaxsim.collision.convex.solid import KINDS, radius_of, solid_of
from jaxsim.collision.convex.witness import shortest
from jaxsim.collision.points import Points, Search, Shape, stack_points
from jaxsim.collision.vec import Vec
from jaxsim.enums import GeomType
from jaxsim.math.stage import stage

__all__ = ["collide_convex"]


def collide_convex(
    types: tuple[GeomType, GeomType],
    shape1: Shape,
    shape2: Shape,
    reach: Array,
    search: Search,
    points: int = 1,
) -> Points:
    """Contact points between two convex geoms.

    Args:
      types: types of the two geoms.
      shape1: geoms 1.
      shape2: geoms 2.
      reach: distance at which contacts are detected, m, (npair, 1 or W).
      search: which pairs are asked, and options of the searches.
      points: contact points of a pair: 1, or more for geoms that may lie on each other with a face or an edge.
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
    near = ~features.far
    middle = (found.first + found.second) * 0.5
    single = Points(found.dist, shape1.pos + middle, found.normal, valid=near)
    if points == 1:
        return stack_points([single])
    first = outline(kinds[0], shape1, found.normal, features.code1[0])
    second = outline(kinds[1], shape2, -found.normal, features.code2[0])
    second = second.moved(shape2.pos - shape1.pos)
    patch = contact_patch(first, second, found.normal, radius_of(kinds[0], shape1.size), reach, points)
    return _instead(single, patch, shape1.pos, near)


@stage
def _instead(single: Points, patch: Points, origin: Vec, near: Array) -> Points:
    """The points of patches, or the single point where there is none."""
    assert patch.valid is not None
    some, alone = patch.valid[:, :1], jnp.arange(patch.dist.shape[1])[:, None] == 0

    def chosen(many: Array, one: Array) -> Array:
        return jnp.where(some, many, one[:, None])

    pos = patch.pos + Vec(*(c[:, None] for c in origin))
    return Points(
        chosen(patch.dist, single.dist),
        Vec(*map(chosen, pos, single.pos)),
        Vec(*map(chosen, patch.normal, single.normal)),
        valid=jnp.where(some, patch.valid, alone) & near[:, None],
    )
