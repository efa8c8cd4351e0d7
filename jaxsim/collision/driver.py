"""Geom poses -> contact buffer: broad phase, colliders, selection, parameters."""

from __future__ import annotations

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from jaxsim.collision.frame import make_frame
from jaxsim.collision.parameters import Parameters, pair_parameters
from jaxsim.collision.points import Shape
from jaxsim.collision.select import pick_active
from jaxsim.collision.vec import Frame, Vec
from jaxsim.data import Contact, Data
from jaxsim.enums import GeomType
from jaxsim.math.axis import concat, stack, take
from jaxsim.math.stage import stage
from jaxsim.model import Model
from jaxsim.results import WarningBit
from jaxsim.structure.colliders import Collider
from jaxsim.structure.pairs import Candidates
from jaxsim.structure.slots import Batch, ContactGroup, SlotLayout, slot_layout

__all__ = ["collision"]


class _Found(NamedTuple):
    """Candidate points of a batch or of a group.

    Attributes:
      numbers: distance, point, normal and, if the collider has one, the wish for the first tangent, (n, 7 or 10, W).
      valid: which points there are, (n, W); None: all.
      pair: of which pair of geoms each is, (n,) static or (n, W).
    """

    numbers: Array
    valid: Array | None
    pair: np.ndarray | Array

    @property
    def dist(self) -> Array:
        """Distances (n, W)."""
        return self.numbers[:, 0]


class _Slots(NamedTuple):
    """Filled slots of a group, their parameters, and which of them are detected, (n, W)."""

    found: _Found
    parameters: Parameters
    detected: Array


def collision(model: Model, data: Data) -> Data:
    """Fills `data.contact` and `data.ncon`; native layout.

    Reads geom_xpos, geom_xmat. A slot not in use has geoms -1, a distance above `includemargin` and harmless values
    elsewhere. `efc_address` is left at -1 for the solver. Contacts that find no slot set
    `WarningBit.CONTACT_OVERFLOW`. Discrete choices (features, picked pairs and points) carry no derivative.
    """
    layout = slot_layout(model)
    if layout.count == 0:
        return data.replace(ncon=jnp.zeros_like(data.ncon))
    pairs = layout.pairs
    parameters = pair_parameters(model, pairs)
    reach = parameters.margin + parameters.gap

    overflow = jnp.zeros(1, bool)
    found = []
    for batch in layout.batches:
        points, dropped = _collide(model, data, pairs, batch, reach)
        found.append(points)
        overflow = overflow | dropped
    slots = []
    for group in layout.groups:
        points, group_overflow = _fill(group, found, parameters, reach)
        slots.append(points)
        overflow = overflow | group_overflow
    contact = _contact(layout, slots)
    ncon = sum(jnp.sum(s.detected, axis=0, dtype=data.ncon.dtype) for s in slots)
    warning = data.warning | jnp.where(overflow, int(WarningBit.CONTACT_OVERFLOW), 0).astype(
        data.warning.dtype
    )
    return data.replace(contact=contact, ncon=ncon, warning=warning)


def _collide(model: Model, data: Data, pairs: Candidates, batch: Batch, reach: Array) -> tuple[_Found, Array]:
    """All points of a batch, flattened pair by pair, and whether the broad phase dropped pairs."""
    npoint = batch.collider.points
    if batch.budget is None:
        first, second = (_pose(model, data, geoms[batch.pairs]) for geoms in (pairs.geom1, pairs.geom2))
        near = take(reach, batch.pairs)
        owner: np.ndarray | Array = np.repeat(batch.pairs, npoint)
        picked, dropped = None, jnp.zeros(1, bool)
    else:
        rows, picked, dropped = _broad(model, data, pairs, batch, reach)
        owner = jnp.asarray(batch.pairs, jnp.int32)[rows]
        first, second = (
            _picked_pose(model, data, jnp.asarray(g, jnp.int32)[owner]) for g in (pairs.geom1, pairs.geom2)
        )
        near = _at(reach, owner)
        owner = jnp.repeat(owner, npoint, axis=0)

    numbers, valid = _points(first, second, near, picked, collider=batch.collider)
    return _Found(numbers, valid, owner), dropped


