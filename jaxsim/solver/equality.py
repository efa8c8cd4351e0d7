"""Equality rows (Computation chapter, "Equality"). Native layout.

Connect and weld hold a point of body 1 on a point of body 2; a weld also holds orientations together, by the vector
part of `conj(q2) q1`. Their references subtract the acceleration of the error at constant velocity, `Jdot v`.
"""

from __future__ import annotations

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxsim.data import Data
from jaxsim.enums import EqType, ObjType
from jaxsim.math import quaternion
from jaxsim.math.axis import add_rows, concat, mask_product, take
from jaxsim.math.vector import cross, dot, matvec
from jaxsim.model import Model
from jaxsim.solver.impedance import Impedance, impedance, regularisation
from jaxsim.solver.jacobian import DenseJacobian
from jaxsim.solver.rows import Rows
from jaxsim.solver.tendon_jacobian import tendon_jacobian
from jaxsim.structure.trees import tree

__all__ = ["connect", "joint_equality", "tendon_equality", "tendon_equality_forces", "weld"]


class _Error(NamedTuple):
    """What should be zero, k rows.

    Attributes:
      value: `(k, W)`.
      J: `(k, nv, W)`.
      bias: Jdot v, `(k, W)`.
      inverse_inertia: approximate diagonal of J M^-1 J^T, `(k, W)`.
    """

    value: Array
    J: Array
    bias: Array
    inverse_inertia: Array


class _Side(NamedTuple):
    """One end of each attachment, a frame fixed in a body. Native layout, world frame.

    Attributes:
      point: origin, `(n, 3, W)`.
      quat: orientation, `(n, 4, W)`.
      J: Jacobians of translation and rotation, each `(n, 3, nv, W)`.
      bias: accelerations of the two at constant velocity, each `(n, 3, W)`.
      omega: angular velocity, `(n, 3, W)`.
      inverse_inertia: of translation and rotation, each `(n, W)`.
    """

    point: Array
    quat: Array
    J: tuple[Array, Array]
    bias: tuple[Array, Array]
    omega: Array
    inverse_inertia: tuple[Array, Array]


def connect(model: Model, data: Data, ids: np.ndarray) -> tuple[Rows, Array]:
    """Rows of position of connects, three each."""
    error = _position_error(*_sides(model, data, ids))
    return _rows(model, data, np.repeat(ids, 3), _square(error, 3), error)


def weld(model: Model, data: Data, ids: np.ndarray) -> tuple[Rows, Array]:
    """Rows of welds, three of position and three of orientation each; the size of the error is that of all six."""
    first, second = _sides(model, data, ids)
    scale = take(model.eq_data, ids)[:, 10]
    parts = zip(_position_error(first, second), _orientation_error(first, second, scale), strict=True)
    error = _Error(*(_six(a, b, len(ids)) for a, b in parts))
    return _rows(model, data, np.repeat(ids, 6), _square(error, 6), error)


def _square(error: _Error, n: int) -> Array:
    """Of n rows each that make an error the square of its size, by row."""
    parts = error.value.reshape(-1, n, error.value.shape[-1])
    return jnp.repeat(dot(parts, parts), n, axis=0)


def _six(position: Array, orientation: Array, n: int) -> Array:
    """Rows of position and of orientation, three and three of each of n welds."""
    split = [x.reshape(n, 3, *x.shape[1:]) for x in (position, orientation)]
    joined = concat(split, axis=1)
    return joined.reshape(6 * n, *joined.shape[2:])


def joint_equality(model: Model, data: Data, ids: np.ndarray) -> tuple[Rows, Array]:
    """A polynomial relation between two joint positions, or one joint at a constant."""
    joints = np.stack([model.eq_obj1id[ids], np.maximum(model.eq_obj2id[ids], 0)])
    address, dof = model.jnt_qposadr[joints], model.jnt_dofadr[joints]
    position = [take(data.qpos, a) - take(model.qpos0, a) for a in address]
    J = [jnp.asarray(np.eye(model.nv)[d], data.qpos.dtype)[..., None] for d in dof]
    inertia = [take(model.dof_invweight0, d) for d in dof]
    return _relation(model, data, ids, position, J, inertia)


