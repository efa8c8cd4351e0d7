"""Which contact slots each contact sensor looks at: static, from what the sensor names and what may land in a slot."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from jaxsim.enums import ObjType
from jaxsim.model import Model
from jaxsim.pytree import Static, index_array
from jaxsim.structure.contact_order import contact_rank
from jaxsim.structure.pairs import GeomPairs
from jaxsim.structure.slots import SlotLayout, slot_layout

__all__ = ["Matches", "matches"]


class Matches(NamedTuple):
    """For n sensors, the slots that may hold a contact of theirs; all have as many, filled up with ones that cannot.

    Attributes:
      slots: slots (n, k).
      sign: 1 if the contact's normal points away from the sensor's first object, -1 if towards it, 0 if the contact is
        not the sensor's, (n, k).
      rank: of the slot's pair, in C's order of contacts, (n, k).
      known: whether the slot's geoms are the same in all worlds, so that `sign` and `rank` hold, (n, k).
      sign_of_pair: as `sign`, for each candidate pair, (n, npair).
      rank_of_pair: as `rank`, (npair,).
    """

    slots: np.ndarray
    sign: np.ndarray
    rank: np.ndarray
    known: np.ndarray
    sign_of_pair: np.ndarray
    rank_of_pair: np.ndarray


def matches(model: Model, sensors: np.ndarray) -> Matches:
    """The slots of contact sensors (n,)."""
    key = tuple(int(i) for i in sensors)
    return _matches(model.static, model.opt.disableflags, slot_layout(model), key)


@functools.lru_cache(maxsize=64)
def _matches(static: Static, disableflags: int, layout: SlotLayout, sensors: Sequence[int]) -> Matches:
    """As `matches`, from static parts; every sensor's row is as long as the longest."""
    rank = contact_rank(static, disableflags)
    by_pair = np.array([_signs(static, layout.pairs, i) for i in sensors], np.int32)
    rows = [_slots_of(layout, signs, rank) for signs in by_pair]
    width = max((len(r) for r in rows), default=0)
    slots, pair = (np.zeros((len(rows), width), int) for _ in range(2))
    sign, known = np.zeros((len(rows), width), int), np.ones((len(rows), width), bool)
    for n, found in enumerate(rows):
        for k, (slot, owner) in enumerate(found):
            slots[n, k], known[n, k], pair[n, k] = slot, owner >= 0, max(owner, 0)
            sign[n, k] = by_pair[n, owner] if owner >= 0 else 0
    ordered = rank[pair] if len(rank) else pair
    return Matches(
        slots=index_array(slots),
        sign=index_array(sign),
        rank=index_array(ordered),
        known=known,
        sign_of_pair=by_pair,
        rank_of_pair=index_array(rank),
    )


def _slots_of(layout: SlotLayout, signs: np.ndarray, rank: np.ndarray) -> list[tuple[int, int]]:
    """(slot, its pair or -1) of the slots that may hold a pair whose sign is not 0: known ones first, by rank."""
    known, chosen = [], []
    for group in layout.groups:
        if group.pair is not None:
            mine = np.flatnonzero(signs[group.pair])
            known += [(int(rank[group.pair[k]]), group.start + int(k), int(group.pair[k])) for k in mine]
        elif signs[layout.pairs.dim == group.dim].any():
            chosen += [(slot, -1) for slot in range(group.start, group.stop)]
    return [(slot, pair) for _, slot, pair in sorted(known)] + chosen


def _signs(static: Static, pairs: GeomPairs, sensor: int) -> np.ndarray:
    """The sign (npair,) of each candidate's contacts for a sensor.

    A contact is the sensor's if each object that it names takes part. With both named, the normal is to point from the
    first to the second; where both orders fit, it stays.
    """
    first = static.sensor_objtype[sensor], int(static.sensor_objid[sensor])
    second = static.sensor_reftype[sensor], int(static.sensor_refid[sensor])
    a1, a2 = (_takes_part(static, geom, *first) for geom in (pairs.geom1, pairs.geom2))
    b1, b2 = (_takes_part(static, geom, *second) for geom in (pairs.geom1, pairs.geom2))
    found = (a1 | a2) & (b1 | b2)
    if first[0] == ObjType.UNKNOWN:
        forward = b2 if second[0] != ObjType.UNKNOWN else found
    elif second[0] == ObjType.UNKNOWN:
        forward = a1
    else:
        forward, backward = a1 & b2, a2 & b1
        found &= forward | backward
    return np.where(found, np.where(forward, 1, -1), 0)


def _takes_part(static: Static, geoms: np.ndarray, kind: int, target: int) -> np.ndarray:
    """Whether geoms (n,) belong to an object; all do if it is unknown, or a site, which looks at points instead."""
    body = static.geom_bodyid[geoms]
    if kind == ObjType.GEOM:
        return geoms == target
    if kind == ObjType.BODY:
        return body == target
    if kind == ObjType.XBODY:
        while (body > target).any():
            body = np.where(body > target, static.body_parentid[body], body)
        return body == target
    return np.ones(len(geoms), bool)
