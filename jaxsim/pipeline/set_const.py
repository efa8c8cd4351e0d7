"""Constants of a model that follow from its parameters, recomputed on the device (mj_setConst).

Masses, lengths and positions may be batched and differentiated; whatever is derived from them at `qpos0` goes stale
when they change. `set_const` brings it up to date, and carries derivatives through.
"""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxsim import worlds
from jaxsim.collision.bounds import geom_bounds
from jaxsim.data import Data
from jaxsim.enums import EqType, JointType, ObjType
from jaxsim.math import quaternion as quat
from jaxsim.math import safe
from jaxsim.math.axis import add_rows, concat, mask_product, stitch, take
from jaxsim.math.constants import MINVAL
from jaxsim.math.dense_inverse import inverse, product
from jaxsim.math.gather import width_of
from jaxsim.math.vector import cross, matvec, matvec_transposed
from jaxsim.model import Model
from jaxsim.pipeline.admit import check_model
from jaxsim.pipeline.blank import blank, initial_state
from jaxsim.pipeline.fluid import geom_fluid
from jaxsim.pipeline.inertia import com_pos, joint_inertia, root_offset, subtree_mass
from jaxsim.pipeline.kinematics import kinematics
from jaxsim.pipeline.sizes import dof_lengths, field_sizes
from jaxsim.pipeline.tendon import tendon, tendon_armature
from jaxsim.pipeline.transmission import transmission
from jaxsim.pipeline.work import Work
from jaxsim.pytree import Static
from jaxsim.solver.tendon_jacobian import tendon_jacobian
from jaxsim.structure.sparsity import places_of, tree_structure
from jaxsim.structure.transmissions import moment_entries
from jaxsim.structure.trees import m_entries, tree

__all__ = ["native_constants", "set_const"]


def set_const(model: Model) -> Model:
    """Recomputes every constant that follows from parameters that a user may change.

    These are the ones of mj_setConst: `body_subtreemass`, `dof_M0`, `body_invweight0`, `dof_invweight0`,
    `dof_length`, `tendon_length0`, `tendon_invweight0`, `actuator_length0`, `actuator_acc0`, bounds of primitive
    geoms, bounds and sizes of height fields' geoms, added masses in `geom_fluid`, offsets of cameras and lights, and
    the anchors that `eq_data` derives. As in the C engine, `stat`, resting lengths, length ranges and gains derived
    from a damping ratio stay, and what is static cannot change: an actuator has armature or damping only if it had some
    when the model was compiled.

    Args:
      model: one model; leaves may be traced, batched by `vmap`, differentiated.

    Raises:
      ValueError: leaves do not have the shapes of one world.
    """
    check_model(model, "set_const")
    fields = _lifted(model)
    return model.replace(**{name: x.astype(getattr(model, name).dtype) for name, x in fields.items()})


def native_constants(model: Model) -> dict[str, Array]:
    """The fields that `set_const` replaces, worlds on the last axis."""
    fields = geom_bounds(model) | field_sizes(model)
    if model.has("geom_fluid"):
        fields["geom_fluid"] = geom_fluid(model)
    fields["body_subtreemass"] = subtree_mass(model)
    model = model.replace(**fields)
    data = blank(model, buffers=False).replace(work=Work())
    data = worlds.expand(data).replace(**initial_state(model))
    for stage in (kinematics, com_pos, tendon, transmission):
        data = stage(model, data)
    fields |= _views(model, data)
    if model.neq:
        fields["eq_data"] = _equality(model, data)
    if model.ntendon:
        fields["tendon_length0"] = data.ten_length
    if model.nout:
        fields["actuator_length0"] = data.actuator_length
    if model.nv:
        fields["dof_length"] = dof_lengths(model, data)
        fields |= _weights(model, data)
    return fields


_lifted = worlds.lift(native_constants)


def _views(model: Model, data: Data) -> dict[str, Array]:
    """Offsets of cameras and lights from their bodies and from the centres of mass that they follow."""
    fields = {}
    for kind, count in (("cam", model.ncam), ("light", model.nlight)):
        if count:
            body, target = getattr(model, f"{kind}_bodyid"), getattr(model, f"{kind}_targetbodyid")
            offset = matvec(take(data.xmat, body), getattr(model, f"{kind}_pos"))
            center = take(data.subtree_com, np.where(target >= 0, target, body))
            fields[f"{kind}_pos0"] = offset
            fields[f"{kind}_poscom0"] = take(data.xpos, body) + offset - center
    if model.ncam:
        fields["cam_mat0"] = quat.to_matrix(quat.mul(take(data.xquat, model.cam_bodyid), model.cam_quat))
    if model.nlight:
        fields["light_dir0"], _ = safe.normalize(matvec(take(data.xmat, model.light_bodyid), model.light_dir))
    return fields


