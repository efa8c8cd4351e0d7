"""Velocities and accelerations of bodies, geoms, sites and cameras."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
from jax import Array

from jaxsim import worlds
from jaxsim.data import Data
from jaxsim.enums import ObjType
from jaxsim.math.axis import concat, split
from jaxsim.math.vector import matvec_transposed
from jaxsim.model import Model
from jaxsim.pipeline import objects
from jaxsim.pipeline.velocity import body_accelerations
from jaxsim.support.lifted import check_index

__all__ = ["object_acceleration", "object_velocity"]


def _of_object(
    find: Callable[..., Array], kind: int, index: int, local: bool, model: Model, data: Data
) -> Array:
    """The motion (6, W) that `find` gives for one object, in its own axes if `local`."""
    types, ids = np.array([kind]), np.array([index])
    found = find(model, data, types, ids)
    if local:
        frame = objects.matrix(model, data, types, ids)
        found = concat([matvec_transposed(frame, x) for x in split(found, (3, 3), axis=1)], axis=1)
    return found[0]


def _acceleration(model: Model, data: Data, types: np.ndarray, ids: np.ndarray) -> Array:
    return objects.acceleration(model, data.replace(cacc=body_accelerations(model, data)), types, ids)


@functools.lru_cache(maxsize=1024)
def _lifted(find: Callable[..., Array], kind: int, index: int, local: bool) -> Callable[..., Any]:
    return worlds.lift(functools.partial(_of_object, find, kind, index, local))


def _checked(model: Model, kind: int, index: int) -> tuple[int, int]:
    counts = {
        ObjType.BODY: model.nbody,
        ObjType.XBODY: model.nbody,
        ObjType.GEOM: model.ngeom,
        ObjType.SITE: model.nsite,
        ObjType.CAMERA: model.ncam,
    }
    if kind not in counts:
        names = ", ".join(k.name.lower() for k in counts)
        raise ValueError(f"objects of type {ObjType(kind).name.lower()} have no motion; give {names}")
    check_index(ObjType(kind).name.lower(), index, counts[ObjType(kind)])
    return int(kind), int(index)


def object_velocity(model: Model, data: Data, objtype: int, objid: int, local: bool = False) -> Array:
    """Angular (rad/s), then linear velocity (m/s) of an object at its origin, (6,) (mj_objectVelocity).

    Args:
      model: the model.
      data: after `com_vel`.
      objtype: enums.ObjType of a body (its centre of mass and inertial axes), xbody, geom, site or camera.
      objid: its id, a Python integer: each object has a program of its own.
      local: whether components are along the object's axes, else the world's.

    Raises:
      ValueError: objects of this type do not move.
      IndexError: there is no such object.
    """
    return _lifted(objects.velocity, *_checked(model, objtype, objid), bool(local))(model, data)


def object_acceleration(model: Model, data: Data, objtype: int, objid: int, local: bool = False) -> Array:
    """Angular, then linear acceleration of an object, (6,), gravity included (mj_objectAcceleration).

    As an accelerometer has it: at rest it points up. Needs `qacc`; arguments are those of `object_velocity`.
    """
    return _lifted(_acceleration, *_checked(model, objtype, objid), bool(local))(model, data)
