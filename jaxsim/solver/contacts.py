"""Contact rows: Jacobian, reference and regularisation in the contact frame. Native layout.

Source: Computation chapter, "Contact" and "Solver parameters". Residuals, references and Jacobians of the edges of a
pyramid are combinations of those along the axes of the frame (`solver/pyramid.py`).
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxsim.data import Contact, Data
from jaxsim.enums import ConeType
from jaxsim.math import safe
from jaxsim.math.axis import components, concat, split, take
from jaxsim.math.constants import MINVAL
from jaxsim.math.gather import Index, by_world, entries, joined, rows_of
from jaxsim.math.stage import stage
from jaxsim.math.vector import cross, matvec
from jaxsim.model import Model
from jaxsim.solver import pyramid
from jaxsim.solver.chain_jacobian import ChainFrames
from jaxsim.solver.compact import kept_slots
from jaxsim.solver.contact_jacobian import ContactFrames
from jaxsim.solver.frames import Frames
from jaxsim.solver.impedance import (
    MAX_IMPEDANCE,
    MIN_IMPEDANCE,
    impedance,
    reference_gains,
    regularisation,
)
from jaxsim.solver.jacobian import EdgeJacobian
from jaxsim.solver.rows import Cones, Rows
from jaxsim.solver.surface import in_use, surface_velocity
from jaxsim.structure.rows import Chains, ContactRows, movers, row_layout
from jaxsim.structure.slots import ContactGroup

__all__ = ["bodies_of", "contact_rows", "frames", "inverse_masses"]


def contact_rows(model: Model, data: Data, rows: ContactRows) -> tuple[Rows | Cones, Array]:
    """The rows of the contact slots of one dimension, and which slots are in use, `(n, W)`."""
    dim = rows.dim
    contact: Contact = jax.tree.map(lambda x: x[rows.slots], data.contact)
    active, tether = in_use(model, contact)
    bodies = bodies_of(model, rows, contact)
    translation = inverse_masses(model, bodies)
    if rows.chains is None:
        J = frames(model, data, contact, bodies, dim)
    else:
        J = _chain_frames(model, data, contact, bodies, dim, rows.chains)
    J = J if _may_be_left_out(model, rows) else J.jacobian()
    velocity = _velocity(model, data, contact, bodies, dim) if isinstance(J, Frames) else J.product(data.qvel)
    if model.has("geom_surfacevel"):
        velocity = velocity + surface_velocity(model, data, rows, contact)
    violation = contact.dist - contact.includemargin
    constants = impedance(model, contact.solref, contact.solimp, violation**2)
    friction = jnp.where(active[:, None], contact.friction[:, : dim - 1], 1)
    mu = friction[:, 0] / jnp.sqrt(_impratio(model)) if dim > 1 else jnp.ones_like(violation)
    elliptic = model.opt.cone == ConeType.ELLIPTIC and dim > 1
    b_normal = b_friction = constants.b[:, None]
    if elliptic:
        R = _elliptic_regularisation(model, regularisation(constants.d, translation), friction)
        b_friction = _friction_damping(model, contact, constants.b)[:, None]
    elif dim > 1:
        first_edge = regularisation(constants.d, translation + friction[:, 0] ** 2 * translation)
        R = (2 * mu * mu * first_edge)[:, None]
    else:
        R = regularisation(constants.d, translation)[:, None]
    # a pyramid shares the normal force among its edges
    edges = 1 if elliptic else rows.rows
    if tether is not None:
        friction = jnp.where(tether[:, None], 0, friction)
        alone = edges * regularisation(constants.d, translation)
        R = jnp.where(
            tether[:, None], jnp.where(np.arange(R.shape[1])[:, None] > 0, jnp.inf, alone[:, None]), R
        )
    D = jnp.where(active[:, None], 1 / R, 0)
    normal = -b_normal * velocity[:, :1] - (constants.k * constants.d * violation)[:, None]
    if tether is not None:
        normal = normal + R[:, :1] * contact.adhesion[:, None] / edges
    aref = jnp.where(active[:, None], concat([normal, -b_friction * velocity[:, 1:]], axis=1), 0)
    if elliptic:
        return Cones(
            J=J, D=D, aref=aref, friction=friction, mu=mu, pos=contact.dist, margin=contact.includemargin
        ), active
    zero = jnp.zeros((rows.count * rows.rows, 1), aref.dtype)
    scalar = Rows(
        J=(EdgeJacobian(contacts=J, friction=friction),),
        D=jnp.repeat(D[:, 0], rows.rows, axis=0),
        aref=pyramid.edges(friction, aref),
        low=zero,
        high=zero + jnp.inf,
        pos=jnp.repeat(contact.dist, rows.rows, axis=0),
        margin=jnp.repeat(contact.includemargin, rows.rows, axis=0),
    )
    return scalar, active


def _may_be_left_out(model: Model, rows: ContactRows) -> bool:
    """Whether Jacobians are computed later, of some of the slots, by the solver or by its derivative."""
    contacts = row_layout(model).contacts
    sizes, many = [(own.count, own.rows) for own in contacts], rows.chains is not None
    kept = zip(*(kept_slots(sizes, many, iterated) for iterated in (True, False)), strict=True)
    return any(any(some) for own, some in zip(contacts, kept, strict=True) if own.dim == rows.dim)


def bodies_of(model: Model, rows: ContactRows, contact: Contact) -> tuple[Index, Index]:
    """Body 1 and body 2 of the contacts in some slots: constant if no slot's geoms differ between worlds."""
    parts = [_bodies(model, group, geom) for group, geom in rows.by_group(contact.geom)]
    first, second = zip(*parts, strict=True)
    return joined(first), joined(second)


