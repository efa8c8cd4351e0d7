"""Forces of contacts and equality constraints on bodies, from the rows of `efc_force`."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxsim.data import Data
from jaxsim.enums import ConeType, EqType, ObjType
from jaxsim.math import quaternion as quat
from jaxsim.math.axis import add_rows, concat, take
from jaxsim.math.gather import add_by_world
from jaxsim.math.stage import platform, stage
from jaxsim.math.vector import cross, matvec, matvec_transposed
from jaxsim.model import Model
from jaxsim.solver import pyramid
from jaxsim.solver.surface import adhesive
from jaxsim.structure.rows import row_layout
from jaxsim.structure.slots import slot_layout

__all__ = ["constraint_wrenches", "contact_force", "contact_wrenches"]


def contact_force(model: Model, data: Data) -> Array:
    """Force and torque (ncon, 6, W) of every contact slot in its contact frame: on geom 2, N and N m.

    The pull of adhesive surfaces is included where a contact has rows.
    """
    parts = []
    for rows in row_layout(model).contacts:
        slots, dim = rows.slots, rows.dim
        force = data.efc_force[rows.start : rows.stop]
        if model.opt.cone == ConeType.PYRAMIDAL:
            force = pyramid.forces(data.contact.friction[slots, : dim - 1], force)
        force = force.reshape(rows.count, dim, -1)
        parts.append(jnp.pad(force, ((0, 0), (0, 6 - dim), (0, 0))))
    if not parts:
        return jnp.zeros((0, 6, 1), data.efc_force.dtype)
    force = concat(parts)
    if not adhesive(model):
        return force
    pull = jnp.where(data.contact.efc_address >= 0, data.contact.adhesion, 0)
    return concat([force[:, :1] - pull[:, None], force[:, 1:]], axis=1)


def constraint_wrenches(model: Model, data: Data) -> Array:
    """Wrenches (nbody, 6, W) of contacts, connects and welds on bodies, torque first, about their trees' centres."""
    total = _attachments(model, data)
    if not row_layout(model).contacts:
        return total
    force = contact_force(model, data)
    frame = data.contact.frame
    linear, angular = matvec_transposed(frame, force[:, :3]), matvec_transposed(frame, force[:, 3:])
    return total + contact_wrenches(model, data, linear, angular)


def contact_wrenches(model: Model, data: Data, force: Array, torque: Array) -> Array:
    """Wrenches (nbody, 6, W) on bodies, torque first, about their trees' centres, of what acts in contacts.

    Args:
      model: the model.
      data: contacts.
      force: on geom 2 of each contact, against geom 1, world frame, N (ncon, 3, W).
      torque: likewise, N m (ncon, 3, W).
    """
    total = jnp.zeros((model.nbody, 6, 1), force.dtype)
    for group in slot_layout(model).groups:
        s = slice(group.start, group.stop)
        acting = (force[s], torque[s], data.contact.pos[s])
        about_origin = _about_origin(*acting)
        for side, body in enumerate((group.body1, group.body2)):
            if body is None:
                mine = _on_chosen(model, data, data.contact.geom[s, side], about_origin)
            else:
                mine = _on_bodies(model, data, body, *acting)
            total = total + mine if side else total - mine
    return total


@stage
def _about_origin(force: Array, torque: Array, points: Array) -> Array:
    """Wrenches (n, 6, W) about the origin, torque first, of forces and torques (n, 3, W) at points."""
    return concat([torque + cross(points, force), force], axis=1)


def _on_bodies(
    model: Model, data: Data, bodies: np.ndarray, force: Array, torque: Array, points: Array
) -> Array:
    """Sums forces and torques (n, 3, W) at points over bodies known at compile time."""
    if not len(bodies):
        return jnp.zeros((model.nbody, 6, 1), force.dtype)
    arm = points - take(data.subtree_com, model.body_rootid[bodies])
    return add_rows(concat([torque + cross(arm, force), force], axis=1), bodies, model.nbody)


