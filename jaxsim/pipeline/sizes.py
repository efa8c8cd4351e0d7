"""Sizes that follow from others: of height fields' geoms, and of bodies for their degrees of freedom."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxsim.data import Data
from jaxsim.enums import GeomType, JointType
from jaxsim.math import safe
from jaxsim.math.axis import concat, replace_rows, take
from jaxsim.model import Model

__all__ = ["dof_lengths", "field_sizes"]

_LEAST = 1e-5
"""Least size of a body, m."""


def field_sizes(model: Model) -> dict[str, Array]:
    """`geom_size` (ngeom, 3, W) with those of height fields' geoms, m; nothing if there are none."""
    terrain = np.flatnonzero(model.geom_type == GeomType.HFIELD)
    if not len(terrain):
        return {}
    width, depth, height, base = (take(model.hfield_size, model.geom_dataid[terrain])[:, k] for k in range(4))
    sizes = jnp.stack([width, depth, height / 4 + base / 2], axis=1)
    return {"geom_size": replace_rows(model.geom_size, terrain, sizes)}


def dof_lengths(model: Model, data: Data) -> Array:
    """Lengths (nv, W), m: of a rotation the size of its body, of a translation 1.

    A body reaches from its centre of mass to its joints, to those of its children and to its geoms' far sides.
    """
    own, above, of = model.jnt_bodyid, model.body_parentid[model.jnt_bodyid], model.geom_bodyid
    reach = [
        safe.norm(take(data.xipos, own) - data.xanchor),
        safe.norm(take(data.xipos, above) - data.xanchor),
    ]
    if model.ngeom:
        far = model.geom_rbound + safe.norm(take(data.xipos, of) - data.geom_xpos)
        reach.append(jnp.where(model.geom_rbound > 0, far, 0))
    size = jnp.maximum(_largest(concat(reach), np.concatenate([own, above, of]), model.nbody), _LEAST)
    kind = model.jnt_type[model.dof_jntid]
    offset = np.arange(model.nv) - model.jnt_dofadr[model.dof_jntid]
    slides = (kind == JointType.SLIDE) | ((kind == JointType.FREE) & (offset < 3))
    return jnp.where(jnp.asarray(slides)[:, None], 1, take(size, model.dof_bodyid))


def _largest(x: Array, owner: np.ndarray, n: int) -> Array:
    """The largest of the rows (m, W) that each of n owners has, 0 if it has none."""
    rows = [np.flatnonzero(owner == i).tolist() for i in range(n)]
    most = max(map(len, rows))
    index = np.array([r + [len(owner)] * (most - len(r)) for r in rows]).reshape(-1)
    padded = concat([x, jnp.zeros((1, x.shape[-1]), x.dtype)])
    return jnp.max(take(padded, index).reshape(n, most, -1), axis=1)
