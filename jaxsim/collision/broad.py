"""Broad phase: of many pairs of one kind, those whose bounding volumes are in reach. Native layout."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from jaxsim.collision.parameters import geom_reach, named_reach
from jaxsim.collision.select import pick_least, pick_nearest
from jaxsim.collision.vec import Frame, Pose, Vec
from jaxsim.data import Data
from jaxsim.enums import GeomType
from jaxsim.math.axis import components, stack, take
from jaxsim.math.stage import platform, stage
from jaxsim.model import Model
from jaxsim.structure.slots import Kind

__all__ = ["bounds", "boxes_in_reach", "count_in_reach", "in_reach", "pairs_in_reach"]

_SPARSE = 4
"""How many times more combinations of geoms than pairs there may be for all to be looked at."""
_PARTS = 6
"""Tables into which these are divided on a CPU."""


def bounds(model: Model, data: Data, reach: Array) -> Array:
    """Bounds of all geoms in the world frame (ngeom, 11, W), for `pairs_in_reach`.

    They are the centre and half sizes of a box, centre and radius of a sphere, and `reach` (ngeom, 1 or W), what the
    geom adds to the distance at which contacts are detected; m.
    """
    return _bounds(data.geom_xpos, data.geom_xmat, model.geom_aabb, model.geom_rbound, reach)


def pairs_in_reach(model: Model, data: Data, kind: Kind, bounds: Array) -> tuple[Array, Array, Array]:
    """Pairs that may touch: the nearest, if they are more than the kind's budget.

    Args:
      model: the model.
      data: geom poses.
      kind: the pairs.
      bounds: of all geoms.

    Returns:
      rows among the kind's pairs (budget, W), whether each is in use, and whether pairs were left out (W,).
    """
    budget, tables = kind.budget or 0, _tables(model, kind)
    if not tables:
        return pick_least(_beyond(model, data, kind, bounds), slots=budget)
    marks = [_flat(_near(*table.sides(bounds), table.held)) for table in tables]
    if platform() == "cuda":
        # fused with the words that they are packed into, one thread would compute 32 of them
        marks = lax.optimization_barrier(marks)

    def keys(bounds: Array) -> list[Array]:
        return [_flat(jnp.where(table.held, _apart(*table.sides(bounds), None), 1.0)) for table in tables]

    numbers = [np.maximum(table.pairs, 0).reshape(-1) for table in tables]
    return pick_nearest(numbers, marks, keys, bounds, slots=budget)


class _Table(NamedTuple):
    """Geoms of which each of some is looked at with each of others.

    Attributes:
      one: first geoms, (n,).
      other: second geoms, (m,).
      pairs: which pair of the kind two of them are, (n, m); -1: none.
    """

    one: np.ndarray
    other: np.ndarray
    pairs: np.ndarray

    @property
    def held(self) -> Array:
        """Which of them are pairs, (n, m, 1)."""
        return jnp.asarray(self.pairs >= 0)[..., None]

    def sides(self, bounds: Array) -> tuple[Array, Array]:
        """Bounds of the first (n, 1, 11, W) and second geoms (m, 11, W)."""
        return take(bounds, self.one)[:, None], take(bounds, self.other)


def _tables(model: Model, kind: Kind) -> list[_Table]:
    """Tables that hold all pairs of a kind in their order; none if the pairs are better looked at one by one.

    On a CPU there are several, for each pair of types and for parts of the geoms, so that of combinations that are no
    pairs fewer are looked at.
    """
    if kind.types[0][0] == GeomType.PLANE or named_reach(model, kind.pairs.explicit) is not None:
        return []
    g1, g2 = kind.pairs.geom1, kind.pairs.geom2
    change = np.diff(model.geom_type[g1]) | np.diff(model.geom_type[g2])
    runs = np.split(np.arange(len(g1)), np.flatnonzero(change) + 1)
    if platform() != "cpu" and len(runs) > 1:  # each would be a kernel
        return []
    tables = []
    for rows in runs:
        one, other, places = _places(g1[rows], g2[rows])
        if (np.diff(places) <= 0).any():
            return []
        pairs = np.full(len(one) * len(other), -1, np.int32)
        pairs[places] = rows
        pairs = pairs.reshape(len(one), len(other))
        several = platform() == "cpu" and len(one) >= _PARTS * _PARTS
        for own in np.array_split(np.arange(len(one)), _PARTS if several else 1):
            some = np.flatnonzero((pairs[own] >= 0).any(axis=0))
            wide = slice(some[0], some[-1] + 1)
            tables.append(_Table(one[own], other[wide], pairs[own, wide]))
    return tables if sum(t.pairs.size for t in tables) <= _SPARSE * len(g1) else []


def _combinations(kind: Kind, named: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
    """The first and second geoms of a kind, and where its pairs stand among all combinations of them.

    None: these are too many, or some pairs are `named`, see `named_reach`.
    """
    one, other, places = _places(kind.pairs.geom1, kind.pairs.geom2)
    if named is not None or len(one) * len(other) > _SPARSE * len(places):
        return None
    return one, other, places


def _places(geom1: np.ndarray, geom2: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The first and second geoms of pairs, and where the pairs stand among all combinations of them."""
    (one, rows), (other, columns) = (np.unique(geoms, return_inverse=True) for geoms in (geom1, geom2))
    return one, other, rows * len(other) + columns


def _flat(table: Array) -> Array:
    return table.reshape(-1, table.shape[-1])


def in_reach(model: Model, data: Data, kind: Kind, bounds: Array) -> Array:
    """Which pairs of a kind may touch, (npair, W), by the `bounds` of all geoms."""
    return _beyond(model, data, kind, bounds) <= 0


