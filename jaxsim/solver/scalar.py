"""Rows of joints and tendons: friction loss and limits (Computation chapter, "Constraint model"). Native layout.

Every function returns the block of rows and which of them are in use, or None if the model can have none.
"""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxsim.data import Data
from jaxsim.math import quaternion, safe
from jaxsim.math.axis import take
from jaxsim.model import Model
from jaxsim.solver.impedance import impedance, regularisation
from jaxsim.solver.jacobian import DenseJacobian, DofJacobian
from jaxsim.solver.parts import Part
from jaxsim.structure.constraints import RowLayout

__all__ = ["ball_limits", "dof_friction", "joint_limits", "tendon_friction", "tendon_limits"]

Built = tuple[Part, Array]


def dof_friction(model: Model, data: Data, layout: RowLayout) -> Built | None:
    """Friction loss of dofs: a bounded force against velocity; in use where the loss is not zero."""
    if not len(layout.dof_friction):
        return None
    loss = model.dof_frictionloss
    none = jnp.zeros_like(loss)
    constants = impedance(model, model.dof_solref, model.dof_solimp, none)
    R = regularisation(constants.d, model.dof_invweight0)
    rows = Part(
        J=DofJacobian(dof=layout.dof_friction, sign=np.ones(model.nv), nv=model.nv),
        D=1 / R,
        aref=-constants.b * data.qvel,
        low=-loss,
        high=loss,
    )
    return rows, loss > 0


def tendon_friction(model: Model, data: Data, layout: RowLayout) -> Built | None:
    """Friction loss of tendons; in use where the loss is positive."""
    if not len(layout.tendon_friction):
        return None
    loss = jnp.maximum(model.tendon_frictionloss, 0)
    constants = impedance(model, model.tendon_solref_fri, model.tendon_solimp_fri, jnp.zeros_like(loss))
    R = regularisation(constants.d, model.tendon_invweight0)
    rows = Part(
        J=DenseJacobian(J=data.work.ten_J[:, None]),
        D=1 / R,
        aref=-constants.b * data.ten_velocity,
        low=-loss,
        high=loss,
    )
    return rows, loss > 0


def _limits(
    model: Model,
    pos: Array,
    margin: Array,
    velocity: Array,
    inverse_inertia: Array,
    solref: Array,
    solimp: Array,
) -> tuple[dict[str, Array], Array]:
    """Fields of one-sided rows that keep `pos` above zero, and which are in use: those within their margin."""
    violation = pos - margin
    constants = impedance(model, solref, solimp, violation)
    R = regularisation(constants.d, inverse_inertia)
    active = violation < 0
    aref = -constants.b * velocity - constants.k * constants.d * violation
    zero = jnp.zeros((pos.shape[0], 1), aref.dtype)
    fields = {"D": jnp.where(active, 1 / R, 0), "aref": jnp.where(active, aref, 0)}
    return fields | {"low": zero, "high": zero + jnp.inf}, active


def _both(x: Array) -> Array:
    """The same numbers for lower and upper rows."""
    return jnp.concatenate([x, x])


def joint_limits(model: Model, data: Data, layout: RowLayout) -> Built | None:
    """Limits of hinges and slides: a lower row for each joint, then an upper row for each."""
    joints = layout.joint_limit
    if not len(joints):
        return None
    qpos = take(data.qpos, model.jnt_qposadr[joints])
    limits = model.jnt_range[joints]
    velocity = take(data.qvel, layout.joint_limit_dof)
    fields, active = _limits(
        model,
        jnp.concatenate([qpos - limits[:, 0], limits[:, 1] - qpos]),
        _both(model.jnt_margin[joints]),
        jnp.concatenate([velocity, -velocity]),
        _both(model.dof_invweight0[layout.joint_limit_dof]),
        _both(model.jnt_solref[joints]),
        _both(model.jnt_solimp[joints]),
    )
    sign = np.repeat([1.0, -1.0], len(joints))
    J = DofJacobian(dof=np.tile(layout.joint_limit_dof, 2), sign=sign, nv=model.nv)
    return Part(J=J, **fields), active


def tendon_limits(model: Model, data: Data, layout: RowLayout) -> Built | None:
    """Limits of tendon length: a lower row for each limited tendon, then an upper row for each."""
    tendons = layout.tendon_limit
    if not len(tendons):
        return None
    length = data.ten_length[tendons]
    limits = model.tendon_range[tendons]
    velocity = data.ten_velocity[tendons]
    J = data.work.ten_J[tendons]
    fields, active = _limits(
        model,
        jnp.concatenate([length - limits[:, 0], limits[:, 1] - length]),
        _both(model.tendon_margin[tendons]),
        jnp.concatenate([velocity, -velocity]),
        _both(model.tendon_invweight0[tendons]),
        _both(model.tendon_solref_lim[tendons]),
        _both(model.tendon_solimp_lim[tendons]),
    )
    return Part(J=DenseJacobian(J=jnp.concatenate([J, -J])[:, None]), **fields), active


def ball_limits(model: Model, data: Data, layout: RowLayout) -> Built | None:
    """Limits of ball joints: the rotation angle stays below the greater end of the range."""
    joints = layout.ball
    if not len(joints):
        return None
    address = model.jnt_qposadr[joints]
    dof = model.jnt_dofadr[joints]
    quat = quaternion.normalize(data.qpos[address[:, None] + np.arange(4)])
    axis, angle = safe.normalize(quaternion.logarithm(quat))
    limit = jnp.max(model.jnt_range[joints], axis=1)
    velocity = data.qvel[dof[:, None] + np.arange(3)]
    J = jnp.zeros((len(joints), model.nv, axis.shape[-1]), axis.dtype)
    J = J.at[np.arange(len(joints))[:, None], dof[:, None] + np.arange(3)].set(-axis)
    fields, active = _limits(
        model,
        limit - angle[:, 0],
        model.jnt_margin[joints],
        -jnp.sum(axis * velocity, axis=1),
        model.dof_invweight0[dof],
        model.jnt_solref[joints],
        model.jnt_solimp[joints],
    )
    return Part(J=DenseJacobian(J=J[:, None]), **fields), active
