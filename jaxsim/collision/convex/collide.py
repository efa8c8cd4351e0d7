"""The general collider: convex geoms of any types."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from jaxsim.collision.convex.difference import Pair, of_asked, pairs_of
from jaxsim.collision.convex.features import find_features
from jaxsim.collision.convex.gjk import Nearest, nearest
from jaxsim.collision.convex.hull import corners_of
from jaxsim.collision.convex.patch import contact_patch
from jaxsim.collision.convex.solid import solid_of
from jaxsim.collision.convex.touched import gathers, with_derivatives
from jaxsim.collision.convex.witness import shortest
from jaxsim.collision.points import Points, Portion, Search, Shape, stack_points
from jaxsim.collision.select import pick_least
from jaxsim.collision.vec import Vec
from jaxsim.math.axis import split, take
from jaxsim.math.gather import gathered, widen, width_of
from jaxsim.math.stage import stage

__all__ = ["collide_convex", "collide_nearest"]

_DEEP = 1e10
"""Sorts cores that meet before those that are apart, m."""


def collide_convex(
    portions: Sequence[Portion], shape1: Shape, shape2: Shape, reach: Array, search: Search
) -> list[Points]:
    """Contact points of each portion of the pairs.

    Args:
      portions: types of the pairs, in turn; with more than one point for geoms that may lie on each other with a face
        or an edge.
      shape1: geoms 1.
      shape2: geoms 2.
      reach: distance at which contacts are detected, m, (npair, 1 or W).
      search: which pairs are asked, and options of the searches.
    """
    pairs = pairs_of(portions, shape1, shape2)
    found = _searched(portions, pairs, shape1, shape2, _cores_reach(portions, shape1, shape2, reach), search)
    return _touching(portions, pairs, found, (shape1, shape2), reach, search)


def collide_nearest(
    portions: Sequence[Portion], shape1: Shape, shape2: Shape, reach: Array, search: Search, *, slots: int
) -> tuple[Points, Array]:
    """As `collide_convex`, of all portions as one, and only of the `slots` pairs in each world that are nearest.

    The distances of all pairs are searched; depths, points and what is differentiated are computed of those few.

    Returns:
      their points, dropped where more pairs were in reach; and which of the pairs they are, (slots, W).
    """
    pairs = pairs_of(portions, shape1, shape2)
    cores = _cores_reach(portions, shape1, shape2, reach)
    found = _searched(portions, pairs, shape1, shape2, cores, search)
    key = jnp.where(found.meet, -_DEEP, jnp.minimum(jnp.sqrt(found.square) - cores, 0.0))
    rows, filled, dropped = pick_least(jnp.where(found.far, 1.0, key), slots=slots)
    own = [shape._replace(assets=None).each(lambda x: jnp.moveaxis(x, 0, -2)) for shape in (shape1, shape2)]
    *own, found, reach = gathered((*own, found, reach), rows)
    one, other = (shape.each(lambda x: jnp.moveaxis(x, -2, 0)) for shape in own)
    found = lax.stop_gradient(found)
    one, other = one._replace(assets=shape1.assets), other._replace(assets=shape2.assets)
    few = _joined(portions, slots)
    pairs = pairs_of([few], one, other)
    found = found._replace(far=found.far | ~filled, meet=found.meet & filled)
    (points,) = _touching([few], pairs, found, (one, other), reach, search)
    return points._replace(dropped=dropped[None]), rows


def _searched(
    portions: Sequence[Portion], pairs: list[Pair], shape1: Shape, shape2: Shape, reach: Array, search: Search
) -> Nearest:
    """The distances of the cores up to a reach (m); of pairs that are not asked they are far."""
    # what differs between worlds makes all of it as wide as the worlds are many
    hulls = [corners_of(shape.assets) for shape in (shape1, shape2)]
    width = width_of((shape1.pose, shape2.pose, shape1.sizes, shape2.sizes, hulls, reach, search.active))
    asked = widen(search.active, width)

    def few(
        asked: Array, pairs: list[Pair], _: tuple[Shape, Shape], others: tuple[Array, Array, Array]
    ) -> Nearest:
        reach, iterations, tolerance = others
        return nearest(
            pairs, reach + jnp.zeros(asked.shape, reach.dtype), Search(asked, iterations[0], tolerance[0])
        )

    options = (search.iterations[None], search.tolerance[None])
    types = (_types(portions, 0), _types(portions, 1))
    found = of_asked(few, asked, pairs, types, (shape1, shape2), (reach, *options))
    return _defined(found, asked)


@stage
def _defined(found: Nearest, asked: Array) -> Nearest:
    """With cores that are not asked far along x: finite, and the same however many are asked."""
    first = jnp.asarray(np.arange(4) == 0, found.square.dtype)[:, None, None]
    code1, code2 = (jnp.where(asked, code, 0) for code in (found.corners.code1, found.corners.code2))
    return found._replace(
        corners=found.corners._replace(code1=code1, code2=code2),
        weights=jnp.where(asked, found.weights, first),
        point=Vec(*(jnp.where(asked, x, one) for x, one in zip(found.point, (1.0, 0.0, 0.0), strict=True))),
        square=jnp.where(asked, found.square, 1.0),
        far=found.far | ~asked,
    )


def _cores_reach(portions: Sequence[Portion], shape1: Shape, shape2: Shape, reach: Array) -> Array:
    """The distance of the cores at which contacts are detected, m."""
    ball1, ball2 = _balls(portions, shape1, shape2)
    return reach + ball1 + ball2


def _balls(portions: Sequence[Portion], shape1: Shape, shape2: Shape) -> tuple[Array, Array]:
    """Radii of the balls around the cores, m."""
    first, second = (solid_of(_types(portions, k), shape) for k, shape in enumerate((shape1, shape2)))
    return first.ball, second.ball


def _touching(
    portions: Sequence[Portion],
    pairs: list[Pair],
    found: Nearest,
    shapes: tuple[Shape, Shape],
    reach: Array,
    search: Search,
) -> list[Points]:
    """The points of each portion, from the distances of the cores; of those alone that are in reach."""
    search, asked = lax.stop_gradient((search, ~found.far))
    if gathers(asked, shapes):

        def few(
            asked: Array, shapes: tuple[Shape, Shape], others: tuple[Nearest, Array, Array, Array]
        ) -> Points:
            """The points of pairs of all portions together, pairs on the axis before the last."""
            found, reach, iterations, tolerance = others
            portion = _joined(portions, len(asked))
            own = Search(asked, iterations[0], tolerance[0])
            pairs = pairs_of([portion], *shapes)
            (points,) = _evaluated(
                [portion], pairs, found._replace(far=found.far | ~asked), shapes, reach, own
            )
            return jax.tree.map(lambda x: jnp.moveaxis(x, 0, -2), points)

        options = (search.iterations[None], search.tolerance[None])
        points = with_derivatives(few, asked, shapes, (found, reach, *options))
        each = _by_portion(jax.tree.map(lambda x: jnp.moveaxis(x, -2, 0), points), portions)
    else:
        each = _evaluated(portions, pairs, found, shapes, reach, search)
    own = split(asked, [p.size for p in portions])
    return [_blanked(*both) for both in zip(each, own, strict=True)]


@stage
def _blanked(points: Points, asked: Array) -> Points:
    """Without numbers where a pair is not asked: the same however many are asked together."""
    assert points.valid is not None
    asked = asked[:, None]
    dist, *rest = (
        jnp.where(asked, x, 0) for x in (points.dist, *points.pos, points.normal.y, points.normal.z)
    )
    normal = Vec(jnp.where(asked, points.normal.x, 1), *rest[3:])
    return points._replace(dist=dist, pos=Vec(*rest[:3]), normal=normal, valid=points.valid & asked)


def _evaluated(
    portions: Sequence[Portion],
    pairs: list[Pair],
    ended: Nearest,
    shapes: tuple[Shape, Shape],
    reach: Array,
    search: Search,
) -> list[Points]:
    """The points of each portion."""
    shape1, shape2 = shapes
    types = (_types(portions, 0), _types(portions, 1))
    features = find_features(pairs, ended, search, types, shapes)
    found = shortest(pairs, types, shapes, features)

    middle = (found.first + found.second) * 0.5
    # as in the C engine, geoms without a round skin whose distance just is that of detection do not touch
    ball1, ball2 = _balls(portions, shape1, shape2)
    skin = ball1 + ball2
    beyond = lax.stop_gradient((found.dist >= reach) & (skin == 0))
    single = Points(found.dist, shape1.pos + middle, found.normal, valid=~features.far & ~beyond)
    points = _by_portion(stack_points([single]), portions)
    flat = [k for k, p in enumerate(portions) if p.points > 1]
    if not flat:
        return points
    flats = [portions[k] for k in flat]
    rows = np.flatnonzero(np.repeat([p.points > 1 for p in portions], [p.size for p in portions]))

    def taken(x: Any) -> Any:
        return jax.tree.map(lambda y: take(y, rows), x)

    one, other = shape1.each(taken), shape2.each(taken)
    reach, single, radius = taken((reach, single, ball1))
    codes = (features.code1[:, rows], features.code2[:, rows])
    assert single.valid is not None
    every = _joined(flats, len(rows))
    patch = contact_patch(
        every.types, (one, other), single.normal, codes, radius, reach, single.valid, every.points
    )
    for k, own in zip(flat, _by_portion(_instead(single, patch, one.pos), flats), strict=True):
        points[k] = own
    return points


def _joined(portions: Sequence[Portion], size: int) -> Portion:
    """Some pairs, each of which may be of any of the portions."""
    return Portion(
        (tuple(_types(portions, 0)), tuple(_types(portions, 1))), size, max(p.points for p in portions)
    )


def _by_portion(points: Points, portions: Sequence[Portion]) -> list[Points]:
    """Cuts points into those of the portions, each up to its number of points."""
    ends = np.cumsum([p.size for p in portions]).tolist()
    return [
        jax.tree.map(lambda x, stop=stop, p=p: x[stop - p.size : stop, : p.points], points)
        for stop, p in zip(ends, portions, strict=True)
    ]


def _types(portions: Sequence[Portion], side: int) -> list[int]:
    """Which types geoms of one side may have."""
    return sorted({t for p in portions for t in p.types[side]})


@stage
def _instead(single: Points, patch: Points, origin: Vec) -> Points:
    """The points of patches, or the single point where there is none."""
    assert patch.valid is not None
    assert single.valid is not None
    some, alone = patch.valid[:, :1], jnp.arange(patch.dist.shape[1])[:, None] == 0

    def chosen(many: Array, one: Array) -> Array:
        return jnp.where(some, many, one[:, None])

    pos = patch.pos + origin.lifted()
    return Points(
        chosen(patch.dist, single.dist),
        Vec(*map(chosen, pos, single.pos)),
        Vec(*map(chosen, patch.normal, single.normal)),
        valid=jnp.where(some, patch.valid, alone) & single.valid[:, None],
    )
