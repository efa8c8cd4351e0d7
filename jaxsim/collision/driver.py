"""Geom poses -> contact buffer: pairs by kind, broad phase, collider, slots, `Contact`. Native layout."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from jaxsim import worlds
from jaxsim.collision.bounds import geom_bounds
from jaxsim.collision.broad import bounds, boxes_in_reach, in_reach, pairs_in_reach
from jaxsim.collision.convex import collide_nearest
from jaxsim.collision.frame import make_frame
from jaxsim.collision.geoms import Geoms, tabulate
from jaxsim.collision.parameters import contact_parameters, geom_reach, named_reach
from jaxsim.collision.points import Points, Portion, Search, Shape
from jaxsim.collision.select import pick_least
from jaxsim.data import Contact, Data
from jaxsim.math.asked import computes_apart, derived_of_few, derived_where_asked
from jaxsim.math.axis import concat, split, stack
from jaxsim.math.choices import Choices
from jaxsim.math.gather import Index, by_world, entries, joined, rows_by_world, rows_of, width_of
from jaxsim.math.stage import long_stage, platform, stage
from jaxsim.model import Model
from jaxsim.results import WarningBit
from jaxsim.structure.colliders import Collider
from jaxsim.structure.slots import ContactGroup, Kind, SlotLayout, slot_layout

__all__ = ["collision"]

_FAR = 1e10
"""Distance of a slot that holds no point, m."""

_COSTLY = 64
"""Pairs that a collider computes without a broad phase: one of no more takes longer than to look at boxes."""
_SEVERAL = 4
"""Pairs of it from which on that is worth it."""

_PARTS = (1, 3, 3, 3)
"""How many numbers of a point are its distance, position and normal, and the wish for a tangent, if there is one."""


class _Found(NamedTuple):
    """Candidate points of a kind, those of a pair next to each other.

    Attributes:
      numbers: distance, point, normal and, if the collider has one, the wish for the first tangent, (n, 7 or 10, W).
      excess: distance beyond that of detection, m, infinite where the collider proposes no point, (n, W).
      pair: which pair of the layout each is of, (n,) or (n, W).
    """

    numbers: Array
    excess: Array
    pair: Index


def collision(model: Model, data: Data) -> Data:
    """Fills `data.contact` and `data.ncon`.

    Reads geom_xpos, geom_xmat. A slot not in use has geoms -1, a distance above `includemargin` and harmless values
    elsewhere. `efc_address` is left at -1 for the solver. Pairs and contacts that find no place set
    `WarningBit.PAIR_OVERFLOW` and `WarningBit.CONTACT_OVERFLOW`. Discrete choices (features, picked pairs and points)
    carry no derivative; those that `data.work.choices` tells of are not made again.
    """
    layout, choices = slot_layout(model), Choices(None if data.work is None else data.work.choices)
    if layout.count == 0:
        return data.replace(ncon=jnp.zeros_like(data.ncon))
    reach = geom_reach(model)
    geoms = tabulate(model, data, reach)
    bounded = any(_bounded(kind) for kind in layout.kinds)
    if bounded or any(kind.collider.general for kind in layout.kinds):
        model = model.replace(**lax.stop_gradient(geom_bounds(model)))
    around = bounds(model, data, reach) if bounded else None
    found, dropped = _collide(model, data, layout.kinds, geoms, around, choices)
    warning = data.warning | jnp.where(dropped, int(WarningBit.PAIR_OVERFLOW), 0).astype(data.warning.dtype)
    slots = []
    for group in layout.groups:
        contact, dropped = _fill(model, layout, group, found, choices)
        slots.append(contact)
        warning = warning | jnp.where(dropped, int(WarningBit.CONTACT_OVERFLOW), 0).astype(warning.dtype)
    contact = Contact(**{name: concat([s[name] for s in slots]) for name in slots[0]})
    ncon = jnp.sum(contact.geom[:, 0] >= 0, axis=0, dtype=data.ncon.dtype)
    if choices.kept and data.work is not None:
        data = data.replace(work=data.work.replace(choices=choices.result))
    return data.replace(contact=contact, ncon=ncon, warning=warning)


def _collide(
    model: Model, data: Data, kinds: Sequence[Kind], geoms: Geoms, around: Array | None, choices: Choices
) -> tuple[list[_Found], Array]:
    """All candidate points of each kind, and where pairs were dropped; `around` are the geoms' bounds."""
    made = {kind.collider.assets for kind in kinds}
    assets = {make: make(model) if make else None for make in made}
    search = (model.opt.ccd_iterations, model.opt.ccd_tolerance)
    found: dict[int, _Found] = {}
    dropped = jnp.zeros(1, bool)
    alone = [[k] for k, kind in enumerate(kinds) if not _together(kind)]
    for group in [*alone, [k for k, kind in enumerate(kinds) if _together(kind)]]:
        if not group:
            continue
        own = [kinds[k] for k in group]
        candidates = [_candidates(model, data, kind, around, choices) for kind in own]
        geom1, geom2, explicit = (
            joined([getattr(c, n) for c in candidates]) for n in ("geom1", "geom2", "explicit")
        )
        sides, named, picked = geoms.pairs(geom1, geom2), named_reach(model, explicit), None
        reach = _detection(sides[0].size, sides[1].size, named)
        if any(c.picked is not None for c in candidates):
            picked = concat([_some(c) for c in candidates])
        if own[0].collider.general:
            boxes = [rows_of(model.geom_aabb, rows) for rows in (geom1, geom2)]
            met = choices.of(boxes_in_reach, [side.pose for side in sides], boxes, reach)
            picked = met if picked is None else picked & met
        portions = [_portions(model, kind, c) for kind, c in zip(own, candidates, strict=True)]
        points, chosen = _points(
            sides,
            reach,
            picked,
            next((assets[k.collider.assets] for k in own if k.collider.assets), None),
            search,
            choices.within(),
            collider=own[0].collider,
            portions=tuple(itertools.chain(*portions)),
            touching=own[0].touching,
        )
        choices.put(chosen)
        for k, candidate, (numbers, excess, rows, more) in zip(group, candidates, points, strict=True):
            pair, many = candidate.pair, kinds[k].collider.points
            pair = pair if rows is None else rows_by_world(by_world(pair), rows)
            owner = np.repeat(pair, many) if isinstance(pair, np.ndarray) else jnp.repeat(pair, many, axis=0)
            found[k] = _Found(numbers, excess, owner)
            dropped = dropped | candidate.dropped | more
    return [found[k] for k in range(len(kinds))], dropped


