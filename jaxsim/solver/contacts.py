"""Contact rows: Jacobian, reference and regularisation in the contact frame. Native layout.

Source: Computation chapter, "Contact" and "Solver parameters". A pyramid has the edges `n +- mu_k t_k`; residuals,
references and Jacobians of edges are these same combinations of the base rows kept here.
"""

from __future__ import annotations

import functools

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxsim.data import Contact, Data
from jaxsim.enums import ConeType
from jaxsim.model import Model
from jaxsim.pipeline.topology import tree
from jaxsim.solver.impedance import (
    MAX_IMPEDANCE,
    MIN_IMPEDANCE,
    MINVAL,
    impedance,
    reference_gains,
    regularisation,
)
from jaxsim.collision.slots import ContactGroup
from jaxsim.solver.jacobian import ContactRows, dense

__all__ = ["contact_rows"]


def contact_rows(model: Model, data: Data, group: ContactGroup) -> tuple[ContactRows, Array]:
    """The rows of one group of contact slots, and which slots are in use, `(n, W)`."""
    contact: Contact = jax.tree.map(lambda x: x[group.start : group.stop], data.contact)
    if group.body1 is None or group.body2 is None:
        bodies: Array | np.ndarray = jnp.asarray(model.geom_bodyid)[jnp.maximum(contact.geom, 0)]
    else:
        bodies = np.stack([group.body1, group.body2], axis=1)
    active = contact.dist < contact.includemargin
    J = _jacobian(model, data, contact, bodies, group.dim)
    velocity = dense(J, data.qvel)
    violation = contact.dist - contact.includemargin
    constants = impedance(model, contact.solref, contact.solimp, violation)
    translation = _inverse_mass(model, bodies)
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
    aref_normal = -b_normal * velocity[:, :1] - (constants.k * constants.d * violation)[:, None]
    aref = jnp.concatenate([aref_normal, -b_friction * velocity[:, 1:]], axis=1)
    rows = ContactRows(
        dim=group.dim,
        elliptic=bool(elliptic),
        J=J,
        D=jnp.where(active[:, None], 1 / R, 0),
        aref=jnp.where(active[:, None], aref, 0),
        friction=friction,
        mu=mu,
    )
    return rows, active


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


def _inverse_mass(model: Model, bodies: Array | np.ndarray) -> Array:
    """Sum of the two bodies' mean inverse masses at qpos0, `(n, W)`."""
    weight = model.body_invweight0[:, 0]
    if isinstance(bodies, np.ndarray):
        return weight[bodies[:, 0]] + weight[bodies[:, 1]]
    return _by_world(weight, bodies[:, 0]) + _by_world(weight, bodies[:, 1])


def _by_world(table: Array, index: Array) -> Array:
    """`table[index[i, w], ..., w]` as `(n, ..., W)` for `table (m, ..., W or 1)` and `index (n, W)`."""
    if table.shape[-1] == 1:
        return jnp.moveaxis(table[index, ..., 0], 1, -1)
    index = index.reshape(index.shape[0], *(1,) * (table.ndim - 2), index.shape[1])
    return jnp.take_along_axis(table, index, axis=0)


def _jacobian(model: Model, data: Data, contact: Contact, bodies: Array | np.ndarray, dim: int) -> Array:
    """Jacobian of the motion of body 2 against body 1 at the contact, `(n, dim, nv, W)`, in the contact frame."""
    moves = tree(model.static).path
    if isinstance(bodies, np.ndarray):
        sign = jnp.asarray(moves[bodies[:, 1]] - moves[bodies[:, 0]], data.cdof.dtype)[..., None]
    else:
        table = jnp.asarray(moves, data.cdof.dtype)[..., None]
        sign = _by_world(table, bodies[:, 1]) - _by_world(table, bodies[:, 0])
    roots = model.body_rootid[model.dof_bodyid]
    frame = contact.frame
    parts = []
    for first, end in _blocks(roots):
        offset = contact.pos - data.subtree_com[roots[first]]
        rows = []
        cdof = data.cdof[first:end]
        for r in range(dim):
            axis = frame[:, r % 3]
            terms = [cdof[None, :, c] * axis[:, c, None] for c in range(3)] if r >= 3 else []
            if r < 3:
                moment = _cross(offset, axis)
                terms = [cdof[None, :, 3 + c] * axis[:, c, None] for c in range(3)]
                terms += [cdof[None, :, c] * moment[c][:, None] for c in range(3)]
            rows.append(functools.reduce(jnp.add, terms) * sign[:, first:end])
        parts.append(jnp.stack(rows, axis=1))
    return parts[0] if len(parts) == 1 else jnp.concatenate(parts, axis=2)


def _blocks(roots: np.ndarray) -> list[tuple[int, int]]:
    """Runs of dofs with the same root body, `(first, end)` each."""
    ends = [*np.flatnonzero(np.diff(roots)) + 1, len(roots)]
    return list(zip([0, *ends[:-1]], ends, strict=True))


def _cross(a: Array, b: Array) -> tuple[Array, Array, Array]:
    """Components of the cross product of `(n, 3, W)` arrays."""
    return (
        a[:, 1] * b[:, 2] - a[:, 2] * b[:, 1],
        a[:, 2] * b[:, 0] - a[:, 0] * b[:, 2],
        a[:, 0] * b[:, 1] - a[:, 1] * b[:, 0],
    )
