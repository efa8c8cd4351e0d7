"""Geoms as colliders see them: one table of all, from which the two geoms of each pair are picked."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxsim.collision.points import Shape
from jaxsim.collision.vec import Pose
from jaxsim.data import Data
from jaxsim.math.axis import concat, split
from jaxsim.math.gather import Index, rows_of
from jaxsim.math.stage import stage
from jaxsim.model import Model

__all__ = ["Geoms", "tabulate"]


class Geoms(NamedTuple):
    """Some geoms, n of them.

    Attributes:
      pose: centre, then axes by rows, in the world frame (n, 12, W).
      size: sizes, then what the geom adds to the distance of detection, m (n, 4, 1 or W).
      asset: which mesh or height field, (n, 1 or W); of numpy where it is known beforehand.
      kind: types, the same.
    """

    pose: Array
    size: Array
    asset: Index
    kind: Index

    def at(self, rows: Index) -> Geoms:
        """Some of them, by a constant index or by world."""

        def own(x: Index) -> Index:
            known = isinstance(x, np.ndarray) and isinstance(rows, np.ndarray)
            return x[rows] if known else rows_of(jnp.asarray(x), rows)

        return Geoms(rows_of(self.pose, rows), rows_of(self.size, rows), own(self.asset), own(self.kind))

    def pairs(self, geom1: Index, geom2: Index) -> tuple[Geoms, Geoms]:
        """Geoms 1 and geoms 2 of pairs: constant ones are cut from one table, where XLA fuses the cuts."""
        if not (isinstance(geom1, np.ndarray) and isinstance(geom2, np.ndarray)):
            return self.at(geom1), self.at(geom2)
        both, sizes = self.at(np.concatenate([geom1, geom2])), [len(geom1), len(geom2)]
        cut = (np.split(x, sizes[:1]) if isinstance(x, np.ndarray) else split(x, sizes) for x in both)
        first, second = zip(*cut, strict=True)
        return Geoms(*first), Geoms(*second)

    def shape(self, assets: Any) -> Shape:
        """Them, with what `asset` chooses from."""
        return Shape(Pose(self.pose), self.size, jnp.asarray(self.asset), jnp.asarray(self.kind), assets)


def tabulate(model: Model, data: Data, reach: Array) -> Geoms:
    """All geoms of the model; `reach` is what each adds to the distance of detection, m (ngeom, 1 or W)."""
    pose, size = _tabulate(data.geom_xpos, data.geom_xmat, model.geom_size, reach)
    return Geoms(
        pose, size, *(np.asarray(x, np.int32)[:, None] for x in (model.geom_dataid, model.geom_type))
    )


@stage
def _tabulate(xpos: Array, xmat: Array, size: Array, reach: Array) -> tuple[Array, Array]:
    """The floating tables of `Geoms` for all geoms of the model."""
    pose = concat([xpos, xmat.reshape(xmat.shape[0], 9, -1)], axis=1)
    return pose, concat([size, reach[:, None]], axis=1)