def tendon_equality(model: Model, data: Data, ids: np.ndarray) -> tuple[Rows, Array]:
    """A polynomial relation between two tendon lengths, or one length at a constant."""
    tendons, position = _tendons(model, data, ids)
    J = [tendon_jacobian(model, data, t) for t in tendons]
    inertia = [take(model.tendon_invweight0, t) for t in tendons]
    return _relation(model, data, ids, position, J, inertia)


def _tendons(model: Model, data: Data, ids: np.ndarray) -> tuple[np.ndarray, list[Array]]:
    """The tendons (2, n) of relations, and by how much they are longer than their references (n, W), m."""
    tendons = np.stack([model.eq_obj1id[ids], np.maximum(model.eq_obj2id[ids], 0)])
    return tendons, [take(data.ten_length, t) - take(model.tendon_length0, t) for t in tendons]


def tendon_equality_forces(model: Model, data: Data, ids: np.ndarray, force: Array) -> Array:
    """Forces (ntendon, W) along tendons, N, of the forces (n, W) of the rows of `tendon_equality`."""
    tendons, position = _tendons(model, data, ids)
    _, slope = _polynomial(model, ids, position[1])
    return add_rows(concat([force, -slope * force]), tendons.reshape(-1), model.ntendon)


def _relation(
    model: Model,
    data: Data,
    ids: np.ndarray,
    position: list[Array],
    J: list[Array],
    inverse_inertia: list[Array],
) -> tuple[Rows, Array]:
    """Rows `y - c0 - (c1 x + c2 x^2 + c3 x^3 + c4 x^4)` of positions y and x against their references."""
    paired = jnp.asarray(model.eq_obj2id[ids] >= 0)[:, None]
    wanted, slope = _polynomial(model, ids, position[1])
    value = position[0] - wanted
    error = _Error(
        value=value,
        J=J[0] - slope[:, None] * J[1],
        bias=jnp.zeros_like(value),
        inverse_inertia=inverse_inertia[0] + jnp.where(paired, inverse_inertia[1], 0),
    )
    return _rows(model, data, ids, value * value, error)


def _polynomial(model: Model, ids: np.ndarray, x: Array) -> tuple[Array, Array]:
    """What relations want y to be at x, and the slope of that; where there is no x a constant."""
    paired = jnp.asarray(model.eq_obj2id[ids] >= 0)[:, None]
    c = [take(model.eq_data, ids)[:, k] for k in range(5)]
    x = jnp.where(paired, x, 0)
    value = c[0] + x * (c[1] + x * (c[2] + x * (c[3] + x * c[4])))
    slope = c[1] + x * (2 * c[2] + x * (3 * c[3] + x * 4 * c[4]))
    return value, jnp.where(paired, slope, 0)


def _rows(model: Model, data: Data, ids: np.ndarray, square: Array, error: _Error) -> tuple[Rows, Array]:
    """Unbounded rows that drive an error to zero; `ids` and the square of the whole error's size are by row."""
    active = take(data.eq_active, ids)
    constants: Impedance = impedance(model, take(model.eq_solref, ids), take(model.eq_solimp, ids), square)
    R = regularisation(constants.d, error.inverse_inertia)
    velocity = jnp.sum(error.J * data.qvel, axis=1)
    aref = -constants.b * velocity - constants.k * constants.d * error.value - error.bias
    unbounded = jnp.full((len(ids), 1), jnp.inf, aref.dtype)
    rows = Rows(
        J=(DenseJacobian(J=error.J),),
        D=jnp.where(active, 1 / R, 0),
        aref=jnp.where(active, aref, 0),
        low=-unbounded,
        high=unbounded,
        pos=error.value,
        margin=jnp.zeros_like(error.value),
    )
    return rows, active


def _sides(model: Model, data: Data, ids: np.ndarray) -> tuple[_Side, _Side]:
    return _side(model, data, ids, 0), _side(model, data, ids, 1)


