"""Actuators on bodies: adhesion to whatever a body touches (MJCF reference, actuator/adhesion)."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxsim.data import Data
from jaxsim.model import Model
from jaxsim.pipeline.reaction import contact_wrenches
from jaxsim.pipeline.transmission.part import Part
from jaxsim.pipeline.velocity import project

__all__ = ["on_bodies"]


def on_bodies(model: Model, data: Data, ids: np.ndarray) -> list[Part]:
    """Each pulls its body along the normals of its contacts, one share each; those between margin and gap count.

    There is no length, and no gear.
    """
    contact = data.contact
    none = jnp.zeros((len(ids), 1), data.cdof.dtype)
    if not contact.geom.shape[0]:  # of constants: as in C there are no contacts
        return [Part(ids, none, jnp.zeros((len(ids) * model.nv, 1), data.cdof.dtype))]
    used = contact.geom >= 0
    body = jnp.where(used, jnp.asarray(model.geom_bodyid)[jnp.maximum(contact.geom, 0)], -1)
    moments = [
        _moment(model, data, jnp.any(body == b, axis=1)) for b in model.actuator_trnid[ids, 0].tolist()
    ]
    return [Part(ids, none, jnp.concatenate(moments))]


def _moment(model: Model, data: Data, touches: Array) -> Array:
    """Generalized force (nv, W) of a pull of 1 N, divided evenly among some contacts (ncon, W)."""
    frame = data.contact.frame
    share = touches / jnp.maximum(jnp.sum(touches, axis=0), 1).astype(frame.dtype)
    pull = -share[:, None] * frame[:, 0]
    return project(data.cdof, contact_wrenches(model, data, pull, jnp.zeros_like(pull)), static=model.static)
