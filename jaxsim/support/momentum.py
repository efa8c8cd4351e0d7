"""Linear maps from velocity to the motion of a subtree as a whole."""

from __future__ import annotations

import jax.numpy as jnp
from jax import Array
from jax.typing import ArrayLike

from jaxsim.data import Data
from jaxsim.math.axis import mask_product, split, take
from jaxsim.math.constants import MINVAL
from jaxsim.math.gather import rows_by_world
from jaxsim.math.spatial import mul_inertia
from jaxsim.math.vector import cross, scale
from jaxsim.model import Model
from jaxsim.pytree import Static
from jaxsim.structure.trees import tree
from jaxsim.support.lifted import check_index, lifted

__all__ = ["angmom_mat", "jac_subtree_com"]


def _inside(static: Static, body: Array, like: Array) -> Array:
    """1 for bodies (nbody, W) of the subtree of a body (W,), the world left out."""
    below = tree(static).descendants.copy()
    below[:, 0] = 0
    return rows_by_world(jnp.asarray(below[..., None], like.dtype), body)


def _momenta(static: Static, cdof: Array, cinert: Array, body: Array) -> Array:
    """Momentum (nv, 6, W) of a subtree at unit speed of each dof, about the centre of mass of the dof's tree."""
    own = scale(_inside(static, body, cdof)[:, None], cinert)
    return mul_inertia(mask_product(tree(static).carried, own), cdof)


def _jac_subtree_com(static: Static, cdof: Array, cinert: Array, body: Array) -> Array:
    """Native `jac_subtree_com`: linear momentum over mass."""
    momentum = _momenta(static, cdof, cinert, body)[:, 3:]
    mass = jnp.sum(_inside(static, body, cdof) * cinert[:, 9], axis=0)
    return jnp.moveaxis(momentum / jnp.maximum(mass, MINVAL), 0, 1)


def _angmom_mat(static: Static, cdof: Array, cinert: Array, com: Array, body: Array) -> Array:
    """Native `angmom_mat`: moved from the tree's centre of mass to the subtree's."""
    angular, linear = split(_momenta(static, cdof, cinert, body), (3, 3), axis=1)
    trees = take(com, static.body_rootid[static.dof_bodyid])
    moved = angular - cross(rows_by_world(com, body)[None] - trees, linear)
    return jnp.moveaxis(moved, 0, 1)


def jac_subtree_com(model: Model, data: Data, body: ArrayLike) -> Array:
    """Jacobian (3, nv) of the velocity of a subtree's centre of mass, world frame (mj_jacSubtreeCom).

    Args:
      model: the model.
      data: after `com_pos`.
      body: root of the subtree; it may be traced.
    """
    check_index("body", body, model.nbody)
    return lifted(_jac_subtree_com, model.static)(data.cdof, data.cinert, body)


def angmom_mat(model: Model, data: Data, body: ArrayLike) -> Array:
    """Matrix (3, nv) that maps qvel to a subtree's angular momentum about its centre of mass (mj_angmomMat).

    Args:
      model: the model.
      data: after `com_pos`.
      body: root of the subtree; it may be traced.
    """
    check_index("body", body, model.nbody)
    return lifted(_angmom_mat, model.static)(data.cdof, data.cinert, data.subtree_com, body)
