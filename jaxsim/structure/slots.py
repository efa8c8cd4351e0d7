"""The layout of the contact buffer: which slots there are and what may land in them. Static, cached by model.

Candidate pairs of one *kind*, a pair of geom types, are collided together. Slots are in groups of one contact
dimension, so that the solver never masks dimensions. In a *static* group every slot belongs to one point of one known
pair. In a *selected* group there are more candidate points than slots: the points in reach are gathered for each world,
in the order of the candidates, and if they are too many the deepest stay.
"""

from __future__ import annotations

import dataclasses
import functools
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from jaxsim.enums import ConeType, DisableBit, GeomType, ObjType
from jaxsim.model import Model
from jaxsim.pytree import Static, index_array
from jaxsim.structure.budgets import parse_budgets
from jaxsim.structure.colliders import Collider, colliders_of
from jaxsim.structure.constraints import class_rows
from jaxsim.structure.pairs import GeomPairs, geom_pairs

__all__ = [
    "ContactGroup",
    "Kind",
    "SlotLayout",
    "Source",
    "rows_of_contact",
    "slot_count",
    "slot_layout",
    "unsupported_pairs",
]

_NO_CONTACTS = DisableBit.CONSTRAINT | DisableBit.CONTACT
"""Flags under which nothing collides."""

_STATIC_LIMIT = 64
"""Candidate points up to which all of them get slots of their own: a larger limit trades rows for gathers."""
_STATIC_LIMIT_BY_HAND = 512
"""The same where the user asks for at least so many slots."""
_STATIC_GENERAL = 64
"""Pairs of the general collider up to which their slots may be their own."""
_LEAST_SELECTED = 16
"""Slots of a selected group of few geoms."""
_MANY_SLOTS = 64
"""Slots of a selected group up to which each geom has some of its own."""
_POINTS_OF_BODY = 16
"""Points of one contact dimension that a body of many geoms may touch in, where slots are many."""
_NEAREST_PER_GEOM = 4
"""Pairs a geom may have in reach of bounding boxes before a broad phase drops some."""
_TOUCHING_PER_GEOM = 2
"""Pairs a geom may touch, of those of the general collider where they are many, before some are dropped."""


@dataclass(frozen=True, eq=False)
class Kind:
    """Candidate pairs that one broad phase looks at: of two geom types, or of many that the general collider collides.

    Attributes:
      types: of geom 1 and geom 2, one or more pairs of types.
      collider: what collides them.
      rows: which pairs of the layout they are, by types, then by contact dimension (npair,).
      pairs: the pairs.
      budget: pairs that the broad phase keeps in each world; None: all, there is no broad phase.
      touching: pairs of those that the search of distances keeps; None: all.
    """

    types: tuple[tuple[int, int], ...]
    collider: Collider
    rows: np.ndarray
    pairs: GeomPairs
    budget: int | None
    touching: int | None = None

    @property
    def name(self) -> str:
        """The two types in words, as in "sphere box"; "convex" if there are several."""
        first, *more = self.types
        return "convex" if more else " ".join(GeomType(t).name.lower() for t in first)

    @property
    def points(self) -> int:
        """Candidate points of a world, those of a pair next to each other."""
        sizes = (self.touching, self.budget, len(self.pairs))
        return next(n for n in sizes if n is not None) * self.collider.points


class Source(NamedTuple):
    """Where candidate points of a group come from.

    Attributes:
      kind: number of the kind.
      start: first of its points.
      stop: one past the last.
      mixed: there may be points of other contact dimensions between them.
    """

    kind: int
    start: int
    stop: int
    mixed: bool


@dataclass(frozen=True, eq=False)
class ContactGroup:
    """Consecutive slots of one contact dimension.

    Attributes:
      dim: contact dimension: 1, 3, 4 or 6.
      start: first slot.
      stop: one past the last slot.
      sources: where candidate points come from.
      pair: pair of the layout that each slot belongs to; None in a selected group, as the two below.
      body1: body of the first geom of each slot.
      body2: body of the second geom.
    """

    dim: int
    start: int
    stop: int
    sources: tuple[Source, ...]
    pair: np.ndarray | None
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
    """Groups of slots, by contact dimension, and the kinds of pairs that fill them."""

    groups: tuple[ContactGroup, ...]
    kinds: tuple[Kind, ...]
    pairs: GeomPairs

    @property
    def count(self) -> int:
        """Number of slots."""
        return self.groups[-1].stop if self.groups else 0


def slot_layout(model: Model) -> SlotLayout:
    """The layout of `data.contact` for a model; cached.

    Raises:
      ValueError: `njmax` leaves no rows for contacts.
    """
    off = bool(model.opt.disableflags & _NO_CONTACTS)
    single = bool(model.opt.disableflags & DisableBit.MULTICCD)
    return _layout(model.static, geom_pairs(model), off, single, _most_slots(model))


