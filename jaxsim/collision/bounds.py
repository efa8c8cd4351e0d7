"""Boxes and spheres around geoms, of their sizes as they are. Native layout.

`geom_aabb` and `geom_rbound` are those of the sizes that the model was compiled with: a size that was replaced since,
by a randomisation say, would lose contacts without a word.
"""

from __future__ import annotations

from collections.abc import Callable

import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxsim.enums import GeomType
from jaxsim.math import safe
from jaxsim.math.axis import stitch, take
from jaxsim.math.constants import MAXVAL
from jaxsim.model import Model

__all__ = ["geom_bounds"]

_Bounds = tuple[Array, Array]


def geom_bounds(model: Model) -> dict[str, Array]:
    """Boxes `geom_aabb` (ngeom, 6, W) and radii `geom_rbound` (ngeom, W) around primitives and height fields, m.

    The bounds of meshes and of signed distance functions are the model's.
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
    return {"geom_aabb": stitch(boxes, order), "geom_rbound": stitch(radii, order)}


def _centred(half: list[Array], radius: Array) -> _Bounds:
    zero = jnp.zeros_like(half[0])
    return jnp.stack([zero, zero, zero, *half], axis=1), radius


def _mesh(model: Model, ids: np.ndarray) -> _Bounds:
    return take(model.geom_aabb, ids), take(model.geom_rbound, ids)


def _plane(model: Model, ids: np.ndarray) -> _Bounds:
    size = take(model.geom_size, ids)
    box = np.array([0, 0, -MAXVAL / 2, MAXVAL, MAXVAL, MAXVAL / 2])[:, None]
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
