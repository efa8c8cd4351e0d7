"""Jacobians, inertia, forces, rays and names, with MJX's signatures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array
from jax.typing import ArrayLike

from jaxsim.interop.mujoco import as_model
from jaxsim.mjx.enums import JacobianType
from jaxsim.mjx.records import Data, Model
from jaxsim.mjx.stages import engine_records
from jaxsim.pipeline.ray import query
from jaxsim.support import force, inertia, jacobian

__all__ = [
    "apply_ft",
    "contact_force",
    "full_m",
    "id2name",
    "is_sparse",
    "jac",
    "jac_dot",
    "mul_m",
    "name2id",
    "ray",
    "solve_m",
    "xfrc_accumulate",
]


def jac(m: Model, d: Data, point: ArrayLike, body_id: ArrayLike) -> tuple[Array, Array]:
    """Jacobians (nv, 3) of the velocity and the angular velocity of a point of a body (mj_jac), transposed as in MJX.

    Args:
      m: the model.
      d: after `com_pos`.
      point: (3,), m, world frame.
      body_id: the body; it may be traced.
    """
    jacp, jacr = jacobian.jac(*engine_records(m, d), point, body_id)
    return jacp.T, jacr.T


def jac_dot(m: Model, d: Data, point: ArrayLike, body_id: ArrayLike) -> tuple[Array, Array]:
    """Rates of change (nv, 3) of the Jacobians of a point of a body (mj_jacDot), transposed as in MJX."""
    jacp, jacr = jacobian.jac_dot(*engine_records(m, d), point, body_id)
    return jacp.T, jacr.T


def full_m(m: Model, d: Data) -> Array:
    """M as a matrix (nv, nv) (mj_fullM); needs `crb`."""
    return inertia.full_m(*engine_records(m, d))


def mul_m(m: Model, d: Data, vec: ArrayLike) -> Array:
    """M times a vector (nv,) (mj_mulM); needs `crb`."""
    return inertia.mul_m(*engine_records(m, d), vec)


def solve_m(m: Model, d: Data, x: ArrayLike) -> Array:
    """The acceleration (nv,) that a force makes by M (mj_solveM); needs `crb`."""
    return inertia.solve_m(*engine_records(m, d), x)


def apply_ft(
    m: Model, d: Data, force_: ArrayLike, torque: ArrayLike, point: ArrayLike, body_id: ArrayLike
) -> Array:
    """Generalized force (nv,) of a force at a point of a body and a torque on it (mj_applyFT); needs `com_pos`."""
    return force.apply_ft(*engine_records(m, d), force_, torque, point, body_id)


def xfrc_accumulate(m: Model, d: Data) -> Array:
    """Generalized force (nv,) of `xfrc_applied` (mj_xfrcAccumulate); needs `com_pos`."""
    return force.xfrc_accumulate(*engine_records(m, d))


def contact_force(m: Model, d: Data, contact_id: ArrayLike, to_world_frame: bool = False) -> Array:
    """Force and torque (6,) of a contact slot, in its frame or the world's (mj_contactForce); 0 if not active."""
    return force.contact_force(*engine_records(m, d), contact_id, to_world_frame)


def ray(
    m: Model,
    d: Data,
    pnt: Array,
    vec: Array,
    geomgroup: Sequence[int] = (),
    flg_static: bool = True,
    bodyexclude: Sequence[int] | int = -1,
) -> tuple[Array, Array]:
    """Distance to the first geom that a ray meets, -1 if none, in lengths of `vec`, and its id, -1 (mj_ray).

    Args:
      m: the model.
      d: `geom_xpos` and `geom_xmat` are read.
      pnt: origin (3,), m, world frame.
      vec: direction (3,).
      geomgroup: which of the six groups are seen; empty: all.
      flg_static: whether geoms of static bodies are seen.
      bodyexclude: body, or bodies, whose geoms are not seen; -1: none.
    """
    groups = [bool(g) for g in geomgroup] if len(geomgroup) else None
    hit = query.ray(
        *engine_records(m, d), jnp.asarray(pnt), jnp.asarray(vec), groups, flg_static, bodyexclude
    )
    return hit.dist, hit.geomid


def is_sparse(m: Any) -> bool:
    """Whether MJX would keep M sparse: the model asks for it, or has 60 degrees of freedom, or runs on a TPU."""
    if m.opt.jacobian == JacobianType.AUTO:
        return m.nv >= 60 or jax.default_backend() == "tpu"
    return m.opt.jacobian == JacobianType.SPARSE


def _names(m: Any, typ: Any) -> list[str]:
    """Names of objects by id, `""` where there is none, of a Model or of an MjModel."""
    return list(dict(as_model(m).names).get(int(typ), ()))


def id2name(m: Any, typ: Any, i: int) -> str | None:
    """Name of an object, None if it has none or does not exist (mj_id2name).

    Args:
      m: the model, this module's or the C engine's.
      typ: `mujoco.mjtObj`, or its number.
      i: its id.
    """
    names = _names(m, typ)
    return names[i] or None if 0 <= i < len(names) else None


def name2id(m: Any, typ: Any, name: str) -> int:
    """Id of a named object, -1 if there is none (mj_name2id)."""
    names = _names(m, typ)
    return names.index(name) if name and name in names else -1