def rows_of_contact(dim: int, cone: int) -> int:
    """Constraint rows of a contact: the edges of its pyramid, or the axes of its frame."""
    return 2 * (dim - 1) if dim > 1 and cone == ConeType.PYRAMIDAL else dim


def _most_slots(model: Model) -> int:
    """Slots that `nconmax` and `njmax` allow; -1: as many as the model asks for."""
    if model.njmax < 0:
        return model.nconmax
    room = model.njmax - _rows_without_contacts(model)
    if room < 0:
        raise ValueError(
            f"njmax={model.njmax} rows are too few: equalities, friction loss and limits of this model alone take "
            f"{model.njmax - room}; give at least that many, or -1 for as many as it needs"
        )
    dims = geom_pairs(model).dim
    most = max((rows_of_contact(int(dim), model.opt.cone) for dim in np.unique(dims)), default=1)
    return room // most if model.nconmax < 0 else min(model.nconmax, room // most)


def _rows_without_contacts(model: Model) -> int:
    return max(rows.stop for rows in class_rows(model.static, model.opt.disableflags).values())


def slot_count(model: Model) -> int:
    """Number of contact slots."""
    return slot_layout(model).count


def unsupported_pairs(model: Model) -> list[str]:
    """Kinds of geom pairs that may touch but have no collider, one a line; empty: all are supported."""
    if model.opt.disableflags & _NO_CONTACTS:
        return []
    pairs, lines = geom_pairs(model), []
    table = colliders_of(model.static)
    for types, rows in _by_types(model.static, pairs).items():
        refuses = table[types].refuses if types in table else None
        if types in table:
            rows = [] if refuses is None else rows[refuses(model.static, pairs.at(rows))]
        if len(rows):
            kinds = " against ".join(GeomType(kind).name.lower() for kind in types)
            first = " and ".join(_label(model, int(g[rows[0]])) for g in (pairs.geom1, pairs.geom2))
            more = f" and {len(rows) - 1} more pairs" if len(rows) > 1 else ""
            lines.append(f"collision of {kinds}: geoms {first}{more}")
    return lines


def _label(model: Model, geom: int) -> str:
    """The geom's name, or its number."""
    name = model.name(ObjType.GEOM, geom)
    return repr(name) if name else f"number {geom}"


def _by_types(static: Static, pairs: GeomPairs) -> dict[tuple[int, int], np.ndarray]:
    """Pairs of each pair of geom types, by contact dimension, then in their order."""
    code = _type_code(static, pairs)
    order = np.lexsort([pairs.dim, code])
    found, counts = np.unique(code[order], return_counts=True)
    parts = np.split(order, np.cumsum(counts)[:-1])
    return {divmod(int(k), len(GeomType)): rows for k, rows in zip(found, parts, strict=False)}


def _type_code(static: Static, pairs: GeomPairs) -> np.ndarray:
    """A number for the two geom types of each pair, in their order (npair,)."""
    kinds = static.geom_type.astype(np.int16)
    return len(GeomType) * kinds[pairs.geom1] + kinds[pairs.geom2]


@dataclass(frozen=True, eq=False)
class _Portion:
    """Pairs of one kind and one contact dimension: where they begin among the kind's pairs, and which they are."""

    kind: int
    dim: int
    start: int
    rows: np.ndarray
    collider: Collider
    plane: bool

    @property
    def points(self) -> int:
        return len(self.rows) * self.collider.points


class _Plan(NamedTuple):
    """A group to be: its portions, and its slots; None: static, one a point."""

    portions: list[_Portion]
    slots: int | None

    @property
    def size(self) -> int:
        return sum(p.points for p in self.portions) if self.slots is None else self.slots


