"""Geom poses -> contact buffer: broad phase, colliders, selection, parameters."""

from __future__ import annotations

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from jaxsim.collision.candidates import Candidates
from jaxsim.collision.frame import contact_frame
from jaxsim.collision.parameters import Parameters, pair_parameters, take
from jaxsim.collision.points import Shape
from jaxsim.collision.select import pick_active
from jaxsim.collision.slots import Batch, ContactGroup, SlotLayout, slot_layout
from jaxsim.collision.vec import Frame, Vec
from jaxsim.data import Contact, Data
from jaxsim.enums import GeomType
from jaxsim.math.stage import stage
from jaxsim.model import Model
from jaxsim.results import Warning

__all__ = ["collision"]


class _Found(NamedTuple):
    """Candidate points of a batch or of a group: components (n, W); `pair` (n,) static or (n, W)."""

    dist: Array
    pos: Vec
    normal: Vec
    tangent: Vec | None
    valid: Array | None
    pair: np.ndarray | Array


class _Slots(NamedTuple):
    """Filled slots of a group: components (n, W), `pair` as in `_Found`."""

    found: _Found
    parameters: Parameters
    detected: Array


def collision(model: Model, data: Data) -> Data:
    """Fills `data.contact` and `data.ncon`; native layout.

    Reads geom_xpos, geom_xmat. A slot not in use has geoms -1, a distance above `includemargin` and harmless values
    elsewhere. `efc_address` is left at -1 for the solver. Contacts that find no slot set
    `Warning.CONTACT_OVERFLOW`. Discrete choices (features, picked pairs and points) carry no derivative.
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
    warning = data.warning | jnp.where(overflow, int(Warning.CONTACT_OVERFLOW), 0).astype(data.warning.dtype)
    return data.replace(contact=contact, ncon=ncon, warning=warning)


def _collide(model: Model, data: Data, pairs: Candidates, batch: Batch, reach: Array) -> tuple[_Found, Array]:
    """All points of a batch, flattened pair by pair, and whether the broad phase dropped pairs."""
    npoint = batch.collider.points
    if batch.budget is None:
        first, second = (_shape(model, data, geoms[batch.pairs]) for geoms in (pairs.geom1, pairs.geom2))
        points = batch.collider.function(first, second, take(reach, batch.pairs))
        owner: np.ndarray | Array = np.repeat(batch.pairs, npoint)
        picked, dropped = None, jnp.zeros(1, bool)
    else:
        rows, picked, dropped = _broad(model, data, pairs, batch, reach)
        owner = jnp.asarray(batch.pairs, jnp.int32)[rows]
        first, second = (
            _picked_shape(model, data, jnp.asarray(g, jnp.int32)[owner]) for g in (pairs.geom1, pairs.geom2)
        )
        points = batch.collider.function(first, second, _at(reach, owner))
        owner = jnp.repeat(owner, npoint, axis=0)

    width = points.dist.shape[-1]

    def flat(a: Array) -> Array:
        return jnp.broadcast_to(a, (*a.shape[:-2], npoint, width)).reshape(-1, width)

    def flat_vec(v: Vec) -> Vec:
        return Vec(*map(flat, v))

    valid = points.valid
    if picked is not None:
        valid = picked[:, None] if valid is None else valid & picked[:, None]
    return _Found(
        flat(points.dist),
        flat_vec(points.pos),
        flat_vec(points.normal),
        None if points.tangent is None else flat_vec(points.tangent),
        None if valid is None else flat(valid),
        owner,
    ), dropped


def _shape(model: Model, data: Data, geoms: np.ndarray) -> Shape:
    """Poses and sizes of geoms known at compile."""
    return Shape(
        Vec.split(take(data.geom_xpos, geoms)),
        Frame.split(take(data.geom_xmat, geoms)),
        Vec.split(take(model.geom_size, geoms)),
    )


def _picked_shape(model: Model, data: Data, geoms: Array) -> Shape:
    """Poses and sizes of geoms that differ between worlds, (n, W)."""
    pose = jnp.concatenate([data.geom_xpos, data.geom_xmat.reshape(len(model.geom_type), 9, -1)], axis=1)
    pose = _at(pose, geoms)
    size = _at(model.geom_size, geoms)
    return Shape(
        Vec.split(pose[:, :3]), Frame.split(pose[:, 3:].reshape(len(geoms), 3, 3, -1)), Vec.split(size)
    )


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
    dist, pos, normal, tangent = _gather(points.dist, points.pos, points.normal, points.tangent, rows)
    chosen = _Found(dist, pos, normal, tangent, filled, pair)
    own = _own_parameters(parameters, pair)
    return _Slots(chosen, own, _detected(chosen, own)), overflow


@stage
def _gather(
    dist: Array, pos: Vec, normal: Vec, tangent: Vec | None, rows: Array
) -> tuple[Array, Vec, Vec, Vec | None]:
    """The picked rows of points, one gather for all their numbers."""
    parts = [dist, *pos, *normal, *(() if tangent is None else tangent)]
    table = jnp.stack(jnp.broadcast_arrays(*parts), axis=1)
    picked = jnp.take_along_axis(table, rows[:, None], axis=0)
    dist, *rest = (picked[:, k] for k in range(len(parts)))
    return dist, Vec(*rest[:3]), Vec(*rest[3:6]), None if tangent is None else Vec(*rest[6:9])


@stage
def _own_parameters(parameters: Parameters, pair: Array) -> Parameters:
    return parameters.pick(pair)


def _detected(points: _Found, own: Parameters) -> Array:
    near = points.dist <= own.margin + own.gap
    return near if points.valid is None else near & points.valid


def _slice(points: _Found, first: int, last: int) -> _Found:
    if first == 0 and last == points.dist.shape[0]:
        return points

    def cut(v: Vec | None) -> Vec | None:
        return None if v is None else Vec(*(a[first:last] for a in v))

    valid = None if points.valid is None else points.valid[first:last]
    pos, normal = cut(points.pos), cut(points.normal)
    assert pos is not None
    assert normal is not None
    return _Found(points.dist[first:last], pos, normal, cut(points.tangent), valid, points.pair[first:last])


def _join(parts: list[_Found]) -> _Found:
    """Concatenates; what some parts lack is filled in: no wish for a tangent, valid."""
    if len(parts) == 1:
        return parts[0]
    width = max(p.dist.shape[-1] for p in parts)

    def rows(arrays: list[Array]) -> Array:
        return jnp.concatenate([jnp.broadcast_to(a, (*a.shape[:-1], width)) for a in arrays])

    def vecs(vectors: list[Vec]) -> Vec:
        return Vec(*(rows(list(c)) for c in zip(*vectors, strict=True)))

    tangent = valid = None
    if any(p.tangent is not None for p in parts):
        nothing = [Vec(*[jnp.zeros_like(p.dist)] * 3) for p in parts]
        tangent = vecs([z if p.tangent is None else p.tangent for p, z in zip(parts, nothing, strict=True)])
    if any(p.valid is not None for p in parts):
        valid = rows([jnp.ones_like(p.dist, bool) if p.valid is None else p.valid for p in parts])
    owners = [p.pair for p in parts]
    if all(isinstance(o, np.ndarray) for o in owners):
        pair: np.ndarray | Array = np.concatenate([np.asarray(o) for o in owners])
    else:
        pair = rows([jnp.asarray(o[:, None] if o.ndim == 1 else o, jnp.int32) for o in owners])
    return _Found(
        rows([p.dist for p in parts]),
        vecs([p.pos for p in parts]),
        vecs([p.normal for p in parts]),
        tangent,
        valid,
        pair,
    )


def _contact(layout: SlotLayout, slots: list[_Slots]) -> Contact:
    """The contact buffer from the groups' slots."""
    found = _join([s.found._replace(valid=s.detected) for s in slots])
    own = slots[0].parameters
    if len(slots) > 1:
        fields = zip(*(s.parameters for s in slots), strict=True)
        own = Parameters(*(_concatenate(list(arrays)) for arrays in fields))
    detected = found.valid
    assert detected is not None
    # a candidate out of reach keeps its distance, one that no collider proposed gets a large one
    far = jnp.maximum(found.dist, own.margin + jnp.abs(own.gap) + 1.0)
    dist = jnp.where(detected, found.dist, far)
    normal, first, second = contact_frame(found.normal, found.tangent)

    pairs = layout.pairs
    geoms = [_concatenate([_geom(g, s.found.pair) for s in slots]) for g in (pairs.geom1, pairs.geom2)]
    geom = jnp.where(detected[:, None], jnp.stack(geoms, axis=1), -1)
    dims = np.concatenate([np.full(group.count, group.dim) for group in layout.groups])
    return Contact(
        dist=dist,
        pos=found.pos.stack(),
        frame=jnp.stack([normal.stack(), first.stack(), second.stack()], axis=1),
        includemargin=own.margin,
        friction=own.friction,
        solref=own.solref,
        solreffriction=own.solreffriction,
        solimp=own.solimp,
        dim=jnp.asarray(dims, geom.dtype)[:, None],
        geom=geom,
        efc_address=jnp.full_like(geom[:, 0], -1),
    )


def _geom(geoms: np.ndarray, pair: np.ndarray | Array) -> Array:
    """The geom of each slot, (n, 1 or W)."""
    if isinstance(pair, np.ndarray):
        return jnp.asarray(geoms[pair][:, None], int)
    return jnp.asarray(geoms, int)[pair]


def _concatenate(arrays: list[Array]) -> Array:
    width = max(a.shape[-1] for a in arrays)
    return jnp.concatenate([jnp.broadcast_to(a, (*a.shape[:-1], width)) for a in arrays])