def _side(model: Model, data: Data, ids: np.ndarray, side: int) -> _Side:
    """The frames of body 1 (`side` 0) or body 2 (`side` 1) of each attachment."""
    objects = (model.eq_obj2id if side else model.eq_obj1id)[ids]
    on_site = model.eq_objtype[ids] == ObjType.SITE
    site = np.where(on_site, objects, 0)
    body = np.where(on_site, model.site_bodyid[site], objects) if model.nsite else objects
    # connect: anchor of body 1, of body 2; weld: of body 2, of body 1, then the pose of body 2 in body 1
    start = 3 * np.where(model.eq_type[ids] == EqType.WELD, 1 - side, side)
    anchor = model.eq_data[ids[:, None], start[:, None] + np.arange(3)]
    turn = jnp.asarray(np.eye(4)[np.zeros(len(ids), int)], anchor.dtype)[..., None]
    if side == 0:
        turn = jnp.where((model.eq_type[ids] == EqType.WELD)[:, None, None], model.eq_data[ids, 6:10], turn)
    if model.nsite:
        anchor = jnp.where(on_site[:, None, None], model.site_pos[site], anchor)
        turn = jnp.where(on_site[:, None, None], model.site_quat[site], turn)

    moves = tree(model.static).path[body]
    mask = jnp.asarray(moves, data.cdof.dtype)[:, :, None, None]
    point = take(data.xpos, body) + matvec(take(data.xmat, body), anchor)
    centre = take(data.subtree_com, model.body_rootid[body])
    arm = point - centre
    axis = mask * data.cdof[None, :, :3]
    translation = mask * data.cdof[None, :, 3:] + cross(axis, arm[:, None])
    drift = mask_product(moves, data.cdof_dot * data.qvel[:, None])
    cvel = take(data.cvel, body)
    omega = cvel[:, :3]
    velocity = cvel[:, 3:] + cross(omega, arm)
    return _Side(
        point=point,
        quat=quaternion.mul(take(data.xquat, body), turn),
        J=(jnp.swapaxes(translation, 1, 2), jnp.swapaxes(axis, 1, 2)),
        bias=(drift[:, 3:] + cross(drift[:, :3], arm) + cross(omega, velocity), drift[:, :3]),
        omega=omega,
        inverse_inertia=(model.body_invweight0[body, 0], model.body_invweight0[body, 1]),
    )


def _flat(x: Array) -> Array:
    """Joins the first two axes."""
    return x.reshape(-1, *x.shape[2:])


def _position_error(a: _Side, b: _Side) -> _Error:
    return _Error(
        value=_flat(a.point - b.point),
        J=_flat(a.J[0] - b.J[0]),
        bias=_flat(a.bias[0] - b.bias[0]),
        inverse_inertia=jnp.repeat(a.inverse_inertia[0] + b.inverse_inertia[0], 3, axis=0),
    )


def _orientation_error(a: _Side, b: _Side, scale: Array) -> _Error:
    """Vector part of `conj(qb) qa` times the torque scale.

    Its rate is `G (omega_a - omega_b) / 2` with `G w` the vector part of `conj(qb) w qa`.
    """
    left, right = quaternion.conjugate(b.quat), a.quat
    scale = scale[:, None]

    def turned(w: Array) -> Array:
        """Vector part of conj(qb) w qa for quaternions w (n, 4, W)."""
        return quaternion.mul(quaternion.mul(left, w), right)[:, 1:]

    def pure(v: Array) -> Array:
        return jnp.concatenate([jnp.zeros_like(v[:, :1]), v], axis=1)

    axes = jnp.asarray(np.eye(4)[1:], right.dtype)[:, None, :, None]
    G = [turned(jnp.broadcast_to(axis, right.shape)) for axis in axes]
    J = a.J[1] - b.J[1]
    J = 0.5 * scale[:, None] * sum(g[:, :, None] * J[:, k, None] for k, g in enumerate(G))
    difference = a.omega - b.omega
    acceleration = a.bias[1] - b.bias[1] + cross(difference, b.omega)
    centripetal = -0.5 * dot(difference, difference)[:, None]
    bias = turned(pure(acceleration)) + centripetal * quaternion.mul(left, right)[:, 1:]
    return _Error(
        value=_flat(scale * quaternion.mul(left, right)[:, 1:]),
        J=_flat(jnp.asarray(J)),
        bias=_flat(0.5 * scale * bias),
        inverse_inertia=jnp.repeat(a.inverse_inertia[1] + b.inverse_inertia[1], 3, axis=0),
    )