@functools.lru_cache(maxsize=64)
def _layout(static: Static, pairs: GeomPairs, off: bool, single: bool, most: int) -> SlotLayout:
    """As `slot_layout`, with at most so many slots unless `most` is -1; none if contacts are off.

    With `single` the general collider gives one point.
    """
    if off:
        return SlotLayout((), (), pairs)
    table = colliders_of(static)
    kinds = {types: rows for types, rows in _by_types(static, pairs).items() if types in table}
    colliders = {types: table[types].fit(static, pairs.at(rows)) for types, rows in kinds.items()}
    if single:
        one = {"points": 1, "usual": 1}
        colliders = {types: c._replace(**one) if c.general else c for types, c in colliders.items()}
    portions = []
    for k, (types, rows) in enumerate(kinds.items()):
        dims, starts = np.unique(pairs.dim[rows], return_index=True)
        for dim, start, own in zip(dims.tolist(), starts.tolist(), np.split(rows, starts[1:]), strict=True):
            plane = types[0] == GeomType.PLANE
            portions.append(_Portion(k, dim, start, own, colliders[types], plane))
    plans, by_hand = _plan(static, pairs, portions, most), parse_budgets(static.max_geom_pairs)
    general = [p for p in portions if p.collider.general]
    many = sum(len(p.rows) for p in general) > _STATIC_GENERAL
    some = functools.partial(_mixed, static, pairs, kinds, colliders, by_hand=by_hand)
    if len({p.kind for p in general}) > 1 and (many or some(_selected(plans)) is not None):
        # all are one kind, of which each world picks: a second search would be as much code as the first
        plans = [
            p._replace(slots=p.size) if any(q.collider.general for q in p.portions) else p for p in plans
        ]
    selected = _selected(plans)
    mixed = some(selected)

    made: list[Kind] = []
    place: dict[int, int] = {}
    for k, (types, rows) in enumerate(kinds.items()):
        if mixed is not None and types in mixed.types:
            place[k] = len(kinds) - len(mixed.types)
            continue
        own = pairs.at(rows)
        budget = _budget(static, types, colliders[types], own, by_hand) if k in selected else None
        place[k] = len(made)
        made.append(_by_geoms(static, Kind((types,), colliders[types], index_array(rows), own, budget)))
    made += [] if mixed is None else [mixed]
    groups = []
    start = 0
    for plan in plans:
        groups.append(_group(static, pairs, plan, made, place, start))
        start = groups[-1].stop
    return SlotLayout(tuple(groups), tuple(made), pairs)


def _selected(plans: list[_Plan]) -> set[int]:
    """Which kinds have no slots of their own."""
    kinds = {p.kind for plan in plans if plan.slots is not None for p in plan.portions}
    return kinds - {p.kind for plan in plans if plan.slots is None for p in plan.portions}


