"""Frames, velocities and accelerations of whatever a sensor is attached to: bodies, geoms, sites, cameras."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxsim.data import Data
from jaxsim.enums import ObjType
from jaxsim.math import quaternion as quat
from jaxsim.math.axis import concat, stitch, take
from jaxsim.math.spatial import shift_motion
from jaxsim.math.vector import cross
from jaxsim.model import Model
from jaxsim.pipeline.inertia import root_offset

__all__ = ["acceleration", "bodies_of", "matrix", "orientation", "position", "velocity"]

_Pick = Callable[[Model, Data, np.ndarray], Array]

_FRAMES = {
    ObjType.BODY: "xi",
    ObjType.XBODY: "x",
    ObjType.GEOM: "geom_x",
    ObjType.SITE: "site_x",
    ObjType.CAMERA: "cam_x",
}
"""What fields of Data with positions and orientations of objects begin with; they end with `pos` and `mat`."""


def _rows(field: str) -> _Pick:
    return lambda m, d, i: take(getattr(d, field), i)


_POSITION = {kind: _rows(f"{start}pos") for kind, start in _FRAMES.items()}
_MATRIX = {kind: _rows(f"{start}mat") for kind, start in _FRAMES.items()}


def _in_body(body: str, local: str) -> _Pick:
    def pick(m: Model, d: Data, i: np.ndarray) -> Array:
        owner = getattr(m, body)[i] if body else i
        return quat.mul(take(d.xquat, owner), take(getattr(m, local), i))

    return pick


_ORIENTATION = {
    ObjType.BODY: _in_body("", "body_iquat"),
    ObjType.XBODY: _rows("xquat"),
    ObjType.GEOM: _in_body("geom_bodyid", "geom_quat"),
    ObjType.SITE: _in_body("site_bodyid", "site_quat"),
    ObjType.CAMERA: _in_body("cam_bodyid", "cam_quat"),
}
_OWNER = {ObjType.GEOM: "geom_bodyid", ObjType.SITE: "site_bodyid", ObjType.CAMERA: "cam_bodyid"}


def _collect(
    table: Mapping[ObjType, _Pick], model: Model, data: Data, types: np.ndarray, ids: np.ndarray
) -> Array:
    """Rows for objects of mixed types, looked up type by type."""
    parts, order = [], []
    for kind in np.unique(types):
        chosen = np.flatnonzero(types == kind)
        parts.append(table[ObjType(kind)](model, data, ids[chosen]))
        order.append(chosen)
    return stitch(parts, order)


def position(model: Model, data: Data, types: np.ndarray, ids: np.ndarray) -> Array:
    """Positions (n, 3, W) of objects, m, world frame."""
    return _collect(_POSITION, model, data, types, ids)


def matrix(model: Model, data: Data, types: np.ndarray, ids: np.ndarray) -> Array:
    """Orientations (n, 3, 3, W) of objects, world frame."""
    return _collect(_MATRIX, model, data, types, ids)


def orientation(model: Model, data: Data, types: np.ndarray, ids: np.ndarray) -> Array:
    """Orientations (n, 4, W) of objects as quaternions; cameras without regard to their modes."""
    return _collect(_ORIENTATION, model, data, types, ids)


def bodies_of(model: Model, types: np.ndarray, ids: np.ndarray) -> np.ndarray:
    """The body of each object."""
    return np.array(
        [
            getattr(model, _OWNER[ObjType(t)])[i] if t in _OWNER else i
            for t, i in zip(types, ids, strict=True)
        ],
        dtype=np.int32,
    )


def velocity(model: Model, data: Data, types: np.ndarray, ids: np.ndarray) -> Array:
    """Velocities (n, 6, W) of objects, angular first, at their origins, world axes."""
    bodies = bodies_of(model, types, ids)
    arm = root_offset(model, data, position(model, data, types, ids), bodies)
    return shift_motion(take(data.cvel, bodies), arm)


def acceleration(model: Model, data: Data, types: np.ndarray, ids: np.ndarray) -> Array:
    """Accelerations (n, 6, W) of objects, angular first, gravity included; needs `cacc`. Static objects have none."""
    bodies = bodies_of(model, types, ids)
    arm = root_offset(model, data, position(model, data, types, ids), bodies)
    spatial = shift_motion(take(data.cacc, bodies), arm)
    motion = shift_motion(take(data.cvel, bodies), arm)
    linear = spatial[:, 3:] + cross(motion[:, :3], motion[:, 3:])
    moves = jnp.asarray(model.body_dofnum[model.body_weldid[bodies]] > 0)[:, None, None]
    return jnp.where(moves, concat([spatial[:, :3], linear], axis=1), 0)
