"""Jacobians of points of bodies, and their rates of change.

A column is the velocity that unit speed of a degree of freedom gives: `(s_v + s_w x r, s_w)` for its motion axis
(s_w, s_v) at the centre of mass of the tree and r from there to the point.
"""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.typing import ArrayLike

from jaxsim.data import Data
from jaxsim.math.axis import mask_product, split
from jaxsim.math.gather import rows_by_world
from jaxsim.math.spatial import cross_motion, shift_motion
from jaxsim.math.vector import cross, scale
from jaxsim.model import Model
from jaxsim.pytree import Static
from jaxsim.structure.trees import tree, up_to_joint
from jaxsim.support.lifted import check_index, lifted

__all__ = ["jac", "jac_body", "jac_body_com", "jac_dot", "jac_geom", "jac_site"]


def _arm(static: Static, com: Array, point: Array, body: Array) -> Array:
    """Vector (3, W) to a point of a body (W,) from the centre of mass of its tree."""
    return point - rows_by_world(com, jnp.asarray(static.body_rootid)[body])


def _moving(static: Static, body: Array, dtype: np.dtype) -> Array:
    """1 for degrees of freedom (nv, W) that move a body (W,)."""
    return rows_by_world(jnp.asarray(tree(static).path[..., None], dtype), body)


def _jac(static: Static, cdof: Array, com: Array, point: Array, body: Array) -> tuple[Array, Array]:
    """Native `jac`: (3, nv, W) each."""
    moving = _moving(static, body, cdof.dtype)
    angular, linear = split(scale(moving[:, None], cdof), (3, 3), axis=1)
    jacp = linear + cross(angular, _arm(static, com, point, body)[None])
    return jnp.moveaxis(jacp, 0, 1), jnp.moveaxis(angular, 0, 1)


def _of_element(
    static: Static, cdof: Array, com: Array, points: Array, owner: Array, index: Array
) -> tuple[Array, Array]:
    """The same for the position of one of several elements; `owner` are their bodies."""
    body = rows_by_world(owner, index)
    return _jac(static, cdof, com, rows_by_world(points, index), body)


def _jac_dot(
    static: Static, cdof: Array, com: Array, qvel: Array, point: Array, body: Array
) -> tuple[Array, Array]:
    """Native `jac_dot`: the axis of each dof is fixed in what the end of its joint moves."""
    moving, arm = _moving(static, body, cdof.dtype), _arm(static, com, point, body)
    speeds = scale(qvel[:, None], cdof)
    ends = mask_product(up_to_joint(static), speeds)
    own = jnp.sum(scale(moving[:, None], speeds), axis=0)
    velocity = shift_motion(own, arm)[3:]
    angular, linear = split(scale(moving[:, None], cross_motion(ends, cdof)), (3, 3), axis=1)
    axis = scale(moving[:, None], cdof[:, :3])
    jacp = linear + cross(angular, arm[None]) + cross(axis, velocity[None])
    return jnp.moveaxis(jacp, 0, 1), jnp.moveaxis(angular, 0, 1)


def jac(model: Model, data: Data, point: ArrayLike, body: ArrayLike) -> tuple[Array, Array]:
    """Jacobians (3, nv) of the velocity and the angular velocity, world frame, of a point of a body (mj_jac).

    Args:
      model: the model.
      data: after `com_pos`.
      point: (3,), m, world frame; it moves with the body.
      body: its id; it may be traced.
    """
    check_index("body", body, model.nbody)
    return lifted(_jac, model.static)(data.cdof, data.subtree_com, jnp.asarray(point), body)


def jac_dot(model: Model, data: Data, point: ArrayLike, body: ArrayLike) -> tuple[Array, Array]:
    """Rates of change (3, nv) of the Jacobians of a point that moves with its body (mj_jacDot); see `jac`."""
    check_index("body", body, model.nbody)
    return lifted(_jac_dot, model.static)(data.cdof, data.subtree_com, data.qvel, jnp.asarray(point), body)


def _element(
    model: Model, data: Data, what: str, points: Array, owner: np.ndarray, index: ArrayLike
) -> tuple[Array, Array]:
    check_index(what, index, len(owner))
    return lifted(_of_element, model.static)(data.cdof, data.subtree_com, points, jnp.asarray(owner), index)


def jac_body(model: Model, data: Data, body: ArrayLike) -> tuple[Array, Array]:
    """Jacobians (3, nv) of a body's origin (mj_jacBody); see `jac`."""
    return _element(model, data, "body", data.xpos, np.arange(model.nbody, dtype=np.int32), body)


def jac_body_com(model: Model, data: Data, body: ArrayLike) -> tuple[Array, Array]:
    """Jacobians (3, nv) of a body's centre of mass (mj_jacBodyCom); see `jac`."""
    return _element(model, data, "body", data.xipos, np.arange(model.nbody, dtype=np.int32), body)


def jac_geom(model: Model, data: Data, geom: ArrayLike) -> tuple[Array, Array]:
    """Jacobians (3, nv) of a geom's centre (mj_jacGeom); see `jac`."""
    return _element(model, data, "geom", data.geom_xpos, model.geom_bodyid, geom)


def jac_site(model: Model, data: Data, site: ArrayLike) -> tuple[Array, Array]:
    """Jacobians (3, nv) of a site (mj_jacSite); see `jac`."""
    return _element(model, data, "site", data.site_xpos, model.site_bodyid, site)
