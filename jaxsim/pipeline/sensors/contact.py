"""Contact sensors: which contacts are a sensor's, which of them it reports, and what it says of each.

Sensors that report the same are computed together: their slots (n, k) are looked at in every world, and of the
matching ones the first by the sensor's criterion are picked. A slot's force and velocity are in the contact frame,
turned by half a turn about its last axis where the normal points against the sensor's order of objects.
"""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from jaxsim.data import Data
from jaxsim.enums import GeomType, ObjType, SensorType
from jaxsim.math import safe
from jaxsim.math.axis import concat, split, stitch, take
from jaxsim.math.constants import MINVAL
from jaxsim.math.spatial import shift_motion
from jaxsim.math.vector import cross, matvec, matvec_transposed
from jaxsim.model import Model
from jaxsim.pipeline.reaction import contact_force
from jaxsim.pipeline.sensors.common import Compute, flat
from jaxsim.pipeline.sensors.region import contains
from jaxsim.structure.contact_match import Matches, matches
from jaxsim.structure.contact_order import pair_table
from jaxsim.structure.sensors import CONTACT_DATA, Reduce
from jaxsim.structure.slots import slot_layout

__all__ = ["SENSORS"]

_FEW = 4
"""Contacts up to which the first are found one by one, else by sorting."""

_TURNED = {
    "force": (1, 1, -1),
    "torque": (1, 1, -1),
    "dist": (1,),
    "pos": (1, 1, 1),
    "normal": (-1, -1, -1),
    "tangent": (-1, -1, -1),
    "linvel": (1, 1, -1),
    "angvel": (1, 1, -1),
}
"""Factors of a contact's data where its normal is to point the other way."""


def _words(spec: int) -> tuple[str, ...]:
    return tuple(word for bit, word in enumerate(CONTACT_DATA) if spec >> bit & 1)


def _contact(m: Model, d: Data, i: np.ndarray) -> Array:
    """Outputs of contact sensors, one contact after the other, each with the sensor's data."""
    in_site = m.sensor_objtype[i] == ObjType.SITE
    kinds = np.where(in_site, m.site_type[np.where(in_site, m.sensor_objid[i], 0)] if m.nsite else 0, -1)
    keys = np.column_stack([m.sensor_intprm[i], m.sensor_dim[i], kinds])
    parts, rows = [], []
    start = np.concatenate([[0], np.cumsum(m.sensor_dim[i])])
    for key in np.unique(keys, axis=0):
        alike = np.flatnonzero((keys == key).all(axis=1))
        words, kind = _words(int(key[0])), int(key[4])
        count = int(key[3]) // sum(CONTACT_DATA[word] for word in words)
        parts.append(_alike(m, d, i[alike], words, Reduce(key[1]), count, kind))
        rows += [np.arange(start[n], start[n + 1]) for n in alike]
    return stitch(parts, rows)


def _alike(
    m: Model, d: Data, i: np.ndarray, words: tuple[str, ...], reduce: Reduce, count: int, kind: int
) -> Array:
    """Outputs (n count size, W) of sensors (n,) with the same data, reduction, number and type of site."""
    found = matches(m, i)
    sign, rank = _signs(m, d, found)
    matched = sign != 0
    if kind >= 0:
        matched = matched & _in_site(m, d, found.slots, m.sensor_objid[i], kind)
    number = jnp.sum(matched, axis=1, dtype=d.qpos.dtype) if found.slots.size else jnp.zeros((len(i), 1))
    if reduce == Reduce.NETFORCE:
        return flat(_net(m, d, found.slots, jnp.where(matched, sign, 0), number, words, count))
    if not found.slots.size:
        return jnp.zeros((int(m.sensor_dim[i].sum()), 1), d.qpos.dtype)
    keys = [rank]
    if reduce == Reduce.MINDIST:
        keys = [_at_slots(d.contact.dist, found.slots), rank]
    elif reduce == Reduce.MAXFORCE:
        force = contact_force(m, d)[:, :3]
        keys = [_at_slots(-jnp.sum(force * force, axis=1), found.slots), rank]
    index = _first([lax.stop_gradient(k) for k in keys], matched, min(count, found.slots.shape[1]))
    return flat(_report(m, d, found.slots, index, sign, number, words, count))