def _bounded(kind: Kind) -> bool:
    """Whether boxes tell which pairs of a kind may touch: always where they are cheaper than the pairs' points."""
    own = kind.collider
    if kind.budget is not None or own.general:
        return True
    closed = own.assets is None and not own.iterative
    return platform() == "cpu" and closed and own.exhaustive <= _COSTLY and len(kind.pairs) >= _SEVERAL


def _together(kind: Kind) -> bool:
    """Whether a kind is collided with others."""
    return kind.collider.general and kind.touching is None


def _portions(model: Model, kind: Kind, candidates: _Candidates) -> list[Portion]:
    """The types of the candidates in turn, or all that there may be."""
    n, points = len(candidates.pair), kind.collider.points
    if not isinstance(candidates.geom1, np.ndarray) or len(kind.types) == 1:
        first, second = (tuple(sorted({pair[k] for pair in kind.types})) for k in range(2))
        return [Portion((first, second), n, points)]
    types = [model.geom_type[g].tolist() for g in (kind.pairs.geom1, kind.pairs.geom2)]
    runs = itertools.groupby(zip(*types, strict=True))
    return [Portion(((a,), (b,)), len(list(run)), points) for (a, b), run in runs]


class _Candidates(NamedTuple):
    """The pairs of a kind that are collided.

    Attributes:
      geom1: first geoms, (npair,) or (npair, W).
      geom2: second geoms.
      explicit: which named pairs they are, -1: none.
      pair: which pairs of the layout.
      picked: which of them there are, (npair, W); None: all.
      dropped: where the broad phase dropped pairs, (W,).
    """

    geom1: Index
    geom2: Index
    explicit: Index
    pair: Index
    picked: Array | None
    dropped: Array


def _candidates(model: Model, data: Data, kind: Kind, around: Array | None, choices: Choices) -> _Candidates:
    """All pairs of a kind, or those in reach; of the general collider's, which it asks. `around`: the geoms' bounds."""
    pairs = kind.pairs
    constant = (pairs.geom1, pairs.geom2, pairs.explicit, kind.rows)

    def chosen() -> tuple[Array | None, Array | None, Array]:
        none = jnp.zeros(1, bool)
        if around is None or not _bounded(kind):
            return None, None, none
        if kind.budget is None:
            return None, in_reach(model, data, kind, around), none
        return pairs_in_reach(model, data, kind, around)

    rows, picked, dropped = choices.of(chosen)
    geom1, geom2, explicit, pair = constant if rows is None else (entries(x, rows) for x in constant)
    found = _Candidates(geom1, geom2, explicit, pair, picked, dropped)
    if model.hooks.contact_filter is None:
        return found
    removed = choices.of(_removed, model, data, found)
    return found._replace(picked=_some(found) & ~removed)


