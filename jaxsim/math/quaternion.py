"""Unit quaternions (w, x, y, z) and rotations; components on the last axis but one, worlds on the last."""

from __future__ import annotations

import jax.numpy as jnp
from jax import Array

from jaxsim.math import hamilton, safe
from jaxsim.math.axis import components, split, stack
from jaxsim.math.linear import bilinear

__all__ = [
    "conjugate",
    "exponential",
    "integrate",
    "logarithm",
    "mul",
    "normalize",
    "rotate",
    "rotate_inverse",
    "subtract",
    "to_matrix",
]


def _mul(a: Array, b: Array) -> Array:
    """Product: the rotation `b` followed by `a`, both (..., 4, W)."""
    return jnp.stack(hamilton.product(components(a), components(b)), axis=-2)


mul = bilinear(
    "quaternion_mul",
    _mul,
    lambda ct, b: mul(ct, conjugate(b)),
    lambda ct, a: mul(conjugate(a), ct),
)


def conjugate(q: Array) -> Array:
    """Inverse of a unit quaternion."""
    w, x, y, z = components(q)
    return jnp.stack([w, -x, -y, -z], axis=-2)


def normalize(q: Array) -> Array:
    """Unit quaternion in the direction of q (..., 4, W); the identity for q = 0."""
    return safe.normalize(q)[0]


def rotate(q: Array, v: Array) -> Array:
    """Rotates vectors (..., 3, W) by unit quaternions."""
    # by components: of vectors XLA for accelerators makes several kernels
    return jnp.stack(hamilton.rotated(components(q), components(v)), axis=-2)


def rotate_inverse(q: Array, v: Array) -> Array:
    """Rotates vectors (..., 3, W) by the inverses of unit quaternions."""
    return rotate(conjugate(q), v)


def to_matrix(q: Array) -> Array:
    """Rotation matrices (..., 3, 3, W) of unit quaternions (..., 4, W)."""
    flat = stack([entry for row in hamilton.matrix(components(q)) for entry in row])
    return flat.reshape(*flat.shape[:-2], 3, 3, flat.shape[-1])


def exponential(v: Array) -> Array:
    """Quaternion of the rotation vector v (..., 3, W), rad.

    Both parts are even functions of the angle, so they are written in its square and are smooth at v = 0, where
    the derivative of the vector part is 1/2.
    """
    s = 0.25 * jnp.sum(v * v, axis=-2, keepdims=True)
    small = s < 1e-3
    half = jnp.sqrt(jnp.where(small, 1, s))
    cosine = jnp.where(small, 1 - s / 2 * (1 - s / 12 * (1 - s / 30 * (1 - s / 56))), jnp.cos(half))
    ratio = jnp.where(small, 1 - s / 6 * (1 - s / 20 * (1 - s / 42 * (1 - s / 72))), jnp.sin(half) / half)
    return jnp.concatenate([cosine, 0.5 * ratio * v], axis=-2)


def integrate(q: Array, omega: Array, dt: Array) -> Array:
    """Orientation after `dt` (W), s, at constant velocity omega (..., 3, W), rad/s in the body frame."""
    return mul(normalize(q), exponential(omega * dt))


def logarithm(q: Array) -> Array:
    """Rotation vector (..., 3, W), rad, of unit quaternions: the shortest, of length at most pi; of a zero one none."""
    w, v = split(q, (1, 3), axis=-2)
    sign = jnp.where(w < 0, -1, 1).astype(q.dtype)
    w, v = w * sign, v * sign
    s = jnp.sum(v * v, axis=-2, keepdims=True)
    w = jnp.where((w == 0) & (s == 0), 1, w)
    small = s < 1e-3 * w * w
    t = jnp.where(small, s, 0) / jnp.where(small, w * w, 1)
    series = (1 - t * (1 / 3 - t * (1 / 5 - t * (1 / 7 - t * (1 / 9 - t / 11))))) / jnp.where(small, w, 1)
    sine = jnp.sqrt(jnp.where(small, 1, s))
    ratio = jnp.where(small, series, jnp.arctan2(sine, w) / sine)
    return 2 * ratio * v


def subtract(a: Array, b: Array) -> Array:
    """Rotation vector (..., 3, W), rad, in the frame of b, that takes b to a."""
    return logarithm(mul(conjugate(b), a))
