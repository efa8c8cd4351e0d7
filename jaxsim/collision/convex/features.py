"""What touches: corners of the two cores, their shares and a normal, found without derivative.

Everything that a contact depends on continuously is computed again from these discrete choices, in closed form, so
that derivatives do not pass through the searches.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array, lax

from jaxsim.collision.convex.difference import Pair, of_asked
from jaxsim.collision.convex.gjk import Nearest
from jaxsim.collision.convex.polytope import Depth, by_weight, penetration
from jaxsim.collision.points import Search, Shape
from jaxsim.collision.vec import Vec

__all__ = ["Corners", "Features", "find_features"]


class Corners(NamedTuple):
    """Three corners of each core that touch, (3, npair, W).

    Attributes:
      code1: those of the first core.
      code2: those of the second core.
      weights: their shares in the nearest points.
    """

    code1: Array
    code2: Array
    weights: Array


class Features(NamedTuple):
    """The features of each pair.

    Attributes:
      normal: unit normal from geom 1 to geom 2, in the frame of geom 1, components (npair, W).
      corners: what touches.
      far: whether the pair is known to be out of reach, (npair, W).
    """

    normal: Vec
    corners: Corners
    far: Array


def find_features(
    pairs: list[Pair],
    found: Nearest,
    search: Search,
    types: tuple[Sequence[int], Sequence[int]],
    shapes: tuple[Shape, Shape],
) -> Features:
    """The features at the shortest vector between the cores; or a search for that out of their overlap.

    Args:
      pairs: the cores, kind by kind; below npair are all of them.
      found: where the search of the distance ended.
      search: options.
      types: types that geoms 1, and geoms 2, may have.
      shapes: geoms 1 and geoms 2.
    """
    some = found.square > 0
    inverse = jnp.where(some, -1.0 / jnp.sqrt(jnp.where(some, found.square, 1.0)), 0.0)
    corners, weights = by_weight(found)
    # a corner without weight gives its place to the first, so that no edge leads to it
    code1, code2 = (jnp.where(weights[:3] > 0, c[:3], c[:1]) for c in (corners.code1, corners.code2))
    apart = Features(found.point * inverse, Corners(code1, code2, weights[:3]), found.far)

    def few(
        meet: Array, pairs: list[Pair], _: tuple[Shape, Shape], options: tuple[Nearest, Array, Array]
    ) -> Depth:
        ended, iterations, tolerance = options
        return penetration(pairs, ended._replace(meet=meet), Search(meet, iterations[0], tolerance[0]))

    def deep() -> Features:
        options = (found, search.iterations[None], search.tolerance[None])
        depth = of_asked(few, found.meet, pairs, types, shapes, options)
        inside = Features(
            depth.normal, Corners(depth.corners.code1, depth.corners.code2, depth.weights), found.far
        )
        return jax.tree.map(lambda new, old: jnp.where(found.meet, new, old), inside, apart)

    return lax.cond(jnp.any(found.meet), deep, lambda: apart)