def _removed(model: Model, data: Data, candidates: _Candidates) -> Array:
    """Which pairs a filter of the user's removes, (npair, W).

    Raises:
      ValueError: the filter gives something else than a flag.
    """
    remove = model.hooks.contact_filter
    assert remove is not None

    def each_pair(model: Model, data: Data, geom1: Array, geom2: Array) -> Array:
        return jnp.asarray(jax.vmap(remove, (None, None, 0, 0))(model, data, geom1, geom2))

    geoms = (by_world(g).astype(int) for g in (candidates.geom1, candidates.geom2))
    removed = worlds.in_each(each_pair, "hook contact_filter")(model, data.replace(work=None), *geoms)
    if removed.dtype != bool or removed.ndim != 2:
        raise ValueError(
            f"hook contact_filter: its function gives {removed.dtype} of shape {removed.shape[1:-1]}, not one bool"
        )
    return removed


def _some(candidates: _Candidates) -> Array:
    """Which pairs there are, (npair, 1 or W)."""
    return jnp.ones((len(candidates.pair), 1), bool) if candidates.picked is None else candidates.picked


@stage
def _detection(size1: Array, size2: Array, named: tuple[Array, Array] | None) -> Array:
    """Distance at which contacts of pairs are detected, m (npair, 1 or W), from the `size` of `Geoms`.

    `named`: see `named_reach`.
    """
    reach = size1[:, 3] + size2[:, 3]
    return reach if named is None else jnp.where(named[0], named[1], reach)


@long_stage
def _points(
    sides: tuple[Geoms, Geoms],
    reach: Array,
    picked: Array | None,
    assets: Any,
    search: tuple[Array, Array],
    known: Sequence[Any] | None,
    *,
    collider: Collider,
    portions: tuple[Portion, ...],
    touching: int | None,
) -> tuple[list[tuple[Array, Array, Array | None, Array]], tuple[Any, ...] | None]:
    """Of each portion numbers and excess of its points, see `_Found`; and the collider's choices.

    Then which pairs they are of (k, W), None: all; and where pairs or parts of them were dropped (W,).

    Args:
      sides: geoms 1 of the pairs, and geoms 2.
      reach: distance at which contacts of the pairs are detected, m (npair, 1 or W).
      picked: which pairs there are, (npair, W); None: all.
      assets: the collider's table of meshes or height fields.
      search: most rounds of an iterative collider, and its tolerance, m.
      known: the collider's choices, see `Choices`.
      collider: collides them.
      portions: one kind of pairs, or all of the general collider's.
      touching: pairs whose points are computed; None: all.
    """
    first, second = sides
    shapes = first.shape(assets), second.shape(assets)
    options, choices = (
        Search(jnp.ones_like(reach, bool) if picked is None else picked, *search),
        Choices(known),
    )
    if touching is not None:
        few, rows = collide_nearest(portions, *shapes, reach, options, choices, slots=touching)
        return [_numbered(few, rows_by_world(reach, rows), None, rows)], choices.result
    if collider.general:
        points: list[Points] = collider.function(portions, *shapes, reach, options, choices)
    elif collider.iterative:
        points = [collider.function(*shapes, reach, options, choices)]
    elif picked is not None and _apart(picked, shapes):
        points = [_of_picked(collider.function, *shapes, reach, picked)]
    else:
        points = [_of_all(collider.function, *shapes, reach)]
    sizes = [p.size for p in portions]
    some = [None] * len(sizes) if picked is None else lax.split(picked, sizes)
    return [_numbered(*own) for own in zip(points, split(reach, sizes), some, strict=True)], choices.result


def _of_all(
    function: Callable[[Shape, Shape, Array], Points], one: Shape, other: Shape, reach: Array
) -> Points:
    """The points of all pairs, with derivatives of those in reach alone."""

    def points(pairs: tuple[Shape, Shape, Array], assets: tuple[Any, Any]) -> Points:
        one, other, reach = pairs
        return function(one._replace(assets=assets[0]), other._replace(assets=assets[1]), reach)

    def near(found: Points, pairs: tuple[Shape, Shape, Array]) -> Array:
        close = found.dist < pairs[2][:, None]
        return jnp.any(close if found.valid is None else close & found.valid, axis=1)

    pairs = (one._replace(assets=None), other._replace(assets=None), reach)
    return derived_of_few(points, near, pairs, (one.assets, other.assets))


def _apart(picked: Array, shapes: tuple[Shape, Shape]) -> bool:
    """Whether the pairs that a broad phase left are computed apart from the others: on a CPU, in many worlds."""
    assets = [shape.assets for shape in shapes]
    width = picked.shape[-1]
    return platform() == "cpu" and width > 1 and width_of(assets) == 1 and computes_apart(picked, False)


