"""The model by inertia: a body counts as the box that has its inertia (computation chapter, inertia-based model)."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxsim.math import safe
from jaxsim.math.constants import MINVAL

__all__ = ["box_force", "equivalent_box"]


def equivalent_box(inertia: Array, mass: Array) -> Array:
    """Edges (n, 3, W), m, of boxes with principal moments (n, 3, W), kg m^2, and masses (n, W), kg; 0 without mass."""
    total = jnp.sum(inertia, axis=1, keepdims=True)
    heavy = mass[:, None] >= MINVAL
    twelfth = jnp.maximum(total - 2 * inertia, MINVAL) / jnp.where(heavy, mass[:, None], 1)
    return jnp.where(heavy, jnp.sqrt(6 * twelfth), 0)


def _coefficients(box: Array, density: Array, viscosity: Array) -> tuple[Array, Array]:
    """Linear and quadratic resistance (n, 6, W) of boxes (n, 3, W) to rotation, then to translation."""
    diameter = jnp.mean(box, axis=1, keepdims=True)
    stokes = np.pi * viscosity * jnp.concatenate([diameter**3, 3 * diameter], axis=1)
    fourth = box**4
    others = jnp.sum(fourth, axis=1, keepdims=True) - fourth
    faces = jnp.stack([box[:, 1] * box[:, 2], box[:, 0] * box[:, 2], box[:, 0] * box[:, 1]], axis=1)
    return jnp.repeat(stokes, 3, axis=1), density * jnp.concatenate([box * others / 64, faces / 2], axis=1)


def box_force(box: Array, v: Array, density: Array, viscosity: Array) -> Array:
    """Wrenches (..., n, 6, W) on boxes, torque first, at their centres and along their edges.

    Args:
      box: edges (n, 3, W), m.
      v: velocities relative to the medium (..., n, 6, W), rotation first, in the same frames.
      density: of the medium (W,), kg/m^3.
      viscosity: of the medium (W,), Pa s.
    """
    linear, quadratic = _coefficients(box, density, viscosity)
    return -(linear + quadratic * safe.absolute(v)) * v
