"""Adhesion: a constant pull along the normals of adhesive contacts. Native layout.

Source: MJCF reference, geom and pair attribute `adhesion`. See `solver/surface.py` for what it does to constraint rows.
"""

from __future__ import annotations

import jax.numpy as jnp
from jax import Array

from jaxsim.data import Data
from jaxsim.enums import DisableBit
from jaxsim.model import Model
from jaxsim.pipeline.reaction import contact_wrenches
from jaxsim.pipeline.velocity import project
from jaxsim.solver.surface import adhesive

__all__ = ["adhesion_force"]


def adhesion_force(model: Model, data: Data) -> Array | None:
    """Generalized force (nv, W) of adhesion, N and N m; off with all passive forces; None: there is none."""
    contact = data.contact
    passive = DisableBit.SPRING | DisableBit.DAMPER
    if model.opt.disableflags & passive == passive:
        return None
    if not adhesive(model) or not len(contact.dist) or not model.nv:
        return None
    pull = -contact.adhesion[:, None] * contact.frame[:, 0]
    return project(data.cdof, contact_wrenches(model, data, pull, jnp.zeros_like(pull)), static=model.static)
