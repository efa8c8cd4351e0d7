"""Rotations, frames and segments of one world, on the last axis: what scripts take from `mujoco.mjx._src.math`."""

from __future__ import annotations

import jax.numpy as jnp
from jax import Array
from jax.typing import ArrayLike

from jaxsim.math import quaternion, safe, spatial
from jaxsim.math.constants import MINVAL

__all__ = [
    "axis_angle_to_quat",
    "closest_segment_point",
    "closest_segment_point_and_dist",
    "closest_segment_to_segment_points",
    "inert_mul",
    "make_frame",
    "matmul_unroll",
    "motion_cross",
    "motion_cross_force",
    "norm",
    "normalize",
    "normalize_with_norm",
    "orthogonals",
    "quat_integrate",
    "quat_inv",
    "quat_mul",
    "quat_mul_axis",
    "quat_sub",
    "quat_to_axis_angle",
    "quat_to_mat",
    "rotate",
    "safe_div",
    "sign",
    "transform_motion",
]

_LEAST = 1e-6
"""What stands for a squared length of zero, m^2; squared sine of an angle up to which segments are parallel."""


def _column(x: ArrayLike) -> Array:
    """Gives an array the axis of worlds that the engine's functions want."""
    return jnp.asarray(x)[..., None]


def safe_div(num: ArrayLike, den: ArrayLike) -> Array:
    """`num / den`; where `den` is 0, `num` by a tiny number."""
    return jnp.asarray(num) / jnp.where(jnp.asarray(den) == 0, MINVAL, den)


def matmul_unroll(a: Array, b: Array) -> Array:
    """Product of two small matrices."""
    return jnp.sum(a[:, :, None] * b[None], axis=1)


def norm(x: Array, axis: int | tuple[int, ...] | None = None) -> Array:
    """Euclidean norm over all axes, or those given; its derivative at zero is zero."""
    if isinstance(axis, int):
        return safe.norm(x, axis)
    axes = tuple(range(x.ndim)) if axis is None else axis
    rest = [i for i in range(x.ndim) if i not in {a % x.ndim for a in axes}]
    flat = jnp.transpose(x, (*rest, *(a % x.ndim for a in axes))).reshape(*(x.shape[i] for i in rest), -1)
    return safe.norm(flat, -1)


def normalize_with_norm(x: Array, axis: int | tuple[int, ...] | None = None) -> tuple[Array, Array]:
    """Unit vector and norm; the zero vector stays as it is."""
    n = norm(x, axis)
    length = n if axis is None else jnp.expand_dims(n, axis)
    return x / jnp.where(length == 0, 1, length), n


def normalize(x: Array, axis: int | tuple[int, ...] | None = None) -> Array:
    """Unit vector; the zero vector stays as it is."""
    return normalize_with_norm(x, axis)[0]


def rotate(vec: ArrayLike, quat: ArrayLike) -> Array:
    """Vectors (..., 3) turned by unit quaternions (..., 4)."""
    return quaternion.rotate(_column(quat), _column(vec))[..., 0]


def quat_inv(q: ArrayLike) -> Array:
    """Inverses of unit quaternions."""
    return quaternion.conjugate(_column(q))[..., 0]


def quat_mul(u: ArrayLike, v: ArrayLike) -> Array:
    """Products of quaternions: the turn `v`, then `u`."""
    return quaternion.mul(_column(u), _column(v))[..., 0]


def quat_mul_axis(q: ArrayLike, axis: ArrayLike) -> Array:
    """Products of quaternions with vectors, taken as quaternions without a real part."""
    axis = jnp.asarray(axis)
    return quat_mul(q, jnp.concatenate([jnp.zeros_like(axis[..., :1]), axis], axis=-1))


def quat_sub(u: ArrayLike, v: ArrayLike) -> Array:
    """Rotation vectors (..., 3), rad, that take `v` to `u`, in the frame of `v`."""
    return quaternion.subtract(_column(u), _column(v))[..., 0]


def quat_to_mat(q: ArrayLike) -> Array:
    """Rotation matrices (..., 3, 3)."""
    return quaternion.to_matrix(_column(q))[..., 0]


def quat_to_axis_angle(q: ArrayLike) -> tuple[Array, Array]:
    """Axis and angle, rad, in (-pi, pi]; the axis of the identity is zero."""
    q = jnp.asarray(q)
    axis, sine = normalize_with_norm(q[1:])
    angle = 2 * jnp.arctan2(sine, q[0])
    return axis, jnp.where(angle > jnp.pi, angle - 2 * jnp.pi, angle)


