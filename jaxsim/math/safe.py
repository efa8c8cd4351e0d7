"""Roots, norms and normalisations whose derivatives are finite everywhere.

Each guards the argument of the singular function as well as its result (a double `where`), so neither forward nor
reverse mode meets `0 * inf`. There are no absolute tolerances: only an exact zero, where the derivative does not
exist, gets the derivative 0.
"""

from __future__ import annotations

import jax.numpy as jnp
from jax import Array, lax

__all__ = ["absolute", "divide", "norm", "normalize", "sqrt"]


def sqrt(x: Array) -> Array:
    """Square root; derivative 0 at 0. Negative arguments give 0."""
    positive = x > 0
    return jnp.where(positive, jnp.sqrt(jnp.where(positive, x, 1)), 0)


def absolute(x: Array) -> Array:
    """Absolute value; derivative 0 at 0, where that of `jnp.abs` is 1."""
    return x * jnp.sign(x)


def norm(x: Array, axis: int = -2) -> Array:
    """Euclidean norm over `axis`, which is removed; derivative 0 at the zero vector."""
    unit, scale = _scaled(x, axis)
    return jnp.squeeze(scale, axis) * sqrt(jnp.sum(unit * unit, axis=axis))


def _scaled(x: Array, axis: int) -> tuple[Array, Array]:
    """The vector by its greatest component, which is held fixed: squares and their roots neither under- nor overflow.

    Without this, second derivatives of the norm of a vector of 1e-14 are infinite in float32.
    """
    greatest = lax.stop_gradient(jnp.max(jnp.abs(x), axis=axis, keepdims=True, initial=0))
    scale = jnp.where((greatest > 0) & jnp.isfinite(greatest), greatest, 1)
    return x / scale, scale


def divide(x: Array, y: Array) -> Array:
    """`x / y`, and 0 with zero derivative where `y` is 0."""
    some = y != 0
    return jnp.where(some, x / jnp.where(some, y, 1), 0)


def normalize(x: Array, axis: int = -2) -> tuple[Array, Array]:
    """Unit vector and norm over `axis`.

    Returns:
      (direction, norm): the direction of a zero vector is the first unit vector, as in the C engine, with zero
      derivative. `norm` keeps `axis` with length 1.
    """
    x, scale = _scaled(x, axis)
    squared = jnp.sum(x * x, axis=axis, keepdims=True)
    positive = squared > 0
    length = jnp.sqrt(jnp.where(positive, squared, 1))
    first = jnp.arange(x.shape[axis]) == 0
    first = first.reshape([-1 if i == axis % x.ndim else 1 for i in range(x.ndim)])
    return jnp.where(positive, x / length, first.astype(x.dtype)), scale * jnp.where(positive, length, 0)
