"""The contact frame: normal and two tangents."""

from __future__ import annotations

import jax.numpy as jnp
from jax import Array

from jaxsim.collision.vec import TINY, Vec

__all__ = ["contact_frame", "make_frame"]


def make_frame(normal: Array, tangent: Array | None = None) -> Array:
    """Completes a unit normal to a frame, as the C engine does.

    Args:
      normal: unit vectors (..., 3, W).
      tangent: wishes for the first tangent (..., 3, W), unit or zero; None: no wish.

    Returns:
      (..., 3, 3, W), rows: normal, first and second tangent; right-handed.
    """
    wish = None if tangent is None else Vec.split(tangent)
    rows = contact_frame(Vec.split(normal), wish)
    return jnp.stack([row.stack() for row in rows], axis=-3)


def contact_frame(normal: Vec, tangent: Vec | None) -> tuple[Vec, Vec, Vec]:
    """Normal and two tangents by components.

    The first tangent is the wish, or else y (z where the normal is near y), made orthogonal to the normal. A wish
    along the normal leaves a direction that rounding decides: there the tangents only follow the normal's rotation.
    """
    steep = jnp.abs(normal.y) >= 0.5
    zero = jnp.zeros_like(normal.x)
    one = jnp.ones_like(zero)
    wish = Vec(zero, jnp.where(steep, zero, one), jnp.where(steep, one, zero))
    if tangent is not None:
        wish = tangent.where(tangent.dot(tangent) > 0.25, wish)
    first = wish - normal * normal.dot(wish)
    square = first.dot(first)
    regular = square > 4.0 * jnp.finfo(square.dtype).eps

    held = first.stop()
    norm = jnp.sqrt(held.dot(held))
    sideways = jnp.abs(normal.x) < 0.5
    spare = Vec(jnp.where(sideways, one, zero), jnp.where(sideways, zero, one), zero)
    held = (held * (1.0 / jnp.where(norm > TINY, norm, 1.0))).where(norm > TINY, spare)
    first = first.where(regular, held - normal * normal.dot(held))
    first = first * (1.0 / jnp.sqrt(first.dot(first)))
    return normal, first, normal.cross(first)
