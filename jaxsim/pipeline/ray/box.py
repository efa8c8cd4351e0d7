"""Where rays pass through boxes."""

from __future__ import annotations

import jax.numpy as jnp
from jax import Array

from jaxsim.collision.vec import Vec

__all__ = ["passage"]


def passage(low: Vec, high: Vec, p: Vec, v: Vec, ahead: Array) -> tuple[Array, Array]:
    """Parameters at which rays `p + t v` enter and leave boxes; a ray misses where it would leave before it enters.

    Args:
      low: lower corners, components of any shape.
      high: upper corners.
      p: points of the rays, in the frames of the boxes.
      v: directions.
      ahead: parameter at which rays begin; none enters before.
    """
    enter, leave = ahead, jnp.full((), jnp.inf, ahead.dtype)
    for least, most, at, by in zip(low, high, p, v, strict=True):
        below, above = least - at, most - at
        crosses = by != 0
        inverse = 1 / jnp.where(crosses, by, 1)
        first, last = below * inverse, above * inverse
        inside = (below <= 0) & (above >= 0)
        enter = jnp.maximum(
            enter, jnp.where(crosses, jnp.minimum(first, last), jnp.where(inside, -jnp.inf, jnp.inf))
        )
        leave = jnp.minimum(
            leave, jnp.where(crosses, jnp.maximum(first, last), jnp.where(inside, jnp.inf, -jnp.inf))
        )
    return enter, leave
