"""Rays for users: one world, one ray or many."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxsim import worlds
from jaxsim.data import Data
from jaxsim.model import Model
from jaxsim.pipeline.ray.cast import Rays, cast, included, unseen
from jaxsim.results import UnsupportedError

__all__ = ["RayHit", "ray"]


class RayHit(NamedTuple):
    """What a ray met, or many.

    Attributes:
      dist: distance in lengths of the direction vector, -1 if the ray meets nothing.
      geomid: the geom, -1: none.
      normal: outward unit normal of the surface in the world frame, zero if there is none.
    """

    dist: Array
    geomid: Array
    normal: Array


@functools.lru_cache(maxsize=128)
def _lifted(
    geomgroup: tuple[bool, ...] | None, flg_static: bool, bodyexclude: tuple[int, ...]
) -> Callable[..., Any]:
    """The native function for fixed choices, lifted once."""

    def native(model: Model, pos: Array, mat: Array, pnt: Array, vec: Array) -> Rays:
        seen = included(model.static, geomgroup, flg_static, bodyexclude)
        return cast(model, pos, mat, pnt, vec, np.repeat(seen[None], len(pnt), axis=0))

    return worlds.lift(native)


def ray(
    model: Model,
    data: Data,
    pnt: Array,
    vec: Array,
    geomgroup: Sequence[bool] | None = None,
    flg_static: bool = True,
    bodyexclude: int | Sequence[int] = -1,
) -> RayHit:
    """Finds the first visible geom that rays `pnt + x vec`, x >= 0, meet (mj_ray, mj_multiRay).

    Differentiable in rays, poses, sizes and vertices, with the surface that is met held fixed; once, if it is that of
    a distance function. Geoms that are fully transparent are not seen; planes only from above.

    Args:
      model: the model.
      data: one world; `geom_xpos` and `geom_xmat` are read.
      pnt: origins (..., 3), m, world frame.
      vec: directions (..., 3), of any length; leading axes broadcast with those of `pnt`.
      geomgroup: which of the six geom groups are seen; None: all.
      flg_static: whether geoms of static bodies are seen.
      bodyexclude: body, or bodies, whose geoms are not seen; -1: none.

    Returns:
      Distance (...), geom (...) and normal (..., 3) of each ray.

    Raises:
      ValueError: an array has another last axis than 3, or `geomgroup` other than six entries.
      UnsupportedError: a ray sees a geom of type SDF whose mesh has neither a distance function nor faces.
    """
    pnt, vec = jnp.asarray(pnt), jnp.asarray(vec)
    if pnt.shape[-1:] != (3,) or vec.shape[-1:] != (3,):
        raise ValueError(f"ray: pnt and vec need shapes (..., 3), got {pnt.shape} and {vec.shape}")
    if geomgroup is not None and len(geomgroup) != 6:
        raise ValueError(f"ray: geomgroup has {len(geomgroup)} entries; there are 6 groups")
    shape = jnp.broadcast_shapes(pnt.shape, vec.shape)
    pnt, vec = (jnp.broadcast_to(x, shape).reshape(-1, 3) for x in (pnt, vec))
    groups = None if geomgroup is None else tuple(bool(g) for g in geomgroup)
    bodies = tuple(int(b) for b in np.atleast_1d(bodyexclude))
    for geom in unseen(model, included(model.static, groups, bool(flg_static), bodies)[None]):
        named = model.name("geom", int(geom)) or f"number {geom}"
        raise UnsupportedError(
            f"rays against geom {named}, of type sdf: its mesh has no distance function; jaxsim.user_sdf gives one"
        )
    found = _lifted(groups, bool(flg_static), bodies)(model, data.geom_xpos, data.geom_xmat, pnt, vec)
    lead = shape[:-1]
    return RayHit(found.dist.reshape(lead), found.geom.reshape(lead), found.normal.reshape(shape))