def _mixed(
    static: Static,
    pairs: GeomPairs,
    kinds: dict[tuple[int, int], np.ndarray],
    colliders: dict[tuple[int, int], Collider],
    selected: set[int],
    by_hand: dict[tuple[int, int] | None, int],
) -> Kind | None:
    """All pairs of the general collider as one kind, if they are many: what it costs does not grow with their types.

    Types with a budget of their own, by hand, stay by themselves. Of pairs counted by hand all points are computed.
    """
    types = [t for k, t in enumerate(kinds) if k in selected and colliders[t].general and t not in by_hand]
    if not types:
        return None
    rows = np.concatenate([kinds[t] for t in types])
    own = pairs.at(rows)
    geoms = _geoms_to_expect(static, own)
    collider = max((colliders[t] for t in types), key=lambda c: c.points)
    collider = collider._replace(
        assets=next((c.assets for c in map(colliders.get, types) if c and c.assets), None)
    )
    budget = by_hand.get(None, max(collider.exhaustive // 2, _NEAREST_PER_GEOM * geoms))
    budget = budget if len(rows) > max(collider.exhaustive, budget) else None
    touching = max(collider.exhaustive // 2, _TOUCHING_PER_GEOM * geoms)
    worth = touching < 0.75 * (len(rows) if budget is None else budget)
    touching = touching if worth and None not in by_hand else None
    if budget is None and touching is None:
        return None
    return _by_geoms(static, Kind(tuple(types), collider, index_array(rows), own, budget, touching))


def _by_geoms(static: Static, kind: Kind) -> Kind:
    """With pairs that a broad phase picks from by types, then by geoms: it looks at each with each."""
    if kind.budget is None:
        return kind
    order = np.lexsort([kind.pairs.geom2, kind.pairs.geom1, _type_code(static, kind.pairs)])
    return dataclasses.replace(kind, rows=index_array(kind.rows[order]), pairs=kind.pairs.at(order))


def _group(
    static: Static, pairs: GeomPairs, plan: _Plan, kinds: list[Kind], place: dict[int, int], start: int
) -> ContactGroup:
    """The group of slots that a plan asks for, from slot `start` on; `place` tells the kind of a portion's types."""
    sources = []
    for p in plan.portions:
        number, points = place[p.kind], p.collider.points
        kind = kinds[number]
        if kind.budget is None and kind.touching is None:
            first = p.start * points
            sources.append(Source(number, first, first + p.points, False))
        elif all(number != source.kind for source in sources):
            mixed = bool((pairs.dim[kind.rows] != p.dim).any())
            sources.append(Source(number, 0, kind.points, mixed))
    dim, stop = plan.portions[0].dim, start + plan.size
    if plan.slots is not None:
        return ContactGroup(dim, start, stop, tuple(sources), None, None, None)
    pair = np.concatenate([np.repeat(p.rows, p.collider.points) for p in plan.portions])
    bodies = (static.geom_bodyid[geoms[pair]] for geoms in (pairs.geom1, pairs.geom2))
    return ContactGroup(dim, start, stop, tuple(sources), *(index_array(x) for x in (pair, *bodies)))


def _plan(static: Static, pairs: GeomPairs, portions: list[_Portion], nconmax: int) -> list[_Plan]:
    """Groups by contact dimension, and how many slots each has."""
    by_dim = {dim: [p for p in portions if p.dim == dim] for dim in sorted({p.dim for p in portions})}
    total = sum(p.points for p in portions)
    if total <= (_STATIC_LIMIT if nconmax < 0 else min(nconmax, _STATIC_LIMIT_BY_HAND)):
        return [_Plan(own, None) for own in by_dim.values()]

    plans: list[_Plan] = []
    for own in by_dim.values():
        planes, rest = [p for p in own if p.plane], [p for p in own if not p.plane]
        if nconmax < 0 and rest and planes and sum(p.points for p in planes) <= _STATIC_LIMIT:
            plans.append(_Plan(planes, None))
            own = rest
        slots = _safe_slots(static, pairs, own)
        all_of_them = nconmax < 0 and slots == sum(p.points for p in own)
        plans.append(_Plan(own, None if all_of_them else slots))
    return plans if nconmax < 0 else _divide(plans, min(nconmax, total))


def _safe_slots(static: Static, pairs: GeomPairs, portions: list[_Portion]) -> int:
    """Slots for candidates that cannot all touch at once: the usual points of one touching pair for every geom.

    Where that is many, geoms of one body share what it touches, as pieces of a mesh do, and of the links of a
    robot two thirds touch: a free body rests on something, most links on nothing. Geoms that do not move have no more
    than those that do.
    """
    usual = np.zeros(static.ngeom, int)
    for p in portions:
        for geoms in (pairs.geom1, pairs.geom2):
            usual[geoms[p.rows]] = np.maximum(usual[geoms[p.rows]], p.collider.usual)
    moves = _moves(static, np.arange(static.ngeom))
    still = int(usual[~moves].sum())

    def with_still(points: np.ndarray) -> int:
        return int(points.sum() + min(points.sum(), still))

    slots = with_still(usual[moves])
    if slots > _MANY_SLOTS:
        body = static.body_weldid[static.geom_bodyid]
        pieces, largest = np.zeros((2, static.nbody), int)
        np.add.at(pieces, body[moves], usual[moves])
        np.maximum.at(largest, body[moves], usual[moves])
        of_body = np.minimum(pieces, np.maximum(np.maximum(largest, _POINTS_OF_BODY), pieces // 4))
        of_links = with_still(of_body[_is_link(static)])
        slots = max(with_still(of_body) - max(of_links - _MANY_SLOTS, 0) // 3, _MANY_SLOTS)
    slots = max(slots, _LEAST_SELECTED)
    total = sum(p.points for p in portions)
    return total if slots > 0.75 * total else slots


def _is_link(static: Static) -> np.ndarray:
    """Which bodies move as one of several of their tree, unlike an object by itself (nbody,)."""
    tree = np.asarray(static.body_treeid)
    moves = (tree >= 0) & (static.body_weldid == np.arange(static.nbody))
    bodies_of_tree = np.bincount(tree[moves], minlength=static.nbody)
    return moves & (bodies_of_tree[tree] > 1)


def _moves(static: Static, geoms: np.ndarray) -> np.ndarray:
    """Which geoms have degrees of freedom."""
    return static.body_treeid[static.geom_bodyid[geoms]] >= 0


def _geoms_to_expect(static: Static, pairs: GeomPairs) -> int:
    """Geoms that may have neighbours at a time: those that move, and no more of the others.

    A terrain of a thousand boxes has as few neighbours as what walks on it.
    """
    geoms = np.unique([pairs.geom1, pairs.geom2])
    return min(len(geoms), 2 * int(_moves(static, geoms).sum()))


def _divide(plans: list[_Plan], nconmax: int) -> list[_Plan]:
    """Divides `nconmax` slots among groups in proportion to what they would get by themselves."""
    shares = np.array([plan.size for plan in plans], float)
    bounds = np.round(np.concatenate([[0.0], np.cumsum(shares)]) / shares.sum() * nconmax).astype(int)
    return [_Plan(plan.portions, int(n)) for plan, n in zip(plans, np.diff(bounds), strict=True)]


def _budget(
    static: Static,
    types: tuple[int, int],
    collider: Collider,
    pairs: GeomPairs,
    by_hand: dict[tuple[int, int] | None, int],
) -> int | None:
    """Pairs of a kind that the broad phase keeps; None: all are collided."""
    given = by_hand.get(types, by_hand.get(None))
    if given is not None:
        return given if given < len(pairs) else None
    budget = max(collider.exhaustive // 2, _NEAREST_PER_GEOM * _geoms_to_expect(static, pairs))
    return budget if len(pairs) > max(collider.exhaustive, budget) else None
