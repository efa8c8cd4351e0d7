"""Tactile sensors: how deep each vertex of a mesh is in the geoms that touch the sensor's body, and how it slips there.

The vertices are the sensor's taxels, fixed to its geom. A geom counts if it has a contact with the body, or with what
is welded to it. Channel 0 is the greatest depth; channels 1 and 2 are speeds along the two tangents that the mesh has
with each normal, zero if it has none, summed over geoms.
"""

from __future__ import annotations

import functools

import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxsim.collision.vec import Frame, Vec
from jaxsim.data import Data
from jaxsim.enums import GeomType, SensorType
from jaxsim.math import safe
from jaxsim.math.axis import concat, stitch, take
from jaxsim.math.spatial import shift_motion
from jaxsim.math.vector import matvec
from jaxsim.model import Model
from jaxsim.pipeline.sensors.common import Compute
from jaxsim.pipeline.sensors.depth import DISTANCES
from jaxsim.pytree import Static
from jaxsim.structure.pairs import find_pairs

__all__ = ["SENSORS", "refusal"]


@functools.lru_cache(maxsize=64)
def _others(static: Static, disableflags: int, geom: int) -> np.ndarray:
    """Geoms that may touch what a geom's body is welded to."""
    pairs = find_pairs(static, disableflags)
    weld = static.body_weldid[static.geom_bodyid]
    first, second = weld[pairs.geom1] == weld[geom], weld[pairs.geom2] == weld[geom]
    return np.unique(np.concatenate([pairs.geom2[first], pairs.geom1[second]]))


def refusal(m: Model, sensor: int) -> str:
    """Which of the geoms that may touch a tactile sensor it could not feel; empty: none."""
    others = _others(m.static, m.opt.disableflags, int(m.sensor_refid[sensor]))
    kinds, fields = m.geom_type[others], m.geom_dataid[m.geom_type == GeomType.SDF]
    felt = np.isin(kinds, (*DISTANCES, GeomType.MESH)) & ~np.isin(m.geom_dataid[others], fields)
    return "" if felt.all() else "tactile contact with signed distance or height fields"


def _tactile(m: Model, d: Data, i: np.ndarray) -> Array:
    """Outputs of tactile sensors: three channels of as many numbers as the mesh has vertices."""
    return concat([_one(m, d, int(m.sensor_objid[k]), int(m.sensor_refid[k])) for k in i])


def _one(m: Model, d: Data, mesh: int, geom: int) -> Array:
    """Outputs (3 nvert, W) of the sensor that a mesh makes of a geom."""
    first, count = int(m.mesh_vertadr[mesh]), int(m.mesh_vertnum[mesh])
    others = _others(m.static, m.opt.disableflags, geom)
    others = others[np.isin(m.geom_type[others], tuple(DISTANCES))]  # meshes have no inside in C either
    total = jnp.zeros((3 * count, 1), d.qpos.dtype)
    if not len(others) or not d.contact.dist.shape[0]:
        return total
    axes, centre = d.geom_xmat[geom][None], d.geom_xpos[geom][None]
    taxels = centre + matvec(axes, m.mesh_vert[first : first + count])
    depth = _depths(m, d, others, taxels)
    depth = jnp.where(_touching(m, d, others, geom)[:, None], depth, 0)
    channels = [jnp.max(depth, axis=0)]
    start = int(m.mesh_normaladr[mesh])
    if m.mesh_normalnum[mesh] != 3 * count:
        return concat([channels[0], total[count:]])
    frames = m.mesh_normal[start : start + 3 * count].reshape(count, 3, 3, -1)
    slip = _slips(m, d, others, geom, taxels)
    for k in (1, 2):
        tangent = matvec(axes, frames[:, k].astype(d.qpos.dtype))
        speed = safe.absolute(jnp.sum(slip * tangent, axis=2))
        channels.append(jnp.sum(jnp.where(depth > 0, speed, 0), axis=0))
    return concat(channels)


def _depths(m: Model, d: Data, others: np.ndarray, points: Array) -> Array:
    """How deep points (k, 3, W) are in geoms (n,), 0 outside: (n, k, W)."""
    parts, order = [], []
    for kind, distance in DISTANCES.items():
        chosen = np.flatnonzero(m.geom_type[others] == kind)
        if not len(chosen):
            continue
        geoms = others[chosen]
        frame = Frame.split(take(d.geom_xmat, geoms)[:, None])
        local = frame.to_local(Vec.split(points) - Vec.split(take(d.geom_xpos, geoms)[:, None]))
        parts.append(distance(Vec.split(take(m.geom_size, geoms)[:, None]), local))
        order.append(chosen)
    return jnp.maximum(-stitch(parts, order), 0)


def _touching(m: Model, d: Data, others: np.ndarray, geom: int) -> Array:
    """Whether geoms (n,) have a contact with what a geom's body is welded to, (n, W)."""
    weld = m.body_weldid[m.geom_bodyid]
    mine = np.append(weld == weld[geom], False)  # the last: no geom
    found = d.contact.geom
    owns = jnp.asarray(mine)[found]  # (ncon, 2, W)
    geoms = jnp.asarray(others)[:, None, None]
    touched = (owns[:, 0] & (found[:, 1] == geoms)) | (owns[:, 1] & (found[:, 0] == geoms))
    return jnp.any(touched, axis=1)


def _slips(m: Model, d: Data, others: np.ndarray, geom: int, points: Array) -> Array:
    """Velocity (n, k, 3, W) of points (k, 3, W) of a geom against geoms (n,), world axes."""

    def velocity(bodies: np.ndarray) -> Array:
        arm = points - take(d.subtree_com, m.body_rootid[bodies])[:, None]
        return shift_motion(take(d.cvel, bodies)[:, None], arm)[:, :, 3:]

    own = m.body_weldid[m.geom_bodyid[[geom]]]
    return velocity(own) - velocity(m.geom_bodyid[others])


SENSORS: dict[SensorType, Compute] = {SensorType.TACTILE: _tactile}
