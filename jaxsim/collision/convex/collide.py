"""The general collider: two convex geoms of any types."""

from __future__ import annotations

from typing import NamedTuple

import jax.numpy as jnp
from jax import Array, lax

from jaxsim.collision.convex.difference import pair_of
from jaxsim.collision.convex.features import find_features
from jaxsim.collision.convex.solid import KINDS, radius_of, solid_of
from jaxsim.collision.convex.witness import shortest
from jaxsim.collision.points import Points, Shape
from jaxsim.enums import GeomType

__all__ = ["Search", "collide_convex"]


class Search(NamedTuple):
    """Options of the searches, scalars.

    Attributes:
      iterations: most rounds of each (`opt.ccd_iterations`).
      tolerance: error of the distance between curved geoms, m (`opt.ccd_tolerance`).
    """

    iterations: Array
    tolerance: Array


def collide_convex(
    types: tuple[GeomType, GeomType], shape1: Shape, shape2: Shape, reach: Array, search: Search
) -> Points:
    """Contact points between two convex geoms.

    Args:
      types: types of the two geoms.
      shape1: geoms 1.
      shape2: geoms 2.
      reach: distance at which contacts are detected, m, (npair, 1 or W).
      search: options.
    """
    kinds = KINDS[types[0]], KINDS[types[1]]
    pair = pair_of(solid_of(shape1), solid_of(shape2), shape1, shape2)
    zero = sum((jnp.zeros_like(c) for c in (*pair.offset, *pair.turn.x, reach)), start=jnp.zeros((), reach.dtype))
    asked = lax.stop_gradient(reach + zero)
    cores = asked + radius_of(kinds[0], pair.first.size) + radius_of(kinds[1], pair.second.size)
    active = zero == 0
    features = find_features(kinds, pair, cores, active, search.iterations, search.tolerance)
    found = shortest(kinds, shape1, shape2, features)
    middle = shape1.pos + (found.first + found.second) * 0.5
    one = Points(found.dist, middle, found.normal, valid=~features.far)
    return Points(
        one.dist[..., None, :],
        _widen(one.pos),
        _widen(one.normal),
        valid=None if one.valid is None else one.valid[..., None, :],
    )


def _widen(v):
    return type(v)(*(c[..., None, :] for c in v))
