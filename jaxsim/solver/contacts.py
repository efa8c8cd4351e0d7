"""Contact rows: Jacobian, reference and regularisation in the contact frame. Native layout.

Source: Computation chapter, "Contact" and "Solver parameters". A pyramid has the edges `n +- mu_k t_k`; residuals,
references and Jacobians of edges are these same combinations of the base rows kept here.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import Array

from jaxsim.data import Contact, Data
from jaxsim.enums import ConeType
from jaxsim.math import spatial
from jaxsim.math.axis import concat, take
from jaxsim.math.constants import MINVAL
from jaxsim.math.stage import stage
from jaxsim.model import Model
from jaxsim.solver.bodies import BodyJacobian, sides
from jaxsim.solver.impedance import (
    MAX_IMPEDANCE,
    MIN_IMPEDANCE,
    impedance,
    reference_gains,
    regularisation,
)
from jaxsim.solver.jacobian import DenseJacobian
from jaxsim.solver.parts import Part
from jaxsim.solver.stack import Elliptic, Jacobian, edges
from jaxsim.structure.constraints import ContactBlock
from jaxsim.structure.slots import ContactGroup
from jaxsim.structure.trees import tree

__all__ = ["contact_rows"]


def contact_rows(model: Model, data: Data, block: ContactBlock) -> tuple[Part | Elliptic, Array]:
    """The rows of one group of contact slots, and which slots are in use, `(n, W)`."""
    group = block.group
    contact: Contact = jax.tree.map(lambda x: x[group.start : group.stop], data.contact)
    active = contact.dist < contact.includemargin
    if group.body1 is None or group.body2 is None:
        bodies = jnp.asarray(model.geom_bodyid)[jnp.maximum(contact.geom, 0)]
        J: Jacobian = _between_selected(model, data, contact, bodies, group.dim)
        translation = _by_world(model.body_invweight0[:, 0], bodies[:, 0])
        translation = translation + _by_world(model.body_invweight0[:, 0], bodies[:, 1])
    else:
        J = _between_known(model, data, contact, group)
        translation = model.body_invweight0[group.body1, 0] + model.body_invweight0[group.body2, 0]
    velocity = J.product(data.qvel)
    violation = contact.dist - contact.includemargin
    constants = impedance(model, contact.solref, contact.solimp, violation)
    friction = jnp.where(active[:, None], contact.friction[:, : group.dim - 1], 1)
    mu = friction[:, 0] / jnp.sqrt(_impratio(model)) if group.dim > 1 else jnp.ones_like(violation)
    elliptic = model.opt.cone == ConeType.ELLIPTIC and group.dim > 1
    b_normal = b_friction = constants.b[:, None]
    if elliptic:
        R = _elliptic_regularisation(model, regularisation(constants.d, translation), friction)
        b_friction = _friction_damping(model, contact, constants.b)[:, None]
    elif group.dim > 1:
        first_edge = regularisation(constants.d, translation + friction[:, 0] ** 2 * translation)
        R = (2 * mu * mu * first_edge)[:, None]
    else:
        R = regularisation(constants.d, translation)[:, None]
    D = jnp.where(active[:, None], 1 / R, 0)
    normal = -b_normal * velocity[:, :1] - (constants.k * constants.d * violation)[:, None]
    aref = jnp.where(active[:, None], concat([normal, -b_friction * velocity[:, 1:]], axis=1), 0)
    if elliptic:
        return Elliptic(J=J, D=D, aref=aref, friction=friction, mu=mu), active
    zero = jnp.zeros((group.count * block.rows, 1), aref.dtype)
    if group.dim == 1:
        return Part(J=J, D=D[:, 0], aref=aref[:, 0], low=zero, high=zero + jnp.inf), active
    D = jnp.repeat(D[:, 0], 2 * (group.dim - 1), axis=0)
    aref = edges(friction, aref)
    return Part(J=J, D=D, aref=aref, low=zero, high=zero + jnp.inf, friction=friction), active


def _impratio(model: Model) -> Array:
    return jnp.maximum(MINVAL, model.opt.impratio)


def _elliptic_regularisation(model: Model, R: Array, friction: Array) -> Array:
    """R of all rows `(n, dim, W)` from that of the normal: `R_k mu_k^2` is the same in all friction rows."""
    first = R / _impratio(model)
    ratio = friction[:, :1] / friction
    return jnp.concatenate([R[:, None], first[:, None] * ratio * ratio], axis=1)


def _friction_damping(model: Model, contact: Contact, b_normal: Array) -> Array:
    """Damping of friction rows: `solreffriction` where it is given, else as the normal's, `(n, W)`."""
    dmax = jnp.clip(contact.solimp[:, 1], MIN_IMPEDANCE, MAX_IMPEDANCE)
    time, ratio = contact.solreffriction[:, 0], contact.solreffriction[:, 1]
    given = ((time > 0) == (ratio > 0)) & ((time != 0) | (ratio != 0))
    solref = jnp.where(given[:, None], contact.solreffriction, contact.solref)
    _, b = reference_gains(model, solref, dmax)
    return jnp.where(given, b, b_normal)


