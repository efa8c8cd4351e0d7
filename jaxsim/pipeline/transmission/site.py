"""Actuators on sites: a wrench, or one between two sites."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxsim.data import Data
from jaxsim.math import quaternion as quat
from jaxsim.math.axis import concat, stitch, take
from jaxsim.math.vector import dot, matvec, matvec_transposed
from jaxsim.model import Model
from jaxsim.pipeline.transmission.part import Part, gear_of, site_moments

__all__ = ["on_sites", "relative_rotation"]


def on_sites(model: Model, data: Data, ids: np.ndarray) -> list[Part]:
    """The gear is a wrench in the frame of the site, or of the reference site, where the reaction acts.

    Only with a reference site there is a length: how far the site is moved and turned along the gear.
    """
    site, reference = model.actuator_trnid[ids].T
    framed = reference >= 0
    gear = gear_of(model, ids)
    force, torque = gear[:, :3], gear[:, 3:]
    axes = take(data.site_xmat, np.where(framed, reference, site))
    push = concat([matvec(axes, torque), matvec(axes, force)], axis=1)
    moment = site_moments(model, data, ids, np.concatenate([site, reference]), concat([push, -push]))
    some = np.flatnonzero(framed)
    if not len(some):
        return [Part(ids, jnp.zeros((len(ids), 1), gear.dtype), moment)]
    apart = take(data.site_xpos, site[some]) - take(data.site_xpos, reference[some])
    shift = matvec_transposed(take(data.site_xmat, reference[some]), apart)
    turn = relative_rotation(model, data, site[some], reference[some])
    length = dot(shift, take(force, some)) + dot(turn, take(torque, some))
    none = np.flatnonzero(~framed)
    lengths = stitch([length, jnp.zeros((len(none), 1), length.dtype)], [some, none])
    return [Part(ids, lengths, moment)]


def relative_rotation(model: Model, data: Data, site: np.ndarray, reference: np.ndarray) -> Array:
    """Rotation vectors (n, 3, W), rad, that take reference sites to sites, in the frames of the former."""
    return quat.subtract(*(_orientation(model, data, s) for s in (site, reference)))


def _orientation(model: Model, data: Data, sites: np.ndarray) -> Array:
    return quat.mul(take(data.xquat, model.site_bodyid[sites]), take(model.site_quat, sites))