@stage
def _points(
    first: _Pose, second: _Pose, reach: Array, picked: Array | None, *, collider: Collider
) -> tuple[Array, Array | None]:
    """A collider's points, pair by pair: their numbers, and which of them there are."""
    points = collider.function(first.shape(), second.shape(), reach)
    tangent = () if points.tangent is None else points.tangent
    numbers = stack([points.dist, *points.pos, *points.normal, *tangent])
    valid = points.valid
    if picked is not None:
        valid = picked[:, None] if valid is None else valid & picked[:, None]
    if valid is not None:
        valid = jnp.broadcast_to(valid, points.dist.shape).reshape(-1, points.dist.shape[-1])
    return numbers.reshape(-1, *numbers.shape[-2:]), valid


class _Pose(NamedTuple):
    """Geoms of pairs: centres (n, 3, W), axes (n, 3, 3, W) and sizes (n, 3, W)."""

    pos: Array
    mat: Array
    size: Array

    def shape(self) -> Shape:
        """By components."""
        return Shape(Vec.split(self.pos), Frame.split(self.mat), Vec.split(self.size))


def _pose(model: Model, data: Data, geoms: np.ndarray) -> _Pose:
    """Of geoms known at compile."""
    return _Pose(*(take(x, geoms) for x in (data.geom_xpos, data.geom_xmat, model.geom_size)))


def _picked_pose(model: Model, data: Data, geoms: Array) -> _Pose:
    """Of geoms that differ between worlds, (n, W)."""
    table = jnp.concatenate([data.geom_xpos, data.geom_xmat.reshape(len(model.geom_type), 9, -1)], axis=1)
    table = _at(table, geoms)
    mat = table[:, 3:].reshape(len(geoms), 3, 3, -1)
    return _Pose(table[:, :3], mat, _at(model.geom_size, geoms))


def _at(table: Array, rows: Array) -> Array:
    """Rows of a table (n, ..., 1 or W), chosen by world: `rows` (k, W)."""
    if table.shape[-1] == 1:
        return jnp.moveaxis(table[..., 0][rows], 1, -1)
    rows = rows.reshape(rows.shape[0], *[1] * (table.ndim - 2), rows.shape[-1])
    return jnp.take_along_axis(table, rows, axis=0)


def _broad(
    model: Model, data: Data, pairs: Candidates, batch: Batch, reach: Array
) -> tuple[Array, Array, Array]:
    """Pairs whose bounding spheres are in reach, the nearest if they are more than the budget; see `pick_active`."""
    g1, g2 = pairs.geom1[batch.pairs], pairs.geom2[batch.pairs]
    offset = Vec.split(take(data.geom_xpos, g2)) - Vec.split(take(data.geom_xpos, g1))
    radius2 = take(model.geom_rbound, g2)
    if model.geom_type[g1[0]] == GeomType.PLANE:
        apart = offset.dot(Frame.split(take(data.geom_xmat, g1)).z) - radius2
    else:
        apart = jnp.sqrt(lax.stop_gradient(offset.dot(offset))) - take(model.geom_rbound, g1) - radius2
    apart = lax.stop_gradient(apart - take(reach, batch.pairs))
    return pick_active(apart, apart <= 0, slots=batch.budget or 0)


