"""The contact frame: normal and two tangents."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from jaxsim.math.constants import MINVAL
from jaxsim.math.vector import cross, dot, scale

__all__ = ["make_frame"]


def make_frame(normal: Array, tangent: Array | None = None) -> Array:
    """Completes a unit normal to a frame, as the C engine does.

    The first tangent is the wish, or else y (z where the normal is near y), made orthogonal to the normal. A wish
    along the normal leaves a direction that rounding decides: there the tangents only follow the normal's rotation.

    Args:
      normal: unit vectors (..., 3, W).
      tangent: wishes for the first tangent (..., 3, W), unit or zero; None: no wish.

    Returns:
      (..., 3, 3, W), rows: normal, first and second tangent; right-handed.
    """
    x, y, z = (jnp.asarray(row[:, None], normal.dtype) for row in np.eye(3))
    wish = jnp.where(jnp.abs(normal[..., 1:2, :]) >= 0.5, z, y)
    if tangent is not None:
        wish = jnp.where(_dot(tangent, tangent) > 0.25, tangent, wish)
    first = wish - scale(_dot(normal, wish), normal)
    regular = _dot(first, first) > 4.0 * jnp.finfo(first.dtype).eps

    held = lax.stop_gradient(first)
    norm = jnp.sqrt(_dot(held, held))
    spare = jnp.where(jnp.abs(normal[..., :1, :]) < 0.5, x, y)
    held = jnp.where(norm > MINVAL, held / jnp.where(norm > MINVAL, norm, 1.0), spare)
    first = jnp.where(regular, first, held - scale(_dot(normal, held), normal))
    first = first / jnp.sqrt(_dot(first, first))
    return jnp.stack([normal, first, cross(normal, first)], axis=-3)


def _dot(a: Array, b: Array) -> Array:
    """Inner products (..., 1, W)."""
    return dot(a, b)[..., None, :]