def _of_picked(
    function: Callable[[Shape, Shape, Array], Points], one: Shape, other: Shape, reach: Array, picked: Array
) -> Points:
    """The points of the picked pairs; of others anything finite, with a normal along x."""

    def points(_: Array, pairs: tuple[Shape, Shape, Array], assets: tuple[Any, Any]) -> Points:
        one, other, reach = pairs
        return function(one._replace(assets=assets[0]), other._replace(assets=assets[1]), reach)

    pairs = (one._replace(assets=None), other._replace(assets=None), reach)
    found = derived_where_asked(points, picked, pairs, (one.assets, other.assets))
    normal = found.normal._replace(x=jnp.where(picked[:, None], found.normal.x, 1))
    return found._replace(normal=normal)


def _numbered(
    points: Points, reach: Array, picked: Array | None, rows: Array | None = None
) -> tuple[Array, Array, Array | None, Array]:
    """Points pair by pair."""
    tangent = () if points.tangent is None else points.tangent
    numbers = stack([points.dist, *points.pos, *points.normal, *tangent])
    excess = points.dist - reach[:, None]
    for valid in (points.valid, None if picked is None else picked[:, None]):
        if valid is not None:
            excess = jnp.where(valid, excess, jnp.inf)
    dropped = jnp.zeros(1, bool) if points.dropped is None else jnp.any(points.dropped, axis=0)
    return numbers.reshape(-1, *numbers.shape[-2:]), excess.reshape(-1, excess.shape[-1]), rows, dropped


def _fill(
    model: Model, layout: SlotLayout, group: ContactGroup, found: list[_Found], choices: Choices
) -> tuple[dict[str, Array], Array]:
    """Fields of the contacts in the slots of a group, and whether contacts found no slot."""
    parts = []
    for source in group.sources:
        points = found[source.kind]
        if source.stop - source.start < len(points.numbers):
            start, stop = source.start, source.stop
            points = _Found(points.numbers[start:stop], points.excess[start:stop], points.pair[start:stop])
        if source.mixed:
            own = by_world(entries(layout.pairs.dim, points.pair) == group.dim)
            points = points._replace(excess=jnp.where(own, points.excess, jnp.inf))
        parts.append(points)
    points, dropped = _join(parts), jnp.zeros(1, bool)
    if group.selected:
        rows, filled, dropped = choices.of(pick_least, points.excess, slots=group.count)
        pair = rows_by_world(by_world(points.pair), rows)
        points = _Found(rows_by_world(points.numbers, rows), jnp.where(filled, -1.0, jnp.inf), pair)
    pairs = layout.pairs
    geom1, geom2, explicit = (entries(x, points.pair) for x in (pairs.geom1, pairs.geom2, pairs.explicit))
    contact = contact_parameters(model, geom1, geom2, explicit)
    geoms = [by_world(g).astype(int) for g in (geom1, geom2)]
    contact |= _placed(points.numbers, points.excess, contact["includemargin"], geoms)
    contact["dim"] = jnp.full((group.count, 1), group.dim, geoms[0].dtype)
    if model.has("geom_adhesion") or model.has("pair_adhesion"):
        contact |= _adhering(contact)
    return contact, dropped


def _join(parts: list[_Found]) -> _Found:
    """Concatenates; a wish for a tangent that some parts lack is zero."""
    if len(parts) == 1:
        return parts[0]
    most = max(p.numbers.shape[1] for p in parts)
    numbers = concat([jnp.pad(p.numbers, ((0, 0), (0, most - p.numbers.shape[1]), (0, 0))) for p in parts])
    return _Found(numbers, concat([p.excess for p in parts]), joined([p.pair for p in parts]))


@stage
def _adhering(contact: dict[str, Array]) -> dict[str, Array]:
    """Adhesion where there is a contact; one whose surfaces do not touch has no friction."""
    adhesion = jnp.where(contact["geom"][:, 0] >= 0, contact["adhesion"], 0)
    tether = (adhesion != 0) & (contact["dist"] >= contact["includemargin"])
    return {"adhesion": adhesion, "dim": jnp.where(tether, 1, contact["dim"])}


@stage
def _placed(numbers: Array, excess: Array, margin: Array, geoms: list[Array]) -> dict[str, Array]:
    """Fields of contacts that follow from points; a point beyond detection keeps its distance."""
    used = excess <= 0
    dist, pos, normal, *tangent = split(numbers, _PARTS[: numbers.shape[1] // 3 + 1], axis=1)
    dist = dist[:, 0]
    geom = jnp.where(used[:, None], jnp.stack(geoms, axis=1), -1)
    # what is not detected makes no force, even if margin and gap are negative
    away = jnp.where(jnp.isinf(excess), _FAR, jnp.maximum(dist, margin + 1.0))
    return {
        "dist": jnp.where(used, dist, away),
        "pos": pos,
        "frame": make_frame(normal, *tangent),
        "geom": geom,
        "efc_address": jnp.full_like(geom[:, 0], -1),
    }
