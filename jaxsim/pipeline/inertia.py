"""Centres of mass, spatial inertias and motion axes about them, and the joint-space inertia M.

Every spatial quantity of a kinematic tree is expressed in world axes at one point, the centre of mass of the whole
tree, so composite inertias are plain sums (R. Featherstone, Rigid Body Dynamics Algorithms, section 6.2).
"""

from __future__ import annotations

import functools

import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxsim.data import Data
from jaxsim.enums import JointType
from jaxsim.math import spatial
from jaxsim.math.axis import add_rows, concat, mask_product, take
from jaxsim.math.constants import MINVAL
from jaxsim.math.stage import stage
from jaxsim.math.vector import cross, scale
from jaxsim.model import Model
from jaxsim.pipeline.added import added_by_actuators
from jaxsim.pipeline.tendon.armature import tendon_armature
from jaxsim.pytree import Static
from jaxsim.solver import linalg
from jaxsim.structure.sparsity import tree_structure
from jaxsim.structure.trees import m_entries, tree

__all__ = ["com_pos", "crb", "joint_inertia", "root_offset", "subtree_mass"]


def root_offset(model: Model, data: Data, points: Array, bodies: np.ndarray) -> Array:
    """Vectors (n, 3, W) to points of bodies from the centre of mass of their trees."""
    return points - take(data.subtree_com, model.body_rootid[bodies])


def subtree_mass(model: Model) -> Array:
    """Masses (nbody, 1 or W) of bodies and all below them, of `body_mass` as it is: it may have been replaced."""
    return mask_product(tree(model.static).descendants, model.body_mass)


def com_pos(model: Model, data: Data) -> Data:
    """Computes subtree_com, cinert and cdof."""
    moment = mask_product(tree(model.static).descendants, scale(model.body_mass[:, None], data.xipos))
    data = data.replace(subtree_com=_centres(moment, subtree_mass(model)[:, None], data.xipos))
    offset = root_offset(model, data, data.xipos, np.arange(model.nbody))
    cinert = _inertias(model.body_inertia, data.ximat, offset, model.body_mass)
    cdof = _motion_axes(data.xaxis, data.xmat, data.xanchor, data.subtree_com, static=model.static)
    return data.replace(cinert=cinert, cdof=cdof)


@stage
def _centres(moment: Array, mass: Array, own: Array) -> Array:
    heavy = mass >= MINVAL
    return jnp.where(heavy, moment / jnp.where(heavy, mass, 1), own)


@stage
def _inertias(inertia: Array, rotation: Array, offset: Array, mass: Array) -> Array:
    """Spatial inertias of the bodies; the world has none."""
    cinert = spatial.inertia_about(inertia, rotation, offset, mass)
    is_body = np.minimum(np.arange(cinert.shape[0]), 1)[:, None, None]
    return cinert * jnp.asarray(is_body, cinert.dtype)


@functools.lru_cache(maxsize=64)
def _axis_rows(static: Static) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Where the axis of each dof is found, which are rotations, and the bodies whose own axes are used.

    Axes are looked up in the list of joint axes, then three columns of the rotation of every listed body, then the
    three world axes.
    """
    ball = [j for j in range(static.njnt) if static.jnt_type[j] in (JointType.FREE, JointType.BALL)]
    source, rotation = np.zeros(static.nv, int), np.ones(static.nv)
    for j in range(static.njnt):
        kind, d = JointType(static.jnt_type[j]), static.jnt_dofadr[j]
        if kind == JointType.FREE:
            source[d : d + 3] = static.njnt + 3 * len(ball) + np.arange(3)
            rotation[d : d + 3] = 0
            d = d + 3
        if kind in (JointType.FREE, JointType.BALL):
            source[d : d + 3] = static.njnt + 3 * ball.index(j) + np.arange(3)
        else:
            source[d] = j
            rotation[d] = kind == JointType.HINGE
    return source, rotation, static.jnt_bodyid[np.array(ball, int)]


@stage
def _motion_axes(xaxis: Array, xmat: Array, xanchor: Array, com: Array, *, static: Static) -> Array:
    """Cdof (nv, 6, W): for a rotation (k, k x r), r from the anchor to the tree's centre of mass; else (0, k)."""
    source, rotation, bodies = _axis_rows(static)
    parts = [xaxis]
    if len(bodies):
        columns = jnp.swapaxes(take(xmat, bodies), 1, 2)
        parts.append(columns.reshape(3 * len(bodies), 3, columns.shape[-1]))
    if (rotation == 0).any():
        parts.append(jnp.eye(3, dtype=xaxis.dtype)[:, :, None])
    axis = take(concat(parts), source)
    arm = take(com, static.body_rootid[static.dof_bodyid]) - take(xanchor, static.dof_jntid)
    turns = jnp.asarray(rotation[:, None, None], axis.dtype)
    return concat([axis * turns, turns * cross(axis, arm) + (1 - turns) * axis], axis=1)


def crb(model: Model, data: Data) -> Data:
    """Computes M by the composite rigid body algorithm, with armatures."""
    if not model.nv:
        return data
    entries = joint_inertia(model, data)
    if model.ntendon:
        entries = entries + tendon_armature(model, data)
    return data.replace(M=entries)


def joint_inertia(model: Model, data: Data) -> Array:
    """Entries (nM, W) of M, without the inertia of tendons."""
    below = tree(model.static).descendants.copy()
    below[0] = 0
    composite = mask_product(below, data.cinert)
    momentum = _momenta(composite, data.cdof, static=model.static)
    armature = model.dof_armature + added_by_actuators(model, model.actuator_armature)
    return _entries(data.cdof, momentum, armature, static=model.static)


@stage
def _momenta(composite: Array, cdof: Array, *, static: Static) -> Array:
    """Momentum (nv, 6, W) of what each dof carries when it moves at unit speed."""
    return spatial.mul_inertia(take(composite, static.dof_bodyid), cdof)


@stage
def _entries(cdof: Array, momentum: Array, armature: Array, *, static: Static) -> Array:
    rows, cols = m_entries(static)
    entries = linalg.dot_tree(tree_structure(static.dof_parentid), cdof, momentum)
    return entries + add_rows(armature, np.flatnonzero(rows == cols), len(rows))