def _equality(model: Model, data: Data) -> Array:
    """`eq_data` (neq, neqdata, W): the second anchor of a connect, the relative pose of a weld.

    The latter unless the model gave it, which the last number of `eq_data` says.
    """
    bodies = model.eq_objtype == ObjType.BODY
    connect = np.flatnonzero(bodies & (model.eq_type == EqType.CONNECT))
    weld = np.flatnonzero(bodies & (model.eq_type == EqType.WELD))
    sites = np.flatnonzero(~bodies & (model.eq_type == EqType.CONNECT))
    rest = np.setdiff1d(np.arange(model.neq), np.concatenate([connect, weld, sites]))
    first, second = model.eq_obj1id, model.eq_obj2id
    at, around = take(model.eq_data, connect), take(model.eq_data, weld)
    moved = _carry(data, at[:, :3], first[connect], second[connect])
    given = around[:, 11:] == 0
    pose = quat.mul(
        quat.conjugate(take(data.xquat, first[weld])),
        take(data.xquat, second[weld]),
    )
    anchor = _carry(data, around[:, :3], second[weld], first[weld])
    parts = [
        concat([at[:, :3], moved, at[:, 6:]], axis=1),
        concat(
            [
                around[:, :3],
                jnp.where(given, around[:, 3:6], anchor),
                jnp.where(given, around[:, 6:10], pose),
                around[:, 10:],
            ],
            axis=1,
        ),
        jnp.zeros_like(take(model.eq_data, sites)),
        take(model.eq_data, rest),
    ]
    return stitch(parts, [connect, weld, sites, rest])


def _carry(data: Data, point: Array, source: np.ndarray, target: np.ndarray) -> Array:
    """Points (n, 3, W) of source bodies in the frames of target bodies."""
    world = take(data.xpos, source) + matvec(take(data.xmat, source), point)
    return matvec_transposed(take(data.xmat, target), world - take(data.xpos, target))


class _Trees(NamedTuple):
    """Kinematic trees of one shape; what they weigh is computed for all of them at once.

    Attributes:
      dofs: their degrees of freedom (T, k).
      entries: where the blocks of M are in the list of its entries, the number of entries for zeros (T, k, k).
      bodies: their moving bodies (T, n).
      moves: whether a degree of freedom moves a body (T, n, k).
    """

    dofs: np.ndarray
    entries: np.ndarray
    bodies: np.ndarray
    moves: np.ndarray


@functools.lru_cache(maxsize=64)
def _trees(static: Static) -> tuple[_Trees, ...]:
    """The kinematic trees of a model, those of one shape together."""
    index = places_of(tree_structure(static.dof_parentid))
    path = tree(static).path
    moving = static.body_dofnum[static.body_weldid] > 0
    shapes: dict[tuple[int, int], list[tuple[np.ndarray, np.ndarray]]] = {}
    for t in range(static.ntree):
        dofs = np.flatnonzero(static.dof_treeid == t)
        bodies = np.flatnonzero((static.body_treeid == t) & moving)
        if len(dofs):
            shapes.setdefault((len(dofs), len(bodies)), []).append((dofs, bodies))
    found = []
    for members in shapes.values():
        dofs, bodies = (np.array(x) for x in zip(*members, strict=True))
        entries = index[dofs[:, :, None], dofs[:, None, :]]
        found.append(_Trees(dofs, entries, bodies, path[bodies[:, :, None], dofs[:, None, :]]))
    return tuple(found)


