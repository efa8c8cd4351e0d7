"""Velocities of bodies and motion axes, bias forces and, after the solver, accelerations and interaction forces.

Recursive Newton-Euler in world axes about the tree's centre of mass, with sums over ancestors and descendants in place
of its two passes (R. Featherstone, Rigid Body Dynamics Algorithms, section 5.3).
"""

from __future__ import annotations

import functools

import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxsim.data import Data
from jaxsim.enums import DisableBit
from jaxsim.math import spatial
from jaxsim.math.axis import concat, mask_product, split, take
from jaxsim.math.constants import MINVAL
from jaxsim.math.stage import stage
from jaxsim.math.vector import cross, dot, matvec, matvec_transposed, scale
from jaxsim.model import Model
from jaxsim.pipeline.inertia import root_offset, subtree_mass
from jaxsim.pytree import Static
from jaxsim.structure.trees import tree

__all__ = [
    "apply_wrenches",
    "body_accelerations",
    "com_vel",
    "project",
    "rne",
    "rne_postconstraint",
    "subtree_vel",
]


@functools.lru_cache(maxsize=64)
def _paths(static: Static) -> np.ndarray:
    masks = tree(static)
    return np.concatenate([masks.path, masks.before])


def com_vel(model: Model, data: Data) -> Data:
    """Computes cvel and cdof_dot."""
    if not model.nv:
        return data
    sums = mask_product(_paths(model.static), scale(data.qvel[:, None], data.cdof))
    cvel, before = split(sums, (model.nbody, model.nv))
    return data.replace(cvel=cvel, cdof_dot=_rates(before, data.cdof))


@stage
def _rates(before: Array, cdof: Array) -> Array:
    return spatial.cross_motion(before, cdof)


def _gravity(model: Model) -> Array:
    """Acceleration of the world frame (6, W) that stands for gravity."""
    g = model.opt.gravity
    if model.opt.disableflags & DisableBit.GRAVITY:
        g = jnp.zeros_like(g)
    return jnp.concatenate([jnp.zeros_like(g), -g])


@stage
def _momenta(cinert: Array, cvel: Array) -> Array:
    return spatial.mul_inertia(cinert, cvel)


@stage
def _wrenches(cinert: Array, cvel: Array, momentum: Array, cacc: Array) -> Array:
    """Forces (nbody, 6, W) that the bodies' motion requires: I a + v x* I v."""
    return spatial.mul_inertia(cinert, cacc) + spatial.cross_force(cvel, momentum)


def _wrenches_of_motion(data: Data, cacc: Array) -> Array:
    return _wrenches(data.cinert, data.cvel, _momenta(data.cinert, data.cvel), cacc)


@stage
def project(cdof: Array, wrenches: Array, *, static: Static) -> Array:
    """Generalized force (nv, W) of wrenches on bodies about the centres of mass of their trees."""
    return dot(cdof, mask_product(tree(static).carried, wrenches))


def rne(model: Model, data: Data, flg_acc: bool = False) -> Data:
    """Computes qfrc_bias: Coriolis, centrifugal and gravitational forces; with `flg_acc` those of `qacc` too."""
    if not model.nv:
        return data
    if flg_acc:
        cacc = body_accelerations(model, data)
    else:
        rate = scale(data.qvel[:, None], data.cdof_dot)
        cacc = mask_product(tree(model.static).path, rate) + _gravity(model)
    wrenches = _wrenches_of_motion(data, cacc)
    return data.replace(qfrc_bias=project(data.cdof, wrenches, static=model.static))


def apply_wrenches(model: Model, data: Data, force: Array, torque: Array, points: Array) -> Array:
    """Generalized force (nv, W) of forces and torques (nbody, 3, W) applied to bodies at points, world axes."""
    arm = root_offset(model, data, points, np.arange(model.nbody))
    wrenches = concat([torque + cross(arm, force), force], axis=1)
    return project(data.cdof, wrenches, static=model.static)


def body_accelerations(model: Model, data: Data) -> Array:
    """Accelerations cacc (nbody, 6, W) of bodies, gravity included, from `qacc`."""
    cacc = jnp.broadcast_to(_gravity(model), (model.nbody, 6, model.opt.gravity.shape[-1]))
    if not model.nv:
        return cacc
    rate = scale(data.qvel[:, None], data.cdof_dot) + scale(data.qacc[:, None], data.cdof)
    return cacc + mask_product(tree(model.static).path, rate)


def rne_postconstraint(model: Model, data: Data, acting: Array) -> Data:
    """Computes cacc, cfrc_ext and cfrc_int from `qacc`.

    Args:
      model: the model.
      data: after the solver.
      acting: wrenches of contacts, equality constraints and tendons on bodies (nbody, 6, W), torque first, about the
        centres of mass of the trees.
    """
    arm = root_offset(model, data, data.xipos, np.arange(model.nbody))
    force, torque = split(data.xfrc_applied, (3, 3), axis=1)
    external = concat([torque + cross(arm, force), force], axis=1) + acting
    is_body = np.ones((model.nbody, 1, 1))
    is_body[0] = 0
    external = external * jnp.asarray(is_body, external.dtype)
    cacc = body_accelerations(model, data)
    wrenches = _wrenches_of_motion(data, cacc) - external
    cfrc_int = mask_product(tree(model.static).descendants, wrenches)
    return data.replace(cacc=cacc, cfrc_ext=external, cfrc_int=cfrc_int)


def subtree_vel(model: Model, data: Data) -> Data:
    """Computes subtree_linvel and subtree_angmom, the latter about each subtree's centre of mass."""
    masks = tree(model.static)
    arm = root_offset(model, data, data.xipos, np.arange(model.nbody))
    velocity = spatial.shift_motion(data.cvel, arm)
    angular, linear = split(velocity, (3, 3), axis=1)
    momentum = model.body_mass[:, None] * linear
    own = matvec_transposed(data.ximat, angular) * model.body_inertia
    spin = matvec(data.ximat, own)
    total = mask_product(masks.descendants, momentum)
    linvel = total / jnp.maximum(subtree_mass(model), MINVAL)[:, None]
    about_root = spin + cross(arm, momentum)
    about_root = mask_product(masks.descendants, about_root)
    moved = root_offset(model, data, data.subtree_com, np.arange(model.nbody))
    angmom = about_root - cross(moved, total)
    roots = np.flatnonzero((model.body_parentid == 0) & (np.arange(model.nbody) > 0))
    if len(roots):
        apart = take(data.subtree_com, roots) - data.subtree_com[:1]
        orbital = jnp.sum(cross(apart, take(total, roots)), axis=0, keepdims=True)
        angmom = concat([angmom[:1] + orbital, angmom[1:]])
    return data.replace(subtree_linvel=linvel, subtree_angmom=angmom)
