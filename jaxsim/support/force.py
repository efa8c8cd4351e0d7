"""Forces at points of bodies as generalized forces, and forces of contacts."""

from __future__ import annotations

import functools

import jax.numpy as jnp
from jax import Array
from jax.typing import ArrayLike

from jaxsim import worlds
from jaxsim.data import Data
from jaxsim.math.gather import rows_by_world
from jaxsim.math.vector import matvec_transposed
from jaxsim.model import Model
from jaxsim.pipeline import reaction
from jaxsim.pipeline.acceleration import wrench_force
from jaxsim.support.jacobian import jac
from jaxsim.support.lifted import check_index, check_shape

__all__ = ["apply_ft", "contact_force", "xfrc_accumulate"]


def apply_ft(
    model: Model, data: Data, force: ArrayLike, torque: ArrayLike, point: ArrayLike, body: ArrayLike
) -> Array:
    """Generalized force (nv,) of a force at a point of a body and a torque on it (mj_applyFT).

    Args:
      model: the model.
      data: after `com_pos`.
      force: (3,), N, world frame.
      torque: (3,), N m, world frame.
      point: (3,), m, world frame.
      body: its id; it may be traced.
    """
    jacp, jacr = jac(model, data, point, body)
    f, t = check_shape("apply_ft: force", force, 3), check_shape("apply_ft: torque", torque, 3)
    return jnp.sum(jacp * f[:, None], axis=0) + jnp.sum(jacr * t[:, None], axis=0)


_xfrc = worlds.lift(wrench_force)


def xfrc_accumulate(model: Model, data: Data) -> Array:
    """Generalized force (nv,) of `data.xfrc_applied` (mj_xfrcAccumulate); needs `com_pos`."""
    return _xfrc(model, data)


def _contact_force(model: Model, data: Data, contact: Array, *, world: bool) -> Array:
    """Native `contact_force`."""
    wrench = rows_by_world(reaction.contact_force(model, data), contact)
    if not world:
        return wrench
    frame = rows_by_world(data.contact.frame, contact)
    return jnp.concatenate([matvec_transposed(frame, x) for x in (wrench[:3], wrench[3:])])


_contact = {w: worlds.lift(functools.partial(_contact_force, world=w)) for w in (False, True)}


def contact_force(model: Model, data: Data, contact: ArrayLike, to_world_frame: bool = False) -> Array:
    """Force and torque (6,) of a contact on its second geom, N and N m (mj_contactForce); 0 where it is not active.

    Args:
      model: the model.
      data: after the solver.
      contact: slot in `data.contact`; it may be traced.
      to_world_frame: whether components are along the world's axes, else the contact frame's.
    """
    check_index("contact", contact, data.contact.dist.shape[-1])
    return _contact[bool(to_world_frame)](model, data, contact)