def _by_world(table: Array, index: Array) -> Array:
    """`table[index[i, w], ..., w]` as `(n, ..., W)` for `table (m, ..., W or 1)` and `index (n, W)`."""
    if table.shape[-1] == 1:
        return jnp.moveaxis(table[index, ..., 0], 1, -1)
    index = index.reshape(index.shape[0], *(1,) * (table.ndim - 2), index.shape[1])
    return jnp.take_along_axis(table, index, axis=0)


def _axes(frame: Array, dim: int) -> tuple[list[Array], list[Array]]:
    """Directions of the rows that translate and of those that rotate, each `(n, 3, W)`."""
    axes = [frame[:, k] for k in range(3)]
    return axes[: min(dim, 3)], axes[: max(dim - 3, 0)]


def _between_known(model: Model, data: Data, contact: Contact, group: ContactGroup) -> BodyJacobian:
    """Jacobian of contacts whose bodies are known at compile time."""
    assert group.body1 is not None
    assert group.body2 is not None
    found = sides(model.static, group.body1, group.body2)
    arm = take(contact.pos, found.contact) - take(data.subtree_com, model.body_rootid[found.body])
    frame = take(contact.frame, found.contact) * jnp.asarray(found.sign, arm.dtype)[:, None, None, None]
    return BodyJacobian(
        model=model.static,
        body1=tuple(group.body1.tolist()),
        body2=tuple(group.body2.tolist()),
        wrench=_wrenches(arm, frame, dim=group.dim),
        cdof=data.cdof,
        entries=None,
    )


@stage
def _wrenches(arm: Array, frame: Array, *, dim: int) -> Array:
    """Wrenches `(m, dim, 6, W)` of unit forces and torques along the axes of frames at some arm."""
    translating, rotating = _axes(frame, dim)
    rows = [concat([spatial.cross(arm, axis), axis], axis=1) for axis in translating]
    rows += [concat([axis, jnp.zeros_like(axis)], axis=1) for axis in rotating]
    return jnp.stack(rows, axis=1)


def _between_selected(model: Model, data: Data, contact: Contact, bodies: Array, dim: int) -> DenseJacobian:
    """Jacobian of contacts whose bodies `(n, 2, W)` differ between worlds."""
    table = jnp.asarray(tree(model.static).path, data.cdof.dtype)[..., None]
    sign = _by_world(table, bodies[:, 1]) - _by_world(table, bodies[:, 0])
    centre = take(data.subtree_com, model.body_rootid[model.dof_bodyid])
    motion = _motion(contact.pos[:, None] - centre, data.cdof, sign)
    return DenseJacobian(J=_along(motion, contact.frame, dim=dim))


@stage
def _motion(arm: Array, cdof: Array, sign: Array) -> tuple[Array, Array]:
    """Linear and angular velocity `(n, nv, 3, W)` of body 2 against body 1, at a contact, by each dof."""
    rotation, translation = cdof[:, :3], cdof[:, 3:]
    linear = translation + spatial.cross(jnp.broadcast_to(rotation, arm.shape), arm)
    return linear * sign[:, :, None], rotation * sign[:, :, None]


@stage
def _along(motion: tuple[Array, Array], frame: Array, *, dim: int) -> Array:
    """Components `(n, dim, nv, W)` of velocities along the axes of contacts."""
    translating, rotating = _axes(frame, dim)
    rows = [spatial.dot(motion[0], axis[:, None]) for axis in translating]
    rows += [spatial.dot(motion[1], axis[:, None]) for axis in rotating]
    return jnp.stack(rows, axis=1)
