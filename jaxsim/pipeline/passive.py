"""Passive forces: springs, dampers, gravity compensation and the medium."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxsim.data import Data
from jaxsim.enums import DisableBit, JointType
from jaxsim.math import quaternion as quat
from jaxsim.math import safe
from jaxsim.math.axis import concat, mask_product, stitch, take, take_blocks
from jaxsim.math.stage import stage
from jaxsim.math.vector import cross, dot
from jaxsim.model import Model
from jaxsim.pipeline.added import added_by_actuators
from jaxsim.pipeline.adhesion import adhesion_force
from jaxsim.pipeline.call_hook import call_hook
from jaxsim.pipeline.fluid import fluid_force, has_fluid
from jaxsim.pipeline.inertia import root_offset
from jaxsim.pipeline.tendon import tendon_forces_to_dofs
from jaxsim.structure.trees import tree

__all__ = [
    "damping_slope",
    "damps_tendons",
    "passive",
    "polynomial",
    "spring_stretch",
    "tendon_dampers",
    "tendon_damping_slope",
    "tendon_springs",
    "tendon_stretch",
]


def polynomial(linear: Array, poly: Array, x: Array) -> Array:
    """Coefficient `linear + poly[0] x + poly[1] x^2 + ...` (n, W) of a force proportional to x.

    Args:
      linear: (n, W).
      poly: (n, order, W).
      x: (n, W); give |x| for a force that is odd in x.
    """
    total, power = linear, x
    for k in range(poly.shape[1]):
        total = total + poly[:, k] * power
        power = power * x
    return total


def passive(model: Model, data: Data) -> Data:
    """Computes qfrc_spring, qfrc_damper, qfrc_gravcomp, qfrc_fluid, qfrc_adhesion and their sum qfrc_passive."""
    off = model.opt.disableflags
    zero = jnp.zeros((model.nv, 1), data.qvel.dtype)
    spring = damper = gravcomp = zero
    if model.nv and not _is_off(model):
        if not off & DisableBit.SPRING:
            spring = _joint_springs(model, data) + _along_tendons(model, data, tendon_springs(model, data))
        if not off & DisableBit.DAMPER:
            damper = _joint_dampers(model, data) + _along_tendons(model, data, tendon_dampers(model, data))
        if not off & DisableBit.GRAVITY:
            gravcomp = _gravity_compensation(model, data)
    by_actuator = jnp.asarray(model.jnt_actgravcomp[model.dof_jntid].astype(bool)[:, None])
    fluid = fluid_force(model, data) if has_fluid(model) else zero
    total = spring + damper + fluid + jnp.where(by_actuator, 0, gravcomp)
    pull = adhesion_force(model, data)
    if pull is not None:
        data, total = data.replace(qfrc_adhesion=pull), total + pull
    data = data.replace(
        qfrc_spring=spring, qfrc_damper=damper, qfrc_gravcomp=gravcomp, qfrc_fluid=fluid, qfrc_passive=total
    )
    if model.hooks.passive is None or _is_off(model):
        return data
    return data.replace(qfrc_passive=total + call_hook(model, data, "passive", (model.nv,)))


def _is_off(model: Model) -> bool:
    """Whether springs and dampers are both off, and what comes with them."""
    both = DisableBit.SPRING | DisableBit.DAMPER
    return model.opt.disableflags & both == both


def spring_stretch(model: Model, data: Data) -> list[tuple[np.ndarray, np.ndarray, Array]]:
    """Displacements from qpos_spring, one per spring.

    Returns:
      (joints, dofs, x): x (n, W) with `dofs` (n) for slides and hinges; x (n, 3, W) with `dofs` (n, 3) for the
      translation of free joints, m, and for rotation vectors of ball and free joints, rad.
    """
    found: list[tuple[np.ndarray, np.ndarray, Array]] = []
    three = np.arange(3)
    scalar = np.flatnonzero(model.jnt_type >= JointType.SLIDE)
    if len(scalar):
        adr = model.jnt_qposadr[scalar]
        found.append((scalar, model.jnt_dofadr[scalar], take(data.qpos, adr) - take(model.qpos_spring, adr)))
    free = np.flatnonzero(model.jnt_type == JointType.FREE)
    if len(free):
        adr = (model.jnt_qposadr[free, None] + three).reshape(-1)
        x = take(data.qpos, adr) - take(model.qpos_spring, adr)
        found.append((free, model.jnt_dofadr[free, None] + three, x.reshape(len(free), 3, -1)))
    ball = np.flatnonzero(model.jnt_type <= JointType.BALL)
    if len(ball):
        shift = np.where(model.jnt_type[ball] == JointType.FREE, 3, 0)
        adr = model.jnt_qposadr[ball] + shift
        now = quat.normalize(take_blocks(data.qpos, adr, 4))
        x = quat.subtract(now, take_blocks(model.qpos_spring, adr, 4))
        found.append((ball, model.jnt_dofadr[ball, None] + shift[:, None] + three, x))
    return found


def _joint_springs(model: Model, data: Data) -> Array:
    """Generalized force (nv, W) of the springs of joints."""
    forces, dofs = [], []
    for joints, index, x in spring_stretch(model, data):
        linear, poly = take(model.jnt_stiffness, joints), take(model.jnt_stiffnesspoly, joints)
        forces.append(_pull(x, linear, poly))
        dofs.append(index.reshape(-1))
    return stitch(forces, dofs)


@stage
def _pull(x: Array, linear: Array, poly: Array) -> Array:
    """Forces (dofs, W) of springs that are stretched by x, (n, W) or (n, 3, W); see `polynomial`."""
    if x.ndim == 2:
        return -x * polynomial(linear, poly, x)
    f = -x * polynomial(linear, poly, safe.norm(x))[:, None]
    return f.reshape(-1, f.shape[-1])


def _damping_coefficients(model: Model) -> tuple[Array, Array]:
    """Linear (nv, W) and polynomial (nv, order, W) damping of dofs, with what actuators add."""
    linear = model.dof_damping + added_by_actuators(model, model.actuator_damping)
    return linear, model.dof_dampingpoly + added_by_actuators(model, model.actuator_dampingpoly)


def damping_slope(model: Model, data: Data) -> Array:
    """Derivative (nv, W) of minus the dof damper force with respect to velocity."""
    return _slope(*_damping_coefficients(model), data.qvel)


def tendon_damping_slope(model: Model, data: Data) -> Array:
    """Derivative (ntendon, W) of minus the tendon damper force with respect to the tendon's velocity."""
    return _slope(*_tendon_damping_coefficients(model), data.ten_velocity)