def _fill(
    group: ContactGroup, found: list[_Found], parameters: Parameters, reach: Array
) -> tuple[_Slots, Array]:
    """The slots of a group, and whether contacts found no slot."""
    points = _join([_slice(found[batch], first, last) for batch, first, last in group.sources])
    if group.pair is not None:
        own = parameters.at(group.pair)
        return _Slots(points, own, _detected(points, own)), jnp.zeros(1, bool)

    fixed = isinstance(points.pair, np.ndarray)
    limit, margin = (
        take(a, points.pair) if isinstance(points.pair, np.ndarray) else _at(a, points.pair)
        for a in (reach, parameters.margin)
    )
    active = points.dist <= limit
    if points.valid is not None:
        active = active & points.valid
    rows, filled, overflow = pick_active(points.dist - margin, active, slots=group.count)
    pair = jnp.asarray(points.pair, jnp.int32)
    pair = pair[rows] if fixed else jnp.take_along_axis(pair, rows, axis=0)
    chosen = _Found(jnp.take_along_axis(points.numbers, rows[:, None], axis=0), filled, pair)
    own = parameters.pick(pair)
    return _Slots(chosen, own, _detected(chosen, own)), overflow


def _detected(points: _Found, own: Parameters) -> Array:
    near = points.dist <= own.margin + own.gap
    return near if points.valid is None else near & points.valid


def _slice(points: _Found, first: int, last: int) -> _Found:
    if first == 0 and last == points.numbers.shape[0]:
        return points
    valid = None if points.valid is None else points.valid[first:last]
    return _Found(points.numbers[first:last], valid, points.pair[first:last])


def _join(parts: list[_Found]) -> _Found:
    """Concatenates; what some parts lack is filled in: no wish for a tangent, valid."""
    if len(parts) == 1:
        return parts[0]
    most = max(p.numbers.shape[1] for p in parts)
    numbers = concat([jnp.pad(p.numbers, ((0, 0), (0, most - p.numbers.shape[1]), (0, 0))) for p in parts])
    valid = None
    if any(p.valid is not None for p in parts):
        valid = concat([jnp.ones_like(p.dist, bool) if p.valid is None else p.valid for p in parts])
    owners = [p.pair for p in parts]
    if all(isinstance(o, np.ndarray) for o in owners):
        pair: np.ndarray | Array = np.concatenate([np.asarray(o) for o in owners])
    else:
        pair = concat([jnp.asarray(o[:, None] if o.ndim == 1 else o, jnp.int32) for o in owners])
    return _Found(numbers, valid, pair)


def _contact(layout: SlotLayout, slots: list[_Slots]) -> Contact:
    """The contact buffer from the groups' slots."""
    found = _join([s.found._replace(valid=s.detected) for s in slots])
    own = Parameters(concat([s.parameters.table for s in slots]))
    detected = found.valid
    assert detected is not None
    # a candidate out of reach keeps its distance, one that no collider proposed gets a large one
    far = jnp.maximum(found.dist, own.margin + jnp.abs(own.gap) + 1.0)
    dist = jnp.where(detected, found.dist, far)

    pairs = layout.pairs
    geoms = [concat([_geom(g, s.found.pair) for s in slots]) for g in (pairs.geom1, pairs.geom2)]
    geom = jnp.where(detected[:, None], jnp.stack(geoms, axis=1), -1)
    dims = np.concatenate([np.full(group.count, group.dim) for group in layout.groups])
    return Contact(
        dist=dist,
        pos=found.numbers[:, 1:4],
        frame=_frames(found.numbers),
        includemargin=own.margin,
        friction=own.friction,
        solref=own.solref,
        solreffriction=own.solreffriction,
        solimp=own.solimp,
        dim=jnp.asarray(dims, geom.dtype)[:, None],
        geom=geom,
        efc_address=jnp.full_like(geom[:, 0], -1),
    )


@stage
def _frames(numbers: Array) -> Array:
    return make_frame(numbers[:, 4:7], numbers[:, 7:] if numbers.shape[1] > 7 else None)


def _geom(geoms: np.ndarray, pair: np.ndarray | Array) -> Array:
    """The geom of each slot, (n, 1 or W)."""
    if isinstance(pair, np.ndarray):
        return jnp.asarray(geoms[pair][:, None], int)
    return jnp.asarray(geoms, int)[pair]
