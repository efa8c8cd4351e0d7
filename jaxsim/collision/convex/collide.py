"""The general collider: convex geoms of any types."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from jaxsim.collision.convex.difference import Pair, of_asked, pairs_of
from jaxsim.collision.convex.features import find_features
from jaxsim.collision.convex.gjk import Nearest, nearest
from jaxsim.collision.convex.hull import corners_of
from jaxsim.collision.convex.patch import Corners, contact_patch
from jaxsim.collision.convex.solid import solid_of
from jaxsim.collision.convex.touched import gathers, with_derivatives
from jaxsim.collision.convex.witness import Held, hold, shortest
from jaxsim.collision.points import Points, Portion, Search, Shape, stack_points
from jaxsim.collision.select import pick_least
from jaxsim.collision.vec import Vec
from jaxsim.math.axis import split, take
from jaxsim.math.choices import Choices
from jaxsim.math.gather import gathered, widen, width_of
from jaxsim.math.stage import stage

__all__ = ["collide_convex", "collide_nearest"]

_DEEP = 1e10
"""Sorts cores that meet before those that are apart, m."""


class Touch(NamedTuple):
    """What touches, of each pair, found without derivative; all zeros where nothing does.

    Attributes:
      asked: which pairs are in reach, (npair, W).
      held: what their nearest points depend on.
      corners: of the faces and edges that lie on each other, zeros of pairs that cannot; None: none can.
    """

    asked: Array
    held: Held
    corners: Corners | None


def collide_convex(
    portions: Sequence[Portion],
    shape1: Shape,
    shape2: Shape,
    reach: Array,
    search: Search,
    choices: Choices,
) -> list[Points]:
    """Contact points of each portion of the pairs.

    Args:
      portions: types of the pairs, in turn; with more than one point for geoms that may lie on each other with a face
        or an edge.
      shape1: geoms 1.
      shape2: geoms 2.
      reach: distance at which contacts are detected, m, (npair, 1 or W).
      search: which pairs are asked, and options of the searches.
      choices: the next is what touches; if it is told, nothing is searched.
    """
    found = choices.told()
    if found is None:
        found = _searched(portions, shape1, shape2, reach, search)
    return _touching(portions, found, (shape1, shape2), reach, search, choices)


def collide_nearest(
    portions: Sequence[Portion],
    shape1: Shape,
    shape2: Shape,
    reach: Array,
    search: Search,
    choices: Choices,
    *,
    slots: int,
) -> tuple[Points, Array]:
    """As `collide_convex`, of all portions as one, and only of the `slots` pairs in each world that are nearest.

    The distances of all pairs are searched; depths, points and what is differentiated are computed of those few.

    Returns:
      their points, dropped where more pairs were in reach; and which of the pairs they are, (slots, W).
    """
    picked, found = choices.told(), None
    if picked is None:
        found = _searched(portions, shape1, shape2, reach, search)
        cores = _cores_reach(portions, shape1, shape2, reach)
        key = jnp.where(found.meet, -_DEEP, jnp.minimum(jnp.sqrt(found.square) - cores, 0.0))
        picked = pick_least(jnp.where(found.far, 1.0, key), slots=slots)
    rows, filled, dropped = choices.put(picked)
    if found is None:
        found = choices.told()
    else:
        found = gathered(found, rows)
        found = found._replace(far=found.far | ~filled, meet=found.meet & filled)
    own = [shape._replace(assets=None).each(lambda x: jnp.moveaxis(x, 0, -2)) for shape in (shape1, shape2)]
    *own, reach = gathered((*own, reach), rows)
    one, other = (shape.each(lambda x: jnp.moveaxis(x, -2, 0)) for shape in own)
    one, other = one._replace(assets=shape1.assets), other._replace(assets=shape2.assets)
    (points,) = _touching([_joined(portions, slots)], found, (one, other), reach, search, choices)
    return points._replace(dropped=dropped[None]), rows


def _searched(
    portions: Sequence[Portion], shape1: Shape, shape2: Shape, reach: Array, search: Search
) -> Nearest:
    """The distances of the cores where they may be in reach; of pairs that are not asked they are far."""
    pairs, reach = pairs_of(portions, shape1, shape2), _cores_reach(portions, shape1, shape2, reach)
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
    found: Nearest | Touch,
    shapes: tuple[Shape, Shape],
    reach: Array,
    search: Search,
    choices: Choices,
) -> list[Points]:
    """The points of each portion, from the distances of the cores or what is known; of pairs alone that are in reach.

    Adds to the choices what touches.
    """
    search, found = lax.stop_gradient((search, found))
    asked = found.asked if isinstance(found, Touch) else ~found.far
    touch: Touch | None
    if gathers(asked, shapes):

        def few(
            asked: Array, shapes: tuple[Shape, Shape], others: tuple[Nearest | Touch, Array, Array, Array]
        ) -> tuple[Points, Touch | None]:
            """The points of pairs of all portions together, pairs on the axis before the last."""
            found, reach, iterations, tolerance = others
            portion = _joined(portions, len(asked))
            own = Search(asked, iterations[0], tolerance[0])
            if isinstance(found, Nearest):
                found = found._replace(far=found.far | ~asked)
            (points,), touch = _evaluated([portion], found, shapes, reach, own)
            return jax.tree.map(lambda x: jnp.moveaxis(x, 0, -2), points), touch if choices.kept else None

        options = (search.iterations[None], search.tolerance[None])
        points, touch = with_derivatives(few, asked, shapes, (found, reach, *options))
        each = _by_portion(jax.tree.map(lambda x: jnp.moveaxis(x, -2, 0), points), portions)
    else:
        each, touch = _evaluated(portions, found, shapes, reach, search)
    choices.put(touch)
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
    found: Nearest | Touch,
    shapes: tuple[Shape, Shape],
    reach: Array,
    search: Search,
) -> tuple[list[Points], Touch]:
    """The points of each portion, and what touches."""
    shape1, shape2 = shapes
    types = (_types(portions, 0), _types(portions, 1))
    if isinstance(found, Touch):
        pairs, (asked, held, corners) = None, found
        # where nothing is asked zeros are told
        normal = held.normal._replace(x=jnp.where(asked, held.normal.x, 1))
        held = held._replace(normal=normal)
    else:
        pairs = pairs_of(portions, shape1, shape2)
        features = find_features(pairs, found, search, types, shapes)
        asked, held, corners = ~features.far, hold(pairs, types, shapes, features), None
    witness, held = shortest(pairs, types, shapes, held)

    middle = (witness.first + witness.second) * 0.5
    # as in the C engine, geoms without a round skin whose distance just is that of detection do not touch
    ball1, ball2 = _balls(portions, shape1, shape2)
    least = jnp.where(reach == 0, -_rounding(shape1, shape2, witness.normal), reach)
    beyond = lax.stop_gradient((witness.dist >= least) & (ball1 + ball2 == 0))
    single = Points(witness.dist, shape1.pos + middle, witness.normal, valid=asked & ~beyond)
    points = _by_portion(stack_points([single]), portions)
    flat = [k for k, p in enumerate(portions) if p.points > 1]
    if not flat:
        return points, Touch(asked, held, None)
    flats = [portions[k] for k in flat]
    rows = np.flatnonzero(np.repeat([p.points > 1 for p in portions], [p.size for p in portions]))

    def taken(x: Any) -> Any:
        return jax.tree.map(lambda y: take(y, rows), x)

    one, other = shape1.each(taken), shape2.each(taken)
    reach, single, radius = taken((reach, single, ball1))
    codes = (held.corners.code1[:, rows], held.corners.code2[:, rows])
    assert single.valid is not None
    every = _joined(flats, len(rows))
    known = None if corners is None else _of_rows(corners, rows)
    patch, corners = contact_patch(
        every.types, (one, other), single.normal, codes, radius, reach, single.valid, every.points, known
    )
    for k, own in zip(flat, _by_portion(_instead(single, patch, one.pos), flats), strict=True):
        points[k] = own
    return points, Touch(asked, held, _among_all(corners, rows, len(asked)))


def _rounding(shape1: Shape, shape2: Shape, normal: Vec) -> Array:
    """By how much rounded positions change distances along a normal, m: far away on a floor they do not."""
    place1, place2, normal = lax.stop_gradient((shape1.pos, shape2.pos, normal))
    places = [(jnp.abs(a) + jnp.abs(b)) * jnp.abs(n) for a, b, n in zip(place1, place2, normal, strict=True)]
    places += [jnp.abs(b - a) for a, b in zip(place1, place2, strict=True)]
    return 2 * jnp.finfo(places[0].dtype).eps * functools.reduce(jnp.add, places)


def _of_rows(corners: Corners, rows: np.ndarray) -> Corners:
    """The corners of some pairs."""
    return (
        corners if len(rows) == corners.sides.shape[-2] else jax.tree.map(lambda x: x[..., rows, :], corners)
    )


def _among_all(corners: Corners, rows: np.ndarray, n: int) -> Corners:
    """The corners of some of n pairs in their places: a derivative may compute pairs apart where this does not."""

    def placed(x: Array) -> Array:
        return jnp.zeros((*x.shape[:-2], n, x.shape[-1]), x.dtype).at[..., rows, :].set(x)

    return corners if len(rows) == n else jax.tree.map(placed, corners)


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
