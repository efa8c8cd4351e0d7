"""Geom poses -> contact buffer: pairs by kind, broad phase, collider, slots, `Contact`. Native layout."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxsim.collision.broad import bounds, pairs_in_reach
from jaxsim.collision.frame import make_frame
from jaxsim.collision.geoms import Geoms, tabulate
from jaxsim.collision.parameters import contact_parameters, geom_reach, named_reach
from jaxsim.collision.points import Points, Search
from jaxsim.collision.select import pick_least
from jaxsim.data import Contact, Data
from jaxsim.enums import DisableBit
from jaxsim.math.axis import concat, stack
from jaxsim.math.gather import Index, by_world, entries, joined, rows_by_world
from jaxsim.math.stage import stage
from jaxsim.model import Model
from jaxsim.results import WarningBit
from jaxsim.structure.colliders import Collider
from jaxsim.structure.slots import ContactGroup, Kind, SlotLayout, slot_layout

__all__ = ["collision"]

_FAR = 1e10
"""Distance of a slot that holds no point, m."""


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
    carry no derivative.
    """
    layout = slot_layout(model)
    if layout.count == 0:
        return data.replace(ncon=jnp.zeros_like(data.ncon))
    reach = geom_reach(model)
    geoms = tabulate(model, data, reach)
    around = bounds(model, data, reach) if any(kind.budget is not None for kind in layout.kinds) else None
    warning = data.warning
    found = []
    for kind in layout.kinds:
        points, dropped = _collide(model, data, kind, geoms, around)
        found.append(points)
        warning = warning | jnp.where(dropped, int(WarningBit.PAIR_OVERFLOW), 0).astype(warning.dtype)
    slots = []
    for group in layout.groups:
        contact, dropped = _fill(model, layout, group, found)
        slots.append(contact)
        warning = warning | jnp.where(dropped, int(WarningBit.CONTACT_OVERFLOW), 0).astype(warning.dtype)
    contact = Contact(**{name: concat([s[name] for s in slots]) for name in slots[0]})
    ncon = jnp.sum(contact.geom[:, 0] >= 0, axis=0, dtype=data.ncon.dtype)
    return data.replace(contact=contact, ncon=ncon, warning=warning)


def _collide(
    model: Model, data: Data, kind: Kind, geoms: Geoms, around: Array | None
) -> tuple[_Found, Array]:
    """All candidate points of a kind, and whether the broad phase dropped pairs; `around` are the geoms' bounds."""
    pairs = kind.pairs
    geom1, geom2, explicit, pair = (pairs.geom1, pairs.geom2, pairs.explicit, kind.rows)
    picked, dropped = None, jnp.zeros(1, bool)
    if around is not None and kind.budget is not None:
        rows, picked, dropped = pairs_in_reach(model, data, kind, around)
        geom1, geom2, explicit, pair = (entries(x, rows) for x in (geom1, geom2, explicit, pair))
    numbers, excess, parts_dropped = _points(
        geoms.at(joined([geom1, geom2])),
        named_reach(model, explicit),
        picked,
        kind.collider.assets and kind.collider.assets(model),
        (model.opt.ccd_iterations, model.opt.ccd_tolerance),
        collider=kind.collider,
        multi=not model.opt.disableflags & DisableBit.MULTICCD,
    )
    points = kind.collider.points
    owner = np.repeat(pair, points) if isinstance(pair, np.ndarray) else jnp.repeat(pair, points, axis=0)
    return _Found(numbers, excess, owner), dropped | parts_dropped


@stage
def _points(
    both: Geoms,
    named: tuple[Array, Array] | None,
    picked: Array | None,
    assets: Any,
    search: tuple[Array, Array],
    *,
    collider: Collider,
    multi: bool,
) -> tuple[Array, Array, Array]:
    """A collider's points, pair by pair: their numbers and excess, see `_Found`, and where parts were dropped (W,).

    Args:
      both: first geoms of the pairs, then second ones.
      named: which pairs are named and their distance of detection, m, see `named_reach`.
      picked: which pairs there are, (npair, W); None: all.
      assets: the collider's table of meshes or height fields.
      search: most rounds of an iterative collider, and its tolerance, m.
      collider: collides them.
      multi: whether an iterative collider looks for several points.
    """
    n = len(both.pose) // 2
    reach = both.size[:n, 3] + both.size[n:, 3]
    if named is not None:
        reach = jnp.where(named[0], named[1], reach)
    shapes = both.shape(0, n, assets), both.shape(n, 2 * n, assets)
    if collider.iterative:
        active = jnp.ones_like(reach, bool) if picked is None else picked
        points: Points = collider.function(*shapes, reach, Search(active, *search), multi=multi)
    else:
        points = collider.function(*shapes, reach)
    tangent = () if points.tangent is None else points.tangent
    numbers = stack([points.dist, *points.pos, *points.normal, *tangent])
    excess = points.dist - reach[:, None]
    for valid in (points.valid, None if picked is None else picked[:, None]):
        if valid is not None:
            excess = jnp.where(valid, excess, jnp.inf)
    dropped = jnp.zeros(1, bool) if points.dropped is None else jnp.any(points.dropped, axis=0)
    return numbers.reshape(-1, *numbers.shape[-2:]), excess.reshape(-1, excess.shape[-1]), dropped


def _fill(
    model: Model, layout: SlotLayout, group: ContactGroup, found: list[_Found]
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
        rows, filled, dropped = pick_least(points.excess, slots=group.count)
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
    geom = jnp.where(used[:, None], jnp.stack(geoms, axis=1), -1)
    # what is not detected makes no force, even if margin and gap are negative
    away = jnp.where(jnp.isinf(excess), _FAR, jnp.maximum(numbers[:, 0], margin + 1.0))
    return {
        "dist": jnp.where(used, numbers[:, 0], away),
        "pos": numbers[:, 1:4],
        "frame": make_frame(numbers[:, 4:7], numbers[:, 7:] if numbers.shape[1] > 7 else None),
        "geom": geom,
        "efc_address": jnp.full_like(geom[:, 0], -1),
    }
