"""The layout of the contact buffer: which slots there are and what may land in them. Static, cached by model.

Slots are grouped by contact dimension, so that the solver never masks dimensions. In a *static* group every slot
belongs to one point of one known geom pair. In a *selected* group there are more candidate points than slots: the
points in reach are gathered for each world, in the order of the candidates, and if they are too many the deepest stay.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np

from jaxsim.enums import DisableBit, GeomType
from jaxsim.model import Model
from jaxsim.pytree import Static, index_array
from jaxsim.structure.colliders import COLLIDERS, Collider
from jaxsim.structure.pairs import Candidates, candidates, find_candidates, geom_name

__all__ = [
    "Batch",
    "ContactGroup",
    "SlotLayout",
    "slot_count",
    "slot_layout",
    "unsupported_pairs",
]

_NO_CONTACTS = DisableBit.CONSTRAINT | DisableBit.CONTACT
"""Flags under which nothing collides."""

_STATIC_LIMIT = 64
"""Candidate points up to which all of them get slots of their own: a larger limit trades rows for gathers."""
_LEAST_SELECTED = 16
"""Slots of a selected group of few geoms."""
_NEAREST_PER_GEOM = 4
"""Pairs a geom may have in reach of bounding spheres before a broad phase drops some."""


@dataclass(frozen=True, eq=False)
class Batch:
    """Candidate pairs of one pair of geom types that are collided together.

    Attributes:
      collider: row of the dispatch table.
      pairs: candidates (npair,).
      budget: pairs the broad phase keeps in each world; None: all, there is no broad phase.
    """

    collider: Collider
    pairs: np.ndarray
    budget: int | None


@dataclass(frozen=True, eq=False)
class ContactGroup:
    """Consecutive slots of one contact dimension.

    Attributes:
      dim: contact dimension: 1, 3, 4 or 6.
      start: first slot.
      stop: one past the last slot.
      sources: where candidate points come from: (batch, first point, one past the last point).
      pair: candidate pair of each slot; None in a selected group, as the four below.
      geom1: first geom of each slot.
      geom2: second geom of each slot.
      body1: body of the first geom.
      body2: body of the second geom.
    """

    dim: int
    start: int
    stop: int
    sources: tuple[tuple[int, int, int], ...]
    pair: np.ndarray | None
    geom1: np.ndarray | None
    geom2: np.ndarray | None
    body1: np.ndarray | None
    body2: np.ndarray | None

    @property
    def selected(self) -> bool:
        """Whether the geoms of a slot differ between worlds; they are then in `data.contact.geom`."""
        return self.pair is None

    @property
    def count(self) -> int:
        """Number of slots."""
        return self.stop - self.start


@dataclass(frozen=True, eq=False)
class SlotLayout:
    """Groups of slots, by contact dimension, and the batches that fill them."""

    groups: tuple[ContactGroup, ...]
    batches: tuple[Batch, ...]
    pairs: Candidates

    @property
    def count(self) -> int:
        """Number of slots."""
        return self.groups[-1].stop if self.groups else 0


def slot_layout(model: Model) -> SlotLayout:
    """The layout of `data.contact` for a model."""
    return _layout(model.static, model.opt.disableflags)


def slot_count(model: Model) -> int:
    """Number of contact slots."""
    return slot_layout(model).count


def unsupported_pairs(model: Model) -> list[str]:
    """Descriptions of geom pairs that may touch but have no collider, one a line; empty: all are supported."""
    if model.opt.disableflags & _NO_CONTACTS:
        return []
    pairs = candidates(model)
    kinds = model.geom_type
    lines = []
    for g1, g2 in zip(pairs.geom1.tolist(), pairs.geom2.tolist(), strict=True):
        if (int(kinds[g1]), int(kinds[g2])) not in COLLIDERS:
            types = " against ".join(GeomType(kinds[g]).name.lower() for g in (g1, g2))
            lines.append(f"collision of geoms {geom_name(model, g1)} and {geom_name(model, g2)} ({types})")
    return lines


@functools.lru_cache(maxsize=64)
def _layout(static: Static, disableflags: int) -> SlotLayout:
    pairs = find_candidates(static, disableflags)
    if disableflags & _NO_CONTACTS:
        return SlotLayout((), (), pairs)
    wanted: dict[tuple[int, tuple[int, int]], list[int]] = {}
    for k, (g1, g2, dim) in enumerate(zip(pairs.geom1, pairs.geom2, pairs.dim, strict=True)):
        kinds = (int(static.geom_type[g1]), int(static.geom_type[g2]))
        if kinds in COLLIDERS:
            wanted.setdefault((int(dim), kinds), []).append(k)
    rows = {key: index_array(wanted[key]) for key in sorted(wanted)}

    plans = _plan(rows, pairs, static.nconmax)
    batches, where = _batches(rows, pairs, plans)
    groups = []
    start = 0
    for dim, keys, slots in plans:
        sources = tuple(where[key] for key in keys)
        owner: np.ndarray | None = None
        if slots is None:
            owner = np.concatenate([np.repeat(rows[key], COLLIDERS[key[1]].points) for key in keys])
            slots = len(owner)
        stop = start + slots
        geom1 = geom2 = body1 = body2 = None
        if owner is not None:
            geom1, geom2 = pairs.geom1[owner], pairs.geom2[owner]
            body1, body2 = static.geom_bodyid[geom1], static.geom_bodyid[geom2]
        groups.append(ContactGroup(dim, start, stop, sources, owner, geom1, geom2, body1, body2))
        start = stop
    return SlotLayout(tuple(groups), tuple(batches), pairs)


_Key = tuple[int, tuple[int, int]]


def _plan(
    rows: dict[_Key, np.ndarray], pairs: Candidates, nconmax: int
) -> list[tuple[int, list[_Key], int | None]]:
    """Groups as (dim, keys of their candidates, slots); slots None: static."""
    points = {key: len(k) * COLLIDERS[key[1]].points for key, k in rows.items()}
    dims = sorted({key[0] for key in rows})
    if sum(points.values()) <= (nconmax if nconmax >= 0 else _STATIC_LIMIT):
        return [(dim, [key for key in rows if key[0] == dim], None) for dim in dims]

    plans: list[tuple[int, list[_Key], int | None]] = []
    for dim in dims:
        rest = [key for key in rows if key[0] == dim]
        planes = [key for key in rest if key[1][0] == GeomType.PLANE]
        if nconmax < 0 and len(planes) < len(rest) and sum(points[key] for key in planes) <= _STATIC_LIMIT:
            if planes:
                plans.append((dim, planes, None))
            rest = [key for key in rest if key not in planes]
        total = sum(points[key] for key in rest)
        slots = _safe_slots({key: rows[key] for key in rest}, pairs)
        plans.append((dim, rest, slots if nconmax >= 0 or slots < total else None))
    if nconmax >= 0:
        plans = _divide(plans, nconmax)
    return plans


def _safe_slots(rows: dict[_Key, np.ndarray], pairs: Candidates) -> int:
    """Slots for candidates that cannot all touch at once: the usual points of one touching pair for every geom."""
    usual: dict[int, int] = {}
    total = 0
    for (_, kinds), k in rows.items():
        collider = COLLIDERS[kinds]
        total += len(k) * collider.points
        for geom in np.unique(np.concatenate([pairs.geom1[k], pairs.geom2[k]])).tolist():
            usual[geom] = max(usual.get(geom, 0), collider.usual)
    slots = max(sum(usual.values()), _LEAST_SELECTED)
    return total if slots > 0.75 * total else slots


def _divide(
    plans: list[tuple[int, list[_Key], int | None]], nconmax: int
) -> list[tuple[int, list[_Key], int | None]]:
    """Divides `nconmax` slots among groups in proportion to what they would get by themselves."""
    shares = np.array([slots for _, _, slots in plans], float)
    bounds = np.round(np.concatenate([[0.0], np.cumsum(shares)]) / shares.sum() * nconmax).astype(int)
    return [(dim, keys, int(n)) for (dim, keys, _), n in zip(plans, np.diff(bounds), strict=True)]


def _batches(
    rows: dict[_Key, np.ndarray], pairs: Candidates, plans: list[tuple[int, list[_Key], int | None]]
) -> tuple[list[Batch], dict[_Key, tuple[int, int, int]]]:
    """Batches, and for each key the points of a batch that are its candidates."""
    selected = {key for _, keys, slots in plans if slots is not None for key in keys}
    batches: list[Batch] = []
    where: dict[_Key, tuple[int, int, int]] = {}
    for kinds in sorted({key[1] for key in rows}):
        collider = COLLIDERS[kinds]
        together: list[_Key] = []
        for key in (key for key in rows if key[1] == kinds):
            k = rows[key]
            geoms = len(np.unique(np.concatenate([pairs.geom1[k], pairs.geom2[k]])))
            budget = max(collider.exhaustive // 2, _NEAREST_PER_GEOM * geoms)
            if key in selected and len(k) > max(collider.exhaustive, budget):
                where[key] = (len(batches), 0, budget * collider.points)
                batches.append(Batch(collider, k, budget))
            else:
                together.append(key)
        first = 0
        for key in together:
            last = first + len(rows[key]) * collider.points
            where[key] = (len(batches), first, last)
            first = last
        if together:
            batches.append(Batch(collider, np.concatenate([rows[key] for key in together]), None))
    return batches, where
