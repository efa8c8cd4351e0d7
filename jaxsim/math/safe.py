"""Roots, norms and normalisations whose derivatives are finite everywhere.

Each guards the argument of the singular function as well as its result (a double `where`), so neither forward nor
reverse mode meets `0 * inf`. There are no absolute tolerances: only an exact zero, where the derivative does not
exist, gets the derivative 0.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable

import jax.numpy as jnp
from jax import Array, lax

from jaxsim.math.axis import split

__all__ = ["absolute", "clamp", "divide", "norm", "normalize", "sqrt"]


def sqrt(x: Array) -> Array:
    """Square root; derivative 0 at 0. Negative arguments give 0."""
    positive = x > 0
    return jnp.where(positive, jnp.sqrt(jnp.where(positive, x, 1)), 0)


def absolute(x: Array) -> Array:
    """Absolute value; derivative 0 at 0, where that of `jnp.abs` is 1."""
    return x * jnp.sign(x)


def clamp(x: Array, low: Array | float = -jnp.inf, high: Array | float = jnp.inf) -> Array:
    """X within limits. At a limit the derivative is that inside, where `jnp.clip` has half of it, which is none.

    What is limited often rests exactly there: controls, time constants of twice the timestep, corners above edges.
    """
    return jnp.where(x < low, low, jnp.where(x > high, high, x))


def norm(x: Array, axis: int = -2) -> Array:
    """Euclidean norm over `axis`, which is removed; derivative 0 at the zero vector."""
    unit, scale = _scaled(x, axis)
    return jnp.squeeze(scale * sqrt(_square(unit, axis)), axis)


_FEW = 6
"""Most components that are combined one by one: a reduction is a kernel of its own."""


def _combined(
    combine: Callable[[Array, Array], Array], reduce: Callable[..., Array], x: Array, axis: int
) -> Array:
    """All components along an axis as one; the axis stays, with length 1."""
    n = x.shape[axis]
    if not 0 < n <= _FEW:
        return reduce(x, axis=axis, keepdims=True)
    return functools.reduce(combine, split(x, (1,) * n, axis))


def _square(x: Array, axis: int) -> Array:
    return _combined(operator.add, jnp.sum, x * x, axis)


def _scaled(x: Array, axis: int) -> tuple[Array, Array]:
    """The vector by its greatest component, which is held fixed: squares and their roots neither under- nor overflow.

    Without this, second derivatives of the norm of a vector of 1e-14 are infinite in float32.
    """
    size = jnp.abs(lax.stop_gradient(x))
    greatest = _combined(jnp.maximum, functools.partial(jnp.max, initial=0), size, axis)
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
    squared = _square(x, axis)
    positive = squared > 0
    length = jnp.sqrt(jnp.where(positive, squared, 1))
    first = jnp.arange(x.shape[axis]) == 0
    first = first.reshape([-1 if i == axis % x.ndim else 1 for i in range(x.ndim)])
    return jnp.where(positive, x / length, first.astype(x.dtype)), scale * jnp.where(positive, length, 0)