def _on_chosen(model: Model, data: Data, geoms: Array, at_origin: Array) -> Array:
    """Sums wrenches (n, 6, W) about the origin over bodies, by geoms (n, W) that differ between worlds; -1: none."""
    nbody = model.nbody
    body = jnp.where(geoms >= 0, jnp.asarray(model.geom_bodyid)[jnp.maximum(geoms, 0)], nbody)
    if platform() == "cpu":
        places = 6 * body[:, None] + np.arange(6)[:, None]
        none = jnp.zeros((6 * (nbody + 1), at_origin.shape[-1]), at_origin.dtype)
        sums = add_by_world(none, at_origin, places).reshape(nbody + 1, 6, -1)[:nbody]
    else:
        # in one kernel, and in the same order each time
        mine = body == np.arange(nbody)[:, None, None]
        sums = jnp.sum(jnp.where(mine[:, :, None], at_origin, 0), axis=1)
    centre = take(data.subtree_com, model.body_rootid)
    return concat([sums[:, :3] - cross(centre, sums[:, 3:]), sums[:, 3:]], axis=1)


def _attachments(model: Model, data: Data) -> Array:
    """Wrenches of connects and welds on bodies.

    A weld's orientation rows are the vector part of `conj(qb) qa` times the torque scale (solver.equality), so the
    torque on body 1 is the vector part of `qb f conj(qa)` times half that scale.
    """
    total = jnp.zeros((model.nbody, 6, 1), data.efc_force.dtype)
    for name in ("connect", "weld"):
        rows = row_layout(model).classes[name]
        ids = rows.ids
        if not len(ids):
            continue
        sides = [_ends(model, data, ids, side) for side in (0, 1)]
        f = data.efc_force[rows.start : rows.stop].reshape(len(ids), rows.kind.rows, -1)
        force, torque = f[:, :3], jnp.zeros_like(f[:, :3])
        if name == "weld":
            f = concat([jnp.zeros_like(f[:, :1]), f[:, 3:]], axis=1)
            scale = take(model.eq_data, ids)[:, 10, None]
            turned = quat.mul(quat.mul(sides[1][2], f), quat.conjugate(sides[0][2]))
            torque = 0.5 * scale * turned[:, 1:]
        for sign, (body, points, _) in zip((1, -1), sides, strict=True):
            total = total + _on_bodies(model, data, body, sign * force, sign * torque, points)
    return total * jnp.asarray(np.minimum(np.arange(model.nbody), 1)[:, None, None], total.dtype)


def _ends(model: Model, data: Data, ids: np.ndarray, side: int) -> tuple[np.ndarray, Array, Array]:
    """Bodies, points (n, 3, W) and orientations (n, 4, W) of one side (0 or 1) of connects and welds."""
    objects = (model.eq_obj2id if side else model.eq_obj1id)[ids]
    on_site = model.eq_objtype[ids] == ObjType.SITE
    welded = model.eq_type[ids] == EqType.WELD
    site = np.where(on_site, objects, 0)
    body = np.where(on_site, model.site_bodyid[site], objects) if model.nsite else objects
    numbers = take(model.eq_data, ids)
    first, second = numbers[:, :3], numbers[:, 3:6]
    anchor = jnp.where(jnp.asarray(welded == bool(side))[:, None, None], first, second)
    turn = jnp.asarray(np.eye(4)[:1, :, None], numbers.dtype)
    if side == 0:
        turn = jnp.where(jnp.asarray(welded)[:, None, None], numbers[:, 6:10], turn)
    if on_site.any():
        chosen = jnp.asarray(on_site)[:, None, None]
        anchor = jnp.where(chosen, take(model.site_pos, site), anchor)
        turn = jnp.where(chosen, take(model.site_quat, site), turn)
    points = take(data.xpos, body) + matvec(take(data.xmat, body), anchor)
    return body, points, quat.mul(take(data.xquat, body), turn)
