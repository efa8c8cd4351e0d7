"""The stages of transmission, by the table of its types."""

from __future__ import annotations

from collections.abc import Callable

import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxsim.data import Data
from jaxsim.enums import DisableBit, TrnType
from jaxsim.math.axis import add_rows, concat, take
from jaxsim.model import Model
from jaxsim.pipeline.tendon import tendon_velocity
from jaxsim.pipeline.transmission.body import on_bodies
from jaxsim.pipeline.transmission.joint import on_joints
from jaxsim.pipeline.transmission.orientation import on_orientations
from jaxsim.pipeline.transmission.part import Part, gear_of
from jaxsim.pipeline.transmission.site import on_sites
from jaxsim.pipeline.transmission.slidercrank import on_cranks
from jaxsim.structure.tendons import tendon_entries
from jaxsim.structure.transmissions import entries_of, moment_entries

__all__ = ["TRANSMISSIONS", "actuator_forces_to_dofs", "transmission", "transmission_velocity"]


def _on_tendons(model: Model, data: Data, ids: np.ndarray) -> list[Part]:
    gear, target = gear_of(model, ids)[:, 0], model.actuator_trnid[ids, 0]
    rows, _ = tendon_entries(model.static)
    entries = [np.flatnonzero(rows == t) for t in target]
    owner = np.repeat(np.arange(len(ids)), [len(e) for e in entries])
    moment = take(gear, owner) * take(data.work.ten_J, np.concatenate(entries))
    return [Part(ids, gear * take(data.ten_length, target), moment)]


TRANSMISSIONS: dict[TrnType, Callable[[Model, Data, np.ndarray], list[Part]]] = {
    TrnType.JOINT: on_joints,
    TrnType.JOINTINPARENT: on_joints,
    TrnType.SLIDERCRANK: on_cranks,
    TrnType.TENDON: _on_tendons,
    TrnType.SITE: on_sites,
    TrnType.BODY: on_bodies,
    TrnType.SO3: on_orientations,
}
"""Type -> lengths and moment arms; on which dofs it acts is in `structure.transmissions`."""


def transmission(model: Model, data: Data) -> Data:
    """Computes actuator_length and `work.actuator_moment`, the entries of `structure.transmissions.moment_entries`."""
    if not model.nactuator:
        return data
    kinds: dict[Callable[[Model, Data, np.ndarray], list[Part]], list[int]] = {}
    for i, kind in enumerate(model.actuator_trntype.tolist()):
        kinds.setdefault(TRANSMISSIONS[TrnType(kind)], []).append(i)
    parts = [part for rule, ids in kinds.items() for part in rule(model, data, np.array(ids))]
    outs = [
        range(model.actuator_outadr[i], model.actuator_outadr[i] + model.actuator_outnum[i])
        for p in parts
        for i in p.ids
    ]
    entries = np.concatenate([entries_of(model.static, part.ids) for part in parts])
    length = take(concat([p.length for p in parts]), np.argsort([o for block in outs for o in block]))
    moment = take(concat([p.moment for p in parts]), np.argsort(entries))
    return data.replace(actuator_length=length, work=data.work.replace(actuator_moment=moment))


def transmission_velocity(model: Model, data: Data) -> Data:
    """Computes ten_velocity and actuator_velocity; the latter is 0 with actuation disabled."""
    if model.ntendon:
        data = data.replace(ten_velocity=tendon_velocity(model, data))
    if not model.nactuator:
        return data
    if model.opt.disableflags & DisableBit.ACTUATION:
        return data.replace(actuator_velocity=jnp.zeros((model.nout, 1), data.qvel.dtype))
    rows, cols = moment_entries(model.static)
    terms = data.work.actuator_moment * take(data.qvel, cols)
    return data.replace(actuator_velocity=add_rows(terms, rows, model.nout))


def actuator_forces_to_dofs(model: Model, data: Data, force: Array) -> Array:
    """Generalized force (nv, W) of actuator forces (nout, W)."""
    rows, cols = moment_entries(model.static)
    return add_rows(data.work.actuator_moment * take(force, rows), cols, model.nv)
