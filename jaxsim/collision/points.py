"""What colliders take and return."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from jaxsim.collision.vec import Frame, Pose, Vec
from jaxsim.math.axis import components

__all__ = ["Placed", "Points", "Portion", "Search", "Shape", "stack_points"]


class Shape(NamedTuple):
    """One geom of each pair; components (npair, W).

    Attributes:
      pose: centre and axes in the world frame.
      sizes: sizes of the geom, m, of a mesh half the extents of its box; then what else there is (npair, 3 or more, W).
      asset: which mesh or height field it is (`geom_dataid`), int (npair, 1 or W).
      kind: its type, int (npair, 1 or W).
      assets: what `asset` chooses from, as the collider's own `assets` made it of the model; None: it has none.
    """

    pose: Pose
    sizes: Array
    asset: Array
    kind: Array
    assets: Any

    @property
    def pos(self) -> Vec:
        """Centre, m, world frame."""
        return self.pose.pos

    @property
    def axes(self) -> Frame:
        """Axes in the world frame."""
        return self.pose.axes

    @property
    def size(self) -> Vec:
        """Sizes of the geom, m; of a mesh half the extents of its box."""
        return Vec(*components(self.sizes, axis=1)[:3])

    def apart(self) -> Placed:
        """Its components, cut once: each `pos` and `axes` of a shape cuts anew, and a transpose joins them again."""
        return Placed(*self.pose.apart(), self.size)

    def each(self, change: Callable[[Array], Array]) -> Shape:
        """With all arrays changed, but for the assets."""
        return jax.tree.map(change, self._replace(assets=None))._replace(assets=self.assets)


class Placed(NamedTuple):
    """A geom of each pair by components (npair, W): centre and axes in the world frame, and sizes, m."""

    pos: Vec
    axes: Frame
    size: Vec


class Portion(NamedTuple):
    """Consecutive pairs of geoms.

    Attributes:
      types: which types geoms 1 may have, and geoms 2.
      size: how many pairs.
      points: most contact points of a pair.
    """

    types: tuple[tuple[int, ...], tuple[int, ...]]
    size: int
    points: int


class Search(NamedTuple):
    """What an iterative collider is told besides.

    Attributes:
      active: pairs whose points are used, (npair, 1 or W); of the others anything finite may be given.
      iterations: most rounds of a search (`opt.ccd_iterations`), (1 or W,).
      tolerance: error of distances at which a search ends (`opt.ccd_tolerance`), m, (1 or W,).
    """

    active: Array
    iterations: Array
    tolerance: Array


class Points(NamedTuple):
    """Contact points of each pair, components (npair, npoint, W).

    `valid` says which points the collider proposes (None: all); those beyond the detection distance are dropped
    by the caller. `tangent` is the wish for the first tangent (None: none); the frame is completed by `make_frame`.
    `dropped` (npair, 1 or W) marks pairs of which parts found no place in the collider's budget (None: it has none).
    """

    dist: Array
    pos: Vec
    normal: Vec
    tangent: Vec | None = None
    valid: Array | None = None
    dropped: Array | None = None


def stack_points(points: list[Points]) -> Points:
    """Joins single points, components (npair, W), on the point axis; `valid` is either in all or in none."""
    stacked = [
        jnp.stack(jnp.broadcast_arrays(*parts), axis=-2)
        for parts in zip(*(_flat(p) for p in points), strict=True)
    ]
    first = points[0]
    rest = stacked[7:]
    tangent = Vec(*rest[:3]) if first.tangent is not None else None
    valid = rest[-1] if first.valid is not None else None
    return Points(stacked[0], Vec(*stacked[1:4]), Vec(*stacked[4:7]), tangent, valid)


def _flat(p: Points) -> list[Array]:
    values = [p.dist, *p.pos, *p.normal]
    values += [] if p.tangent is None else list(p.tangent)
    return values + ([] if p.valid is None else [p.valid])
