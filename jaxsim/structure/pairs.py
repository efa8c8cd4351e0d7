"""Which geoms may touch: static, from the model's filters alone."""

from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np

from jaxsim.enums import DisableBit, GeomType
from jaxsim.model import Model
from jaxsim.pytree import Static, index_array

__all__ = ["NEVER", "GeomPairs", "find_pairs", "geom_pairs"]

NEVER = (
    (GeomType.PLANE, GeomType.PLANE),
    (GeomType.PLANE, GeomType.HFIELD),
    (GeomType.HFIELD, GeomType.HFIELD),
)
"""Types that never collide, as in C."""


@dataclass(frozen=True, eq=False)
class GeomPairs:
    """Pairs of geoms that no filter removes; type of geom 1 <= type of geom 2.

    Attributes:
      geom1: first geoms (npair,).
      geom2: second geoms (npair,).
      explicit: row of the model's `pair_*` fields that defines the pair, -1: two geoms that met (npair,).
      dim: contact dimension (npair,).
    """

    geom1: np.ndarray
    geom2: np.ndarray
    explicit: np.ndarray
    dim: np.ndarray

    def __len__(self) -> int:
        return len(self.geom1)

    def at(self, rows: np.ndarray) -> GeomPairs:
        """Some of the pairs."""
        return GeomPairs(self.geom1[rows], self.geom2[rows], self.explicit[rows], self.dim[rows])


def geom_pairs(model: Model) -> GeomPairs:
    """Explicit pairs, then the pairs of geoms that pass the filters, by geom ids; cached.

    Source: computation chapter, collision detection, pair-wise filtering.
    """
    return find_pairs(model.static, model.opt.disableflags)


@functools.lru_cache(maxsize=64)
def find_pairs(static: Static, disableflags: int) -> GeomPairs:
    """As `geom_pairs`, from the static part of a model and its disable flags."""
    kinds = static.geom_type
    g1, g2 = _meeting(static, disableflags)
    e1, e2 = static.pair_geom1.astype(int), static.pair_geom2.astype(int)
    unnamed = ~np.isin(_code(g1, g2), _code(e1, e2))
    g1, g2 = g1[unnamed], g2[unnamed]

    priority, condim = static.geom_priority, static.geom_condim
    ruling = np.where(priority[g1] > priority[g2], condim[g1], condim[g2])
    dim = np.where(priority[g1] == priority[g2], np.maximum(condim[g1], condim[g2]), ruling)

    geom1, geom2 = np.concatenate([e1, g1]), np.concatenate([e2, g2])
    explicit = np.concatenate([np.arange(len(e1)), np.full(len(g1), -1)])
    dim = np.concatenate([static.pair_dim, dim]).astype(int)
    swap = kinds[geom1] > kinds[geom2]
    geom1, geom2 = np.where(swap, geom2, geom1), np.where(swap, geom1, geom2)
    collide = np.ones(len(geom1), bool)
    for a, b in NEVER:
        collide &= ~((kinds[geom1] == a) & (kinds[geom2] == b))
    return GeomPairs(*(index_array(x[collide]) for x in (geom1, geom2, explicit, dim)))


def _code(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """One number for two ids in any order."""
    return (np.minimum(a, b).astype(np.int64) << 32) + np.maximum(a, b)


def _meeting(static: Static, disableflags: int) -> tuple[np.ndarray, np.ndarray]:
    """Pairs of geoms, the lower id first, that no filter removes."""
    body = static.geom_bodyid.astype(int)
    weld = static.body_weldid.astype(int)[body]
    parent = static.body_weldid[static.body_parentid[weld]]
    fixed = static.body_dofnum[weld] == 0
    contype, conaffinity = static.geom_contype, static.geom_conaffinity

    live = np.flatnonzero((contype != 0) | (conaffinity != 0))
    first, second = np.triu_indices(len(live), 1)
    g1, g2 = live[first], live[second]
    keep = ((contype[g1] & conaffinity[g2]) != 0) | ((contype[g2] & conaffinity[g1]) != 0)
    keep &= (weld[g1] != weld[g2]) & ~(fixed[g1] & fixed[g2])
    if not disableflags & DisableBit.FILTERPARENT:
        related = (weld[g1] == parent[g2]) | (weld[g2] == parent[g1])
        keep &= ~((weld[g1] != 0) & (weld[g2] != 0) & related)
    low, high = np.minimum(body[g1], body[g2]), np.maximum(body[g1], body[g2])
    keep &= ~np.isin((low << 16) + high, static.exclude_signature)
    return g1[keep], g2[keep]