def _signs(m: Model, d: Data, found: Matches) -> tuple[Array, Array]:
    """Signs (n, k, W), 0 where a slot holds no contact of a sensor, and ranks (n, k, 1 or W) of slots."""
    sign, rank = (jnp.asarray(x[:, :, None]) for x in (found.sign, found.rank))
    if not found.slots.size:
        return sign, rank
    if not found.known.all():
        table = pair_table(m.static, m.opt.disableflags)
        row1, row2 = (jnp.asarray(table.row)[jnp.maximum(d.contact.geom[:, s], 0)] for s in (0, 1))
        pair = _at_slots(jnp.asarray(table.pair)[row1, row2], found.slots)
        known = jnp.asarray(found.known)[:, :, None]
        sensor = jnp.arange(len(found.slots))[:, None, None]
        sign = jnp.where(known, sign, jnp.asarray(found.sign_of_pair)[sensor, pair])
        rank = jnp.where(known, rank, jnp.asarray(found.rank_of_pair)[pair])
    used = _at_slots(d.contact.geom[:, 0], found.slots) >= 0
    return jnp.where(used, sign, 0), rank


def _at_slots(x: Array, slots: np.ndarray) -> Array:
    """Rows of x (ncon, ..., W) for slots (n, k), as (n, k, ..., W)."""
    return take(x, slots.reshape(-1)).reshape(*slots.shape, *x.shape[1:])


def _in_site(m: Model, d: Data, slots: np.ndarray, site: np.ndarray, kind: int) -> Array:
    """Whether the contacts in slots (n, k) lie in each sensor's site, (n, k, W)."""
    site = np.repeat(site, slots.shape[1])
    offset = take(d.contact.pos, slots.reshape(-1)) - take(d.site_xpos, site)
    local = matvec_transposed(take(d.site_xmat, site), offset)
    inside = contains(GeomType(kind), take(m.site_size, site), local)
    return inside.reshape(*slots.shape, inside.shape[-1])


def _first(keys: list[Array], matched: Array, count: int) -> Array:
    """Indices (n, count, W) along the middle axis of the matching ones with the least keys, then least index."""
    n, k, width = jnp.broadcast_shapes(matched.shape, *(key.shape for key in keys))
    matched, *keys = (jnp.broadcast_to(x, (n, k, width)) for x in (matched, *keys))
    if k == 1:
        return jnp.zeros((n, 1, width), jnp.int32)
    index = lax.broadcasted_iota(jnp.int32, (n, k, width), 1)
    if count > _FEW:
        return lax.sort((~matched, *keys, index), dimension=1, num_keys=len(keys) + 2)[-1][:, :count]
    picked = []
    for _ in range(count):
        live = matched
        for key in keys:
            largest = jnp.inf if jnp.issubdtype(key.dtype, jnp.floating) else jnp.iinfo(key.dtype).max
            key = jnp.where(live, key, largest)
            live = live & (key == jnp.min(key, axis=1, keepdims=True))
        picked.append(jnp.argmax(live, axis=1).astype(jnp.int32))
        matched = matched & (index != picked[-1][:, None])
    return jnp.stack(picked, axis=1)


def _report(
    m: Model,
    d: Data,
    slots: np.ndarray,
    index: Array,
    sign: Array,
    number: Array,
    words: tuple[str, ...],
    count: int,
) -> Array:
    """What sensors say of the chosen contacts (n, chosen, W), and zeros up to their number, (n, count * size, W)."""
    n, chosen, _ = index.shape
    asked = [word for word in words if word != "found"]
    turned = jnp.broadcast_to(sign < 0, (*slots.shape, max(sign.shape[-1], index.shape[-1])))
    turned = jnp.take_along_axis(turned, index, axis=1)[:, :, None]
    parts = []
    if asked:
        table = concat([_data(m, d, word) for word in asked], axis=1)
        factor = np.concatenate([_TURNED[word] for word in asked])[:, None]
        picked = _pick(table, slots, index)
        parts.append(jnp.where(turned, picked * jnp.asarray(factor, picked.dtype), picked))
    if "found" in words:
        number_of = jnp.broadcast_to(number[:, None, None], (n, chosen, 1, number.shape[-1]))
        parts.insert(0, number_of)
    out = concat(parts, axis=2)
    filled = jnp.arange(chosen)[None, :, None, None] < number[:, None, None]
    out = jnp.where(filled, out, 0)
    out = jnp.pad(out, ((0, 0), (0, count - chosen), (0, 0), (0, 0)))
    return out.reshape(n, -1, out.shape[-1])