def _bodies(model: Model, group: ContactGroup, geom: Array) -> tuple[Index, Index]:
    """The same of the slots of a group, between geoms (n, 2, W)."""
    if group.body1 is not None and group.body2 is not None:
        return group.body1, group.body2
    first, second = (entries(model.geom_bodyid, jnp.maximum(geom[:, side], 0)) for side in range(2))
    return first, second


def inverse_masses(model: Model, bodies: tuple[Index, Index]) -> Array:
    """The sum of the inverse masses of two bodies at qpos0, (n, 1 or W)."""
    return _added(*(rows_of(model.body_invweight0[:, 0], body) for body in bodies))


@stage
def _added(first: Array, second: Array) -> Array:
    """Numbers that were looked up: XLA for CPU computes what it fuses with a look-up one by one."""
    return first + second


def frames(
    model: Model, data: Data, contact: Contact, bodies: tuple[Index, Index], dim: int
) -> ContactFrames:
    """What the Jacobian of contacts between bodies is computed from; `dim` is their dimension."""
    table = movers(model)
    pair = entries(table.row.reshape(-1), bodies[0] * model.nbody + bodies[1])
    return ContactFrames(
        pos=contact.pos,
        frame=contact.frame,
        moves=_moves(model, data),
        pair=by_world(pair),
        movers=table,
        dim=dim,
    )


def _chain_frames(
    model: Model, data: Data, contact: Contact, bodies: tuple[Index, Index], dim: int, chains: Chains
) -> ChainFrames:
    """The same of the Jacobian by the chains of bodies."""
    return ChainFrames(
        pos=contact.pos,
        frame=contact.frame,
        moves=_moves(model, data),
        bodies=jnp.stack([by_world(body) for body in bodies], axis=1),
        chains=chains,
        dim=dim,
    )


def _velocity(model: Model, data: Data, contact: Contact, bodies: tuple[Index, Index], dim: int) -> Array:
    """J qvel `(n, dim, W)`: velocity of body 2 against body 1, from those of the bodies."""
    moving = concat([data.cvel, take(data.subtree_com, model.body_rootid)], axis=1)
    first, second = (rows_of(moving, body) for body in bodies)
    return _difference(first, second, contact.pos, contact.frame, dim=dim)


@stage
def _difference(first: Array, second: Array, pos: Array, frame: Array, *, dim: int) -> Array:
    """The second velocity less the first at points, along (and about) the axes of frames, `(n, dim, W)`.

    Args:
      first: velocity of bodies, angular and linear, and the point that it refers to, `(n, 9, W)`.
      second: of the others.
      pos: the points, m, `(n, 3, W)`.
      frame: the frames, `(n, 3, 3, W)`.
      dim: how many axes.
    """
    turn, slide = zip(*(_twist(moving, pos) for moving in (first, second)), strict=True)
    along, about = matvec(frame, slide[1] - slide[0]), matvec(frame, turn[1] - turn[0])
    numbers = [*components(along, axis=1), *components(about, axis=1)]
    return jnp.stack(numbers[:dim], axis=1)


def _twist(moving: Array, pos: Array) -> tuple[Array, Array]:
    """Angular and linear velocity of bodies at points."""
    turn, slide, centre = split(moving, [3, 3, 3], axis=1)
    return turn, slide + cross(turn, pos - centre)


def _impratio(model: Model) -> Array:
    return jnp.maximum(MINVAL, model.opt.impratio)


def _elliptic_regularisation(model: Model, R: Array, friction: Array) -> Array:
    """R of all rows `(n, dim, W)` from that of the normal: `R_k mu_k^2` is the same in all friction rows."""
    first = R / _impratio(model)
    ratio = friction[:, :1] / friction
    return jnp.concatenate([R[:, None], first[:, None] * ratio * ratio], axis=1)


def _friction_damping(model: Model, contact: Contact, b_normal: Array) -> Array:
    """Damping of friction rows: `solreffriction` where it is given, else as the normal's, `(n, W)`."""
    dmax = safe.clamp(contact.solimp[:, 1], MIN_IMPEDANCE, MAX_IMPEDANCE)
    time, ratio = contact.solreffriction[:, 0], contact.solreffriction[:, 1]
    given = ((time > 0) == (ratio > 0)) & ((time != 0) | (ratio != 0))
    solref = jnp.where(given[:, None], contact.solreffriction, contact.solref)
    _, b = reference_gains(model, solref, dmax)
    return jnp.where(given, b, b_normal)


def _moves(model: Model, data: Data) -> Array:
    """Of each dof `cdof` and the point that it refers to, `(nv, 9, W)`."""
    return concat([data.cdof, take(data.subtree_com, model.body_rootid[model.dof_bodyid])], axis=1)
