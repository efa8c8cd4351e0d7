"""The order in which the C engine lists contacts, as a rank of each candidate pair.

Our contact buffer has an order of its own; what a contact sensor reports first, and how it settles ties, follows C's.
C goes through pairs of bodies by their ids. In each it lists explicit pairs, then pairs of geoms: by geom 1 and geom 2
(the one of lower type first) where it searches the bodies' volume trees, else by the geoms of the lower body.
"""

from __future__ import annotations

import functools
from typing import NamedTuple

import numpy as np

from jaxsim.enums import DisableBit
from jaxsim.pytree import Static, index_array
from jaxsim.structure.pairs import find_pairs

__all__ = ["PairTable", "contact_rank", "pair_table"]


@functools.lru_cache(maxsize=64)
def contact_rank(static: Static, disableflags: int) -> np.ndarray:
    """Rank (npair,) of each candidate pair in C's order."""
    pairs = find_pairs(static, disableflags)
    body1, body2 = static.geom_bodyid[pairs.geom1], static.geom_bodyid[pairs.geom2]
    low, high = np.minimum(body1, body2), np.maximum(body1, body2)
    in_low = np.where(body1 <= body2, pairs.geom1, pairs.geom2)
    in_high = np.where(body1 <= body2, pairs.geom2, pairs.geom1)
    searched = (static.body_geomnum[low] > 1) | (static.body_geomnum[high] > 1)
    searched &= not disableflags & DisableBit.MIDPHASE
    first = np.where(searched, pairs.geom1, in_low)
    second = np.where(searched, pairs.geom2, in_high)
    explicit = pairs.explicit >= 0
    first, second = np.where(explicit, pairs.explicit, first), np.where(explicit, 0, second)
    order = np.lexsort((second, first, ~explicit, high, low))
    rank = np.empty(len(order), np.int32)
    rank[order] = np.arange(len(order))
    return rank


class PairTable(NamedTuple):
    """Finds the candidate pair of two geoms, where geoms are known on the device only.

    Attributes:
      row: row of `pair` of each geom (ngeom,).
      pair: candidate of two geoms, by their rows; the last row and column are of geoms without a pair.
    """

    row: np.ndarray
    pair: np.ndarray


@functools.lru_cache(maxsize=64)
def pair_table(static: Static, disableflags: int) -> PairTable:
    """The table of all candidates."""
    pairs = find_pairs(static, disableflags)
    used = np.unique(np.concatenate([pairs.geom1, pairs.geom2]))
    row = np.full(static.ngeom, len(used))
    row[used] = np.arange(len(used))
    pair = np.zeros((len(used) + 1, len(used) + 1), np.int32)
    pair[row[pairs.geom1], row[pairs.geom2]] = np.arange(len(pairs))
    return PairTable(index_array(row), index_array(pair))