def count_in_reach(model: Model, data: Data, kind: Kind) -> Array:
    """How many pairs of a kind may touch, (W,): the budget that it needs."""
    around = bounds(model, data, geom_reach(model))
    return jnp.sum(in_reach(model, data, kind, around), axis=0, dtype=jnp.int32)


@stage
def boxes_in_reach(poses: Sequence[Array], boxes: Sequence[Array], reach: Array) -> Array:
    """Which pairs of boxes that turn with their geoms no face's normal shows to be apart, (npair, W).

    Half of the pairs whose boxes along the world's axes meet are apart along a limb that they lie across. Normals of
    edges, the other nine of the separating axes, hardly find more. Source: S. Gottschalk, M. Lin, D. Manocha,
    "OBBTree" (1996).

    Args:
      poses: centres and axes of geoms 1, and of geoms 2 (npair, 12, W), see `Pose`.
      boxes: their boxes' centres and half sizes in the geoms' frames, m (npair, 6, 1 or W).
      reach: distance at which contacts are detected, m (npair, 1 or W).
    """
    (axes1, centre1, half1), (axes2, centre2, half2) = (
        _box(Pose(pose), box) for pose, box in zip(poses, boxes, strict=True)
    )
    offset, turned = centre2 - centre1, Frame(*map(axes1.to_local, axes2))
    slack = jnp.finfo(poses[0].dtype).eps  # edges that are parallel but for rounding
    spread = Frame(*(Vec(*(jnp.abs(c) + slack for c in axis)) for axis in turned))
    first = zip(axes1.to_local(offset), half1, spread.to_world(half2), strict=True)
    second = zip(axes2.to_local(offset), half2, spread.to_local(half1), strict=True)
    gaps = [jnp.abs(along) - own - other for along, own, other in (*first, *second)]
    return functools.reduce(jnp.maximum, gaps) <= lax.stop_gradient(reach)


def _box(pose: Pose, box: Array) -> tuple[Frame, Vec, Vec]:
    """Its axes, centre and half sizes; axes and centre in the world frame."""
    pose = lax.stop_gradient(pose)
    centre, half = Vec.split(lax.stop_gradient(box[:, :3])), Vec.split(lax.stop_gradient(box[:, 3:]))
    return pose.axes, pose.pos + pose.axes.to_world(centre), half


def _beyond(model: Model, data: Data, kind: Kind, bounds: Array) -> Array:
    """Lower bound of the distance of pairs beyond detection, m (npair, W)."""
    named = named_reach(model, kind.pairs.explicit)
    g1, g2 = kind.pairs.geom1, kind.pairs.geom2
    if kind.types[0][0] == GeomType.PLANE:
        return _above_plane(take(data.geom_xmat, g1), take(bounds, g1), take(bounds, g2), named)
    found = _combinations(kind, named)
    if found is None:
        return _apart(take(bounds, g1), take(bounds, g2), named)
    # all of one against all of the other: nothing is copied for a pair
    one, other, places = found
    return take(_flat(_apart(take(bounds, one)[:, None], take(bounds, other), None)), places)


@stage
def _bounds(xpos: Array, xmat: Array, aabb: Array, radius: Array, reach: Array) -> Array:
    xpos, xmat, reach = (lax.stop_gradient(x) for x in (xpos, xmat, reach))
    axes, half = Frame.split(xmat), Vec.split(aabb[:, 3:])
    centre = Vec.split(xpos) + axes.to_world(Vec.split(aabb[:, :3]))
    spread = Frame(*(Vec(*map(jnp.abs, axis)) for axis in axes)).to_world(half)
    return stack([*centre, *spread, *Vec.split(xpos), radius, reach])


def _detection(first: Array, second: Array, named: Any) -> Array:
    """Distance at which contacts of pairs are detected, m (n, W)."""
    reach = first[..., 10, :] + second[..., 10, :]
    return reach if named is None else jnp.where(named[0], lax.stop_gradient(named[1]), reach)


@stage
def _near(first: Array, second: Array, held: Array) -> Array:
    """Which pairs may touch (n, m, W), of those that are `held` (n, m, 1)."""
    return (_gap(first, second, None) <= 0) & held


@stage
def _apart(first: Array, second: Array, named: Any) -> Array:
    return _gap(first, second, named)


def _gap(first: Array, second: Array, named: Any) -> Array:
    """Lower bound of the distance of pairs beyond detection: by boxes along the world's axes and by spheres, m.

    Args:
      first: bounds of geoms 1, (n, 11, W); or (n, 1, 11, W), each with all geoms 2.
      second: bounds of geoms 2, (n, 11, W).
      named: see `named_reach`.

    Returns:
      (n, W), or (n, n, W).
    """
    one, other = components(first), components(second)
    gaps = [jnp.abs(other[k] - one[k]) - one[3 + k] - other[3 + k] for k in range(3)]
    boxes = jnp.maximum(jnp.maximum(gaps[0], gaps[1]), gaps[2])
    offset = Vec(*other[6:9]) - Vec(*one[6:9])
    spheres = jnp.sqrt(offset.dot(offset)) - one[9] - other[9]
    return jnp.maximum(spheres, boxes) - _detection(first, second, named)


@stage
def _above_plane(xmat: Array, plane: Array, other: Array, named: Any) -> Array:
    """Lower bound of the height of geoms above planes beyond detection (n, W)."""
    normal, origin = Vec.split(lax.stop_gradient(xmat[:, :, 2])), Vec.split(plane[:, 6:9])
    half = Vec.split(other[:, 3:6])
    box = (Vec.split(other[:, :3]) - origin).dot(normal) - half.dot(Vec(*map(jnp.abs, normal)))
    sphere = (Vec.split(other[:, 6:9]) - origin).dot(normal) - other[:, 9]
    return jnp.maximum(box, sphere) - _detection(plane, other, named)
