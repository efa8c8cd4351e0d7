"""Spatial paths: how long they are, and how that changes with what they are tied to and wrapped around.

A straight part gets longer as its ends move apart. The part on a geom's surface needs no account of its own: where a
path is shortest, a small shift of the points of contact does not change its length.
"""

from __future__ import annotations

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxsim.data import Data
from jaxsim.math import safe
from jaxsim.math.axis import concat, take
from jaxsim.math.vector import cross, matvec, matvec_transposed, scale
from jaxsim.model import Model
from jaxsim.pipeline.tendon.wrap import Contact, wrap
from jaxsim.structure.tendons import Paths, tendon_paths

__all__ = ["Path", "Places", "path", "places", "wrapped"]


class Places(NamedTuple):
    """What straight segments and segments with a geom depend on; positions (n, 3, W), m, in the world frame.

    Attributes:
      straight: where straight segments begin, and where they end.
      wrapping: where segments with a geom begin, and where they end.
      centre: centres of the geoms.
      axes: axes of the geoms (n, 3, 3, W).
      side: side sites of the last of these segments, those that have one.
    """

    straight: tuple[Array, Array]
    wrapping: tuple[Array, Array]
    centre: Array
    axes: Array
    side: Array


class Path(NamedTuple):
    """Segments: how long they are, and how that changes with their places. Listed as in `structure.tendons.Pulls`.

    Attributes:
      by_point: derivatives of length (m, 3, W) by the positions of sites and centres of geoms.
      by_turn: derivatives (n, 3, W) by rotations of geoms about their centres, m/rad.
      length: of straight segments, then of those with a geom (n, W), m.
    """

    by_point: Array
    by_turn: Array
    length: Array


def places(model: Model, data: Data) -> Places:
    """The places of all segments."""
    paths = tendon_paths(model.static)
    wrapping = paths.wrapping
    return Places(
        straight=(take(data.site_xpos, paths.straight.start), take(data.site_xpos, paths.straight.end)),
        wrapping=(take(data.site_xpos, wrapping.start), take(data.site_xpos, wrapping.end)),
        centre=take(data.geom_xpos, wrapping.geom),
        axes=take(data.geom_xmat, wrapping.geom),
        side=take(data.site_xpos, paths.sided.side),
    )


def path(model: Model, at: Places) -> Path:
    """Lengths of all segments and their derivatives, those behind a pulley divided as it says."""
    paths = tendon_paths(model.static)
    share = _share(model, np.concatenate([paths.straight.pulley, paths.wrapping.pulley]))
    first, last = at.straight
    along, length = safe.normalize(last - first)
    if not len(paths.wrapping.tendon):
        along = scale(share[:, None], along)
        return Path(concat([-along, along]), at.centre, share * length[:, 0])
    n = len(paths.straight.tendon)
    radius = take(model.geom_size[:, 0], paths.wrapping.geom)
    ahead, onward, torque, bent = _around(at, radius, paths)
    along, ahead, onward, torque = (
        scale(part[:, None], x)
        for part, x in ((share[:n], along), *((share[n:], x) for x in (ahead, onward, torque)))
    )
    by_point = concat([-along, along, -ahead, onward, ahead - onward])
    return Path(by_point, torque, share * concat([length[:, 0], bent]))


def _share(model: Model, pulley: np.ndarray) -> Array:
    """What part (n, W) of a length counts: 1 over the divisor of the last pulley."""
    padded = concat([model.wrap_prm, jnp.ones((1, 1), model.wrap_prm.dtype)])
    divisor = take(padded, np.where(pulley < 0, model.nwrap, pulley))
    return safe.divide(jnp.ones_like(divisor), divisor)


def wrapped(at: Places, radius: Array, paths: Paths) -> list[Contact]:
    """How segments with a geom touch it: those without side sites together, then those with."""
    local = [matvec_transposed(at.axes, p - at.centre) for p in at.wrapping]
    n = len(paths.free.tendon)
    parts = []
    if n:
        parts.append(wrap(local[0][:n], local[1][:n], radius[:n], None, spheres=paths.free_spheres))
    if len(paths.sided.tendon):
        side = matvec_transposed(at.axes[n:], at.side - at.centre[n:])
        parts.append(wrap(local[0][n:], local[1][n:], radius[n:], side, spheres=paths.sided_spheres))
    return parts


def _around(at: Places, radius: Array, paths: Paths) -> tuple[Array, Array, Array, Array]:
    """Directions before and behind geoms, derivatives by their rotation (n, 3, W), lengths (n, W); touching or not."""
    first, last = at.wrapping
    parts = wrapped(at, radius, paths)
    touches, length, ahead, onward, start, end = (concat(columns) for columns in zip(*parts, strict=True))
    straight, distance = safe.normalize(last - first)
    torque = cross(start, ahead) - cross(end, onward)
    ahead, onward, torque = (matvec(at.axes, x) for x in (ahead, onward, torque))
    touch = touches[:, None]
    return (
        jnp.where(touch, ahead, straight),
        jnp.where(touch, onward, straight),
        jnp.where(touch, torque, 0),
        jnp.where(touches, length, distance[:, 0]),
    )