def _weights(model: Model, data: Data) -> dict[str, Array]:
    """What follows from M and its inverse: inverse weights of bodies, dofs and tendons, accelerations of actuators.

    With J the Jacobian of an object, its inverse weight is the mean diagonal of J M^-1 J^T.
    """
    rows, cols = m_entries(model.static)
    diagonal = np.flatnonzero(rows == cols)
    M = joint_inertia(model, data)
    fields = {"dof_M0": take(M, diagonal)}
    if model.ntendon:
        M = M + tendon_armature(model, data)
    rates = _rates(model, data)
    width = width_of((M, rates, data.cdof))
    trees = _trees(model.static)
    body, dof = [], []
    squares: Any = 0
    norms: Any = 0
    for these in trees:
        A = inverse(_blocks(M, these.entries, width))
        J = _first(_body_jacobian(model, data, these), width)
        body.append(_last(jnp.sum(product(J, A[:, :, None]) * J, axis=-1)))
        dof.append(_last(jnp.diagonal(A, axis1=-2, axis2=-1)))
        own = take(rates, these.dofs.reshape(-1)).reshape(*these.dofs.shape, *rates.shape[1:])
        R = _first(jnp.swapaxes(own, 1, 2), width)
        RA = product(R, A)
        squares = squares + jnp.sum(RA * R, axis=(1, 3))
        norms = norms + jnp.sum(RA * RA, axis=(1, 3))
    bodies = np.concatenate([these.bodies.reshape(-1) for these in trees])
    dofs = np.concatenate([these.dofs.reshape(-1) for these in trees])
    means = concat([x.reshape(-1, 2, 3, width).mean(2) for x in body])
    inverted = mask_product(
        _means(model.static), add_rows(concat([x.reshape(-1, width) for x in dof]), dofs, model.nv)
    )
    fields |= _point_masses(model, add_rows(means, bodies, model.nbody), inverted)
    if model.ntendon:
        fields["tendon_invweight0"] = squares.T[: model.ntendon]
    if model.nout:
        fields["actuator_acc0"] = safe.sqrt(norms.T[model.ntendon :])
    return fields


def _first(x: Array, width: int) -> Array:
    """Worlds first: (W, ...)."""
    return jnp.moveaxis(jnp.broadcast_to(x, (*x.shape[:-1], width)), -1, 0)


def _last(x: Array) -> Array:
    return jnp.moveaxis(x, 0, -1)


def _blocks(M: Array, entries: np.ndarray, width: int) -> Array:
    """Blocks of M (W, T, k, k) from its entries (nM, W)."""
    padded = concat([M, jnp.zeros((1, M.shape[-1]), M.dtype)])
    return _first(take(padded, entries.reshape(-1)).reshape(*entries.shape, -1), width)


def _body_jacobian(model: Model, data: Data, these: _Trees) -> Array:
    """Jacobians (T, n, 6, k, W) of the centres of mass of moving bodies, linear first."""
    offset = root_offset(model, data, data.xipos, np.arange(model.nbody))
    arm = take(offset, these.bodies.reshape(-1)).reshape(*these.bodies.shape, 1, 3, -1)
    axis = take(data.cdof, these.dofs.reshape(-1)).reshape(len(these.dofs), 1, -1, 6, data.cdof.shape[-1])
    turn, slide = axis[..., :3, :], axis[..., 3:, :]
    linear = slide + cross(turn, arm)
    turn = jnp.broadcast_to(turn, (*linear.shape[:-1], turn.shape[-1]))
    moves = jnp.asarray(these.moves[..., None, None], linear.dtype)
    return jnp.swapaxes(concat([linear, turn], axis=-2) * moves, -2, -3)


def _rates(model: Model, data: Data) -> Array:
    """Rates (nv, ntendon + nout, W) at which tendons and actuators lengthen with each degree of freedom."""
    rates = [jnp.zeros((0, model.nv, 1), data.qpos.dtype)]
    if model.ntendon:
        rates.append(tendon_jacobian(model, data, np.arange(model.ntendon)))
    if model.nout:
        rows, cols = moment_entries(model.static)
        moment = add_rows(data.work.actuator_moment, rows * model.nv + cols, model.nout * model.nv)
        rates.append(moment.reshape(model.nout, model.nv, -1))
    return jnp.swapaxes(concat(rates), 0, 1)


@functools.lru_cache(maxsize=64)
def _means(static: Static) -> np.ndarray:
    """The matrix (nv, nv) that averages over the axes of a rotation or translation in space."""
    part = static.jnt_dofadr[static.dof_jntid].copy()
    kind, offset = static.jnt_type[static.dof_jntid], np.arange(static.nv) - part
    part[(kind == JointType.FREE) & (offset >= 3)] += 3
    same = part[:, None] == part[None]
    return same / same.sum(1)


def _point_masses(model: Model, body: Array, dof: Array) -> dict[str, Array]:
    """Inverse weights; a body that only slides is a point mass as long as its frame is that of its inertia."""
    at_origin = jnp.all(model.body_ipos == 0, axis=1) & jnp.all(model.body_iquat[:, 1:] == 0, axis=1)
    sliding = jnp.asarray(model.body_simple == 2)[:, None] & at_origin
    light = 1 / jnp.maximum(model.body_mass, MINVAL)
    weights = jnp.stack([light, jnp.zeros_like(light)], axis=1)
    return {
        "body_invweight0": jnp.where(sliding[:, None], weights, body),
        "dof_invweight0": jnp.where(take(sliding, model.dof_bodyid), take(light, model.dof_bodyid), dof),
    }