def axis_angle_to_quat(axis: ArrayLike, angle: ArrayLike) -> Array:
    """Quaternion of a turn about a unit vector by an angle, rad, which may have the shape (1,) too."""
    half = 0.5 * jnp.ravel(jnp.asarray(angle))
    return jnp.concatenate([jnp.cos(half), jnp.asarray(axis) * jnp.sin(half)])


def quat_integrate(q: ArrayLike, v: ArrayLike, dt: ArrayLike) -> Array:
    """Orientation after `dt`, s, at the angular velocity `v`, rad/s, in the body frame."""
    return normalize(quaternion.integrate(_column(q), _column(v), _column(dt))[..., 0], -1)


def inert_mul(i: ArrayLike, v: ArrayLike) -> Array:
    """Momentum (6,) of a spatial inertia (10,) at a velocity (6,)."""
    return spatial.mul_inertia(_column(i), _column(v))[..., 0]


def sign(x: Array) -> Array:
    """-1 for negative numbers, else 1."""
    return jnp.where(x < 0, -1, 1)


def transform_motion(vel: Array, offset: Array, rotmat: Array) -> Array:
    """A velocity (6,) in a frame that is `offset` away and turned by `rotmat`."""
    linear = vel[3:] - jnp.cross(offset, vel[:3])
    return jnp.concatenate([jnp.sum(rotmat * x[:, None], axis=0) for x in (vel[:3], linear)])


def motion_cross(u: Array, v: Array) -> Array:
    """Rate of change (6,) of a motion `v` that moves with `u`."""
    linear = jnp.cross(u[3:], v[:3]) + jnp.cross(u[:3], v[3:])
    return jnp.concatenate([jnp.cross(u[:3], v[:3]), linear])


def motion_cross_force(v: Array, f: Array) -> Array:
    """Rate of change (6,) of a force `f` that moves with `v`."""
    torque = jnp.cross(v[:3], f[:3]) + jnp.cross(v[3:], f[3:])
    return jnp.concatenate([torque, jnp.cross(v[:3], f[3:])])


def orthogonals(a: Array) -> tuple[Array, Array]:
    """Two unit vectors that make a right-handed frame with a unit vector; zero for zero."""
    steep = jnp.abs(a[1]) >= 0.5
    start = jnp.where(steep, jnp.array([0, 0, 1], a.dtype), jnp.array([0, 1, 0], a.dtype))
    b = normalize(start - a * jnp.sum(a * start)) * jnp.any(a != 0)
    return b, jnp.cross(a, b)


def make_frame(a: Array) -> Array:
    """Right-handed frame whose first row has the direction of a vector."""
    a = normalize(a)
    return jnp.stack([a, *orthogonals(a)])


def _along(start: Array, end: Array, pt: Array) -> Array:
    """Where on a segment, 0 to 1, it is nearest to a point; the middle of one without length is 0."""
    ab = end - start
    squared = jnp.sum(ab * ab)
    return jnp.clip(jnp.sum((pt - start) * ab) / (squared + _LEAST * (squared == 0)), 0, 1)


def closest_segment_point(a: Array, b: Array, pt: Array) -> Array:
    """The point of a segment that is nearest to a point."""
    return a + _along(a, b, pt) * (b - a)


def closest_segment_point_and_dist(a: Array, b: Array, pt: Array) -> tuple[Array, Array]:
    """The point of a segment that is nearest to a point, and its squared distance."""
    closest = closest_segment_point(a, b, pt)
    return closest, jnp.sum((pt - closest) ** 2)


def closest_segment_to_segment_points(a0: Array, a1: Array, b0: Array, b1: Array) -> tuple[Array, Array]:
    """The points of two segments that are nearest to each other.

    Where the lines are nearest, clamped to the first segment; the other follows, and the first again.
    """
    u, v, w = a1 - a0, b1 - b0, a0 - b0
    uu, uv, vv = jnp.sum(u * u), jnp.sum(u * v), jnp.sum(v * v)
    uw, vw = jnp.sum(u * w), jnp.sum(v * w)
    det = uu * vv - uv * uv
    parallel = det <= _LEAST * uu * vv
    s = jnp.clip(jnp.where(parallel, 0.5, (uv * vw - vv * uw) / jnp.where(parallel, 1, det)), 0, 1)
    on_b = closest_segment_point(b0, b1, a0 + s * u)
    on_a = closest_segment_point(a0, a1, on_b)
    return on_a, on_b