def _pick(table: Array, slots: np.ndarray, index: Array) -> Array:
    """Rows of a table (ncon, size, W) that stand in `slots` (n, k) at `index` (n, chosen, W): (n, chosen, size, W)."""
    n, chosen, width = index.shape
    if slots.shape[1] == 1:
        return _at_slots(table, slots)
    row = jnp.take_along_axis(jnp.asarray(slots, jnp.int32)[:, :, None], index, axis=1)
    width = max(width, table.shape[-1])
    table = jnp.broadcast_to(table, (*table.shape[:-1], width))
    row = jnp.broadcast_to(row, (n, chosen, width)).reshape(n * chosen, 1, width)
    return jnp.take_along_axis(table, row, axis=0).reshape(n, chosen, -1, width)


def _data(m: Model, d: Data, word: str) -> Array:
    """One kind of data of all slots, (ncon, size, W)."""
    if word in ("force", "torque"):
        return split(contact_force(m, d), (3, 3), axis=1)[word == "torque"]
    if word in ("linvel", "angvel"):
        angular, linear = split(_relative_velocity(m, d), (3, 3), axis=1)
        return matvec(d.contact.frame, linear if word == "linvel" else angular)
    return {
        "dist": d.contact.dist[:, None],
        "pos": d.contact.pos,
        "normal": d.contact.frame[:, 0],
        "tangent": d.contact.frame[:, 1],
    }[word]


def _relative_velocity(m: Model, d: Data) -> Array:
    """Velocity (ncon, 6, W) of the second body against the first at each contact, world axes, angular first."""
    centre = take(d.subtree_com, m.body_rootid)
    bodies = concat([d.cvel, centre], axis=1)
    parts = []
    for group in slot_layout(m).groups:
        s = slice(group.start, group.stop)
        at = []
        for side, body in enumerate((group.body1, group.body2)):
            if body is None:
                chosen = jnp.asarray(m.geom_bodyid)[jnp.maximum(d.contact.geom[s, side], 0)]
                own = _rows(bodies, chosen)
            else:
                own = take(bodies, body)
            at.append(shift_motion(own[:, :6], d.contact.pos[s] - own[:, 6:]))
        parts.append(at[1] - at[0])
    return concat(parts)


def _rows(table: Array, index: Array) -> Array:
    """Rows of a table (n, size, W) chosen by world, `index` (k, W)."""
    width = max(table.shape[-1], index.shape[-1])
    table = jnp.broadcast_to(table, (*table.shape[:-1], width))
    return jnp.take_along_axis(table, jnp.broadcast_to(index, (len(index), width))[:, None], axis=0)


def _net(
    m: Model, d: Data, slots: np.ndarray, sign: Array, number: Array, words: tuple[str, ...], count: int
) -> Array:
    """Sum of all matching contacts: force and torque in world axes about their centre of pressure.

    Returns (n, count * size, W): one net contact if any contact matches, then zeros.
    """
    n = len(slots)
    force, torque, point = (jnp.zeros((n, 3, 1), d.qpos.dtype) for _ in range(3))
    if slots.size:
        wrench = contact_force(m, d)
        frame = d.contact.frame
        strength = safe.norm(wrench[:, :3], axis=1)
        pushes, twists = (matvec_transposed(frame, x) for x in split(wrench, (3, 3), axis=1))
        pushes, twists = (sign[:, :, None] * _at_slots(x, slots) for x in (pushes, twists))
        weight = jnp.where(sign != 0, _at_slots(strength, slots), 0)
        where = _at_slots(d.contact.pos, slots)
        total = jnp.maximum(jnp.sum(weight, axis=1), MINVAL)
        point = jnp.sum(weight[:, :, None] * where, axis=1) / total[:, None]
        force = jnp.sum(pushes, axis=1)
        torque = jnp.sum(twists + cross(where - point[:, None], pushes), axis=1)
    x, y = (jnp.asarray(np.eye(3)[None, k, :, None], force.dtype) for k in (0, 1))
    values = {"found": number[:, None], "force": force, "torque": torque, "dist": jnp.zeros((n, 1, 1))}
    values |= {"pos": point, "normal": jnp.repeat(x, n, axis=0), "tangent": jnp.repeat(y, n, axis=0)}
    out = jnp.where(number[:, None] > 0, concat([values[word] for word in words], axis=1), 0)
    return jnp.pad(out, ((0, 0), (0, (count - 1) * out.shape[1]), (0, 0)))


SENSORS: dict[SensorType, Compute] = {SensorType.CONTACT: _contact}
