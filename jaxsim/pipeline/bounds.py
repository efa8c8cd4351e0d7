"""Bounds of geoms and sizes of bodies: constants that follow from sizes and from the reference configuration."""

from __future__ import annotations

from collections.abc import Callable

import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxsim.data import Data
from jaxsim.enums import GeomType, JointType
from jaxsim.math import safe
from jaxsim.math.axis import concat, take
from jaxsim.model import Model

__all__ = ["dof_lengths", "geom_bounds"]

_INFINITE = 1e10
"""Half extent of a plane, m."""
_LEAST = 1e-5
"""Least size of a body, m."""

_Bounds = tuple[Array, Array]


def geom_bounds(model: Model) -> dict[str, Array]:
    """Boxes (ngeom, 6, W) and radii (ngeom, W) around primitives and height fields, and sizes of the latter.

    The bounds of meshes stay.
    """
    if not model.ngeom:
        return {}
    boxes, radii, order = [], [], []
    for kind in np.unique(model.geom_type):
        ids = np.flatnonzero(model.geom_type == kind)
        found = _BOUNDS.get(GeomType(kind), _mesh)(model, ids)
        boxes.append(found[0])
        radii.append(found[1])
        order.append(ids)
    back = np.argsort(np.concatenate(order))
    fields = {"geom_aabb": take(concat(boxes), back), "geom_rbound": take(concat(radii), back)}
    terrain = np.flatnonzero(model.geom_type == GeomType.HFIELD)
    if len(terrain):
        width, depth, height, base = (
            take(model.hfield_size, model.geom_dataid[terrain])[:, k] for k in range(4)
        )
        rest = np.setdiff1d(np.arange(model.ngeom), terrain)
        sizes = [jnp.stack([width, depth, height / 4 + base / 2], axis=1), take(model.geom_size, rest)]
        fields["geom_size"] = take(concat(sizes), np.argsort(np.concatenate([terrain, rest])))
    return fields


def _centred(half: list[Array], radius: Array) -> _Bounds:
    zero = jnp.zeros_like(half[0])
    return jnp.stack([zero, zero, zero, *half], axis=1), radius


def _mesh(model: Model, ids: np.ndarray) -> _Bounds:
    return take(model.geom_aabb, ids), take(model.geom_rbound, ids)


def _plane(model: Model, ids: np.ndarray) -> _Bounds:
    size = take(model.geom_size, ids)
    box = np.array([0, 0, -_INFINITE / 2, _INFINITE, _INFINITE, _INFINITE / 2])[:, None]
    return jnp.broadcast_to(jnp.asarray(box, size.dtype), (len(ids), 6, 1)), jnp.zeros_like(size[:, 0])


def _hfield(model: Model, ids: np.ndarray) -> _Bounds:
    size = take(model.hfield_size, model.geom_dataid[ids])
    width, depth, height, base = (size[:, k] for k in range(4))
    zero = jnp.zeros_like(width)
    box = jnp.stack([zero, zero, (height - base) / 2, width, depth, (height + base) / 2], axis=1)
    return box, safe.sqrt(width**2 + depth**2 + jnp.maximum(height, base) ** 2)


def _primitive(shape: Callable[[Array, Array, Array], tuple[list[Array], Array]]) -> Callable[..., _Bounds]:
    def bounds(model: Model, ids: np.ndarray) -> _Bounds:
        size = take(model.geom_size, ids)
        return _centred(*shape(size[:, 0], size[:, 1], size[:, 2]))

    return bounds


_BOUNDS: dict[GeomType, Callable[[Model, np.ndarray], _Bounds]] = {
    GeomType.PLANE: _plane,
    GeomType.HFIELD: _hfield,
    GeomType.SPHERE: _primitive(lambda a, b, c: ([a, a, a], a)),
    GeomType.CAPSULE: _primitive(lambda a, b, c: ([a, a, a + b], a + b)),
    GeomType.CYLINDER: _primitive(lambda a, b, c: ([a, a, b], safe.sqrt(a * a + b * b))),
    GeomType.ELLIPSOID: _primitive(lambda a, b, c: ([a, b, c], jnp.max(jnp.stack([a, b, c]), axis=0))),
    GeomType.BOX: _primitive(lambda a, b, c: ([a, b, c], safe.sqrt(a * a + b * b + c * c))),
}
"""Bounding box and radius by type; meshes and SDFs keep theirs."""


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
