"""Rows of limits: one-sided, in use within their margin (Computation chapter, "Limit"). Native layout.

A joint or a tendon has a lower and an upper row, one after the other; a ball joint one row, for its angle.
"""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from jaxsim.data import Data
from jaxsim.math import quaternion, safe
from jaxsim.math.axis import take
from jaxsim.model import Model
from jaxsim.solver.impedance import impedance, regularisation
from jaxsim.solver.jacobian import DenseJacobian, DofJacobian, Jacobian
from jaxsim.solver.rows import Rows
from jaxsim.solver.tendon_jacobian import tendon_jacobian

__all__ = ["ball_limit", "joint_limit", "tendon_limit"]

_FAR = 1.0
"""Rows that are farther from their margin than this, rad or m, are as if at it: an end of a range may be infinite."""


def joint_limit(model: Model, data: Data, joints: np.ndarray) -> tuple[Rows, Array]:
    """Rows of hinges and slides, and which are in use."""
    dof = model.jnt_dofadr[joints]
    sign = np.tile([1.0, -1.0], len(joints))
    return _rows(
        model,
        DofJacobian(dof=np.repeat(dof, 2), sign=sign, nv=model.nv),
        _to_both_ends(take(data.qpos, model.jnt_qposadr[joints]), take(model.jnt_range, joints)),
        _both(take(model.jnt_margin, joints)),
        jnp.asarray(sign[:, None], data.qvel.dtype) * _both(take(data.qvel, dof)),
        _both(take(model.dof_invweight0, dof)),
        _both(take(model.jnt_solref, joints)),
        _both(take(model.jnt_solimp, joints)),
    )


def tendon_limit(model: Model, data: Data, tendons: np.ndarray) -> tuple[Rows, Array]:
    """Rows of tendons, and which are in use."""
    sign = jnp.asarray(np.tile([1.0, -1.0], len(tendons))[:, None], data.qvel.dtype)
    return _rows(
        model,
        DenseJacobian(J=sign[:, None] * _both(tendon_jacobian(model, data, tendons))),
        _to_both_ends(take(data.ten_length, tendons), take(model.tendon_range, tendons)),
        _both(take(model.tendon_margin, tendons)),
        sign * _both(take(data.ten_velocity, tendons)),
        _both(take(model.tendon_invweight0, tendons)),
        _both(take(model.tendon_solref_lim, tendons)),
        _both(take(model.tendon_solimp_lim, tendons)),
    )


def ball_limit(model: Model, data: Data, joints: np.ndarray) -> tuple[Rows, Array]:
    """Rows of ball joints, whose rotation angle stays below the greater end of the range."""
    n = len(joints)
    dofs = model.jnt_dofadr[joints][:, None] + np.arange(3)
    coordinates = model.jnt_qposadr[joints][:, None] + np.arange(4)
    quat = quaternion.normalize(take(data.qpos, coordinates.reshape(-1)).reshape(n, 4, -1))
    limit = jnp.max(take(model.jnt_range, joints), axis=1)
    margin = take(model.jnt_margin, joints)
    rotation = quaternion.logarithm(quat)
    near = limit - lax.stop_gradient(safe.norm(rotation)) < margin
    spare = jnp.asarray(np.eye(3)[:1, :, None], rotation.dtype)
    axis, angle = safe.normalize(jnp.where(near[:, None], rotation, spare))
    velocity = take(data.qvel, dofs.reshape(-1)).reshape(n, 3, -1)
    places = np.zeros((n, 3, model.nv))
    places[np.arange(n)[:, None], np.arange(3), dofs] = 1
    J = -jnp.sum(jnp.asarray(places, axis.dtype)[..., None] * axis[:, :, None], axis=1)
    return _rows(
        model,
        DenseJacobian(J=J),
        jnp.where(near, limit - angle[:, 0], margin),
        margin,
        -jnp.sum(axis * velocity, axis=1),
        take(model.dof_invweight0, dofs[:, 0]),
        take(model.jnt_solref, joints),
        take(model.jnt_solimp, joints),
    )


def _both(x: Array) -> Array:
    """The same numbers for the lower and the upper row of each element."""
    return jnp.repeat(x, 2, axis=0)


def _to_both_ends(x: Array, ends: Array) -> Array:
    """Distances `(2 n, W)` of `x (n, W)` from the lower and the upper of two ends `(n, 2, W)`."""
    both = jnp.stack([x - ends[:, 0], ends[:, 1] - x], axis=1)
    return both.reshape(-1, both.shape[-1])


def _rows(
    model: Model,
    J: Jacobian,
    pos: Array,
    margin: Array,
    velocity: Array,
    inverse_inertia: Array,
    solref: Array,
    solimp: Array,
) -> tuple[Rows, Array]:
    """One-sided rows that keep `pos` above zero, and which are in use: those within their margin."""
    violation = jnp.minimum(pos - margin, _FAR)
    constants = impedance(model, solref, solimp, violation**2)
    R = regularisation(constants.d, inverse_inertia)
    active = violation < 0
    aref = -constants.b * velocity - constants.k * constants.d * violation
    zero = jnp.zeros((pos.shape[0], 1), aref.dtype)
    rows = Rows(
        J=(J,),
        D=jnp.where(active, 1 / R, 0),
        aref=jnp.where(active, aref, 0),
        low=zero,
        high=zero + jnp.inf,
        pos=pos,
        margin=margin,
    )
    return rows, active