def _slope(linear: Array, poly: Array, v: Array) -> Array:
    """Derivative (n, W) of v (linear + poly[0] |v| + ...) with respect to v."""
    orders = jnp.asarray(np.arange(2, 2 + poly.shape[1])[None, :, None], poly.dtype)
    return polynomial(linear, poly * orders, safe.absolute(v))


def _joint_dampers(model: Model, data: Data) -> Array:
    linear, poly = _damping_coefficients(model)
    return -data.qvel * polynomial(linear, poly, jnp.abs(data.qvel))


def tendon_stretch(model: Model, data: Data) -> Array:
    """How far tendons are beyond the range of their relaxed lengths (ntendon, W), m.

    At an end of the range the derivative is that of a stretched spring: most ranges are a single length.
    """
    lower, upper = model.tendon_lengthspring[:, 0], model.tendon_lengthspring[:, 1]
    length = data.ten_length
    return jnp.where(length >= upper, length - upper, jnp.where(length <= lower, length - lower, 0))


def tendon_springs(model: Model, data: Data) -> Array | None:
    """Forces (ntendon, W) of the springs of tendons, N, positive where they push; None: there are none."""
    if model.opt.disableflags & DisableBit.SPRING:
        return None
    if not (model.has("tendon_stiffness") or model.has("tendon_stiffnesspoly")):
        return None
    x = tendon_stretch(model, data)
    return -x * polynomial(model.tendon_stiffness, model.tendon_stiffnesspoly, x)


def tendon_dampers(model: Model, data: Data) -> Array | None:
    """The same of their dampers."""
    if model.opt.disableflags & DisableBit.DAMPER or not damps_tendons(model):
        return None
    linear, poly = _tendon_damping_coefficients(model)
    v = data.ten_velocity
    return -v * polynomial(linear, poly, jnp.abs(v))


def _along_tendons(model: Model, data: Data, force: Array | None) -> Any:
    """Generalized force (nv, W) of forces along tendons."""
    return 0 if force is None else tendon_forces_to_dofs(model, data, force)


def damps_tendons(model: Model) -> bool:
    """Whether a tendon, or an actuator on one, may have damping."""
    names = ("tendon_damping", "tendon_dampingpoly", "actuator_damping", "actuator_dampingpoly")
    return model.ntendon > 0 and any(model.has(name) for name in names)


def _tendon_damping_coefficients(model: Model) -> tuple[Array, Array]:
    """Linear (ntendon, W) and polynomial (ntendon, order, W) damping of tendons, with what actuators add."""
    linear = model.tendon_damping + added_by_actuators(model, model.actuator_damping, to_tendons=True)
    poly = model.tendon_dampingpoly + added_by_actuators(model, model.actuator_dampingpoly, to_tendons=True)
    return linear, poly


def _gravity_compensation(model: Model, data: Data) -> Array:
    """Force of lifting each body by `gravcomp` times its weight, at its centre of mass.

    The weights are constant and the torques need only the first moments, so three sums per dof suffice.
    """
    weight = (model.body_mass * model.body_gravcomp)[:, None]
    arm = root_offset(model, data, data.xipos, np.arange(model.nbody))
    carried = tree(model.static).carried
    moment = mask_product(carried, weight * arm)
    lift = -model.opt.gravity[None]
    force = mask_product(carried, weight) * lift
    torque = cross(moment, lift)
    return dot(data.cdof, concat([torque, force], axis=1))
