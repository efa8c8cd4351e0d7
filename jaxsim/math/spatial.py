"""Three-vectors, 3x3 matrices and spatial (6D) vectors; components on the last axes but one, worlds on the last.

Spatial vectors have the rotational part first (motion: angular, linear velocity; force: torque, force) and are all
expressed at one point in world axes. Products with matrices are broadcasts summed over the short axis: XLA fuses them,
and turns them into vector instructions along the worlds. Reference: R. Featherstone, Rigid Body Dynamics Algorithms,
chapter 2.
"""

from __future__ import annotations

import jax.numpy as jnp
from jax import Array, lax

from jaxsim.math.quaternion import components

__all__ = [
    "cross",
    "cross_force",
    "cross_motion",
    "dot",
    "inertia_about",
    "matmul",
    "matvec",
    "matvec_transposed",
    "mul_inertia",
    "shift_force",
    "shift_motion",
]


def dot(a: Array, b: Array) -> Array:
    """Inner product of vectors (..., n, W); the result is (..., W)."""
    products = (x * y for x, y in zip(components(a), components(b), strict=True))
    total = next(products)
    for p in products:
        total = total + p
    return total


def cross(a: Array, b: Array) -> Array:
    """Vector product of (..., 3, W)."""
    return jnp.stack(_cross(components(a), components(b)), axis=-2)


def _cross(a: tuple[Array, ...], b: tuple[Array, ...]) -> list[Array]:
    return [
        a[1] * b[2] - a[2] * b[1],
        a[2] * b[0] - a[0] * b[2],
        a[0] * b[1] - a[1] * b[0],
    ]


def matvec(m: Array, v: Array) -> Array:
    """Matrices (..., n, 3, W) times vectors (..., 3, W)."""
    return _sum3([_at(m, k, -2) * jnp.expand_dims(x, -2) for k, x in enumerate(components(v))])


def matvec_transposed(m: Array, v: Array) -> Array:
    """Transposed matrices (..., 3, n, W) times vectors (..., 3, W)."""
    return _sum3([_at(m, k, -3) * jnp.expand_dims(x, -2) for k, x in enumerate(components(v))])


def matmul(a: Array, b: Array) -> Array:
    """Products of 3x3 matrices (..., 3, 3, W)."""
    return _sum3([jnp.expand_dims(_at(a, k, -2), -2) * jnp.expand_dims(_at(b, k, -3), -3) for k in range(3)])


def _at(x: Array, i: int, axis: int) -> Array:
    return lax.index_in_dim(x, i, axis, keepdims=False)


def _sum3(x: list[Array]) -> Array:
    return x[0] + x[1] + x[2]


def inertia_about(inertia: Array, rotation: Array, offset: Array, mass: Array) -> Array:
    """Spatial inertia (..., 10, W) at a point: six of the rotational inertia, mass times offset, mass.

    Args:
      inertia: principal moments (..., 3, W), kg m^2.
      rotation: principal axes as columns (..., 3, 3, W).
      offset: centre of mass from the point (..., 3, W), m.
      mass: (..., W), kg.

    Returns:
      xx, yy, zz, xy, xz, yz of the rotational inertia about the point, kg m^2; mass * offset, kg m; mass.
    """
    x, y, z = components(offset)
    r = [components(_at(rotation, i, -3)) for i in range(3)]
    p = components(inertia)

    def about_com(i: int, j: int) -> Array:
        return r[i][0] * r[j][0] * p[0] + r[i][1] * r[j][1] * p[1] + r[i][2] * r[j][2] * p[2]

    parts = [
        about_com(0, 0) + mass * (y * y + z * z),
        about_com(1, 1) + mass * (x * x + z * z),
        about_com(2, 2) + mass * (x * x + y * y),
        about_com(0, 1) - mass * x * y,
        about_com(0, 2) - mass * x * z,
        about_com(1, 2) - mass * y * z,
        mass * x,
        mass * y,
        mass * z,
    ]
    shape = jnp.broadcast_shapes(parts[0].shape, parts[-1].shape)
    return jnp.stack([jnp.broadcast_to(part, shape) for part in [*parts, mass]], axis=-2)


def mul_inertia(inertia: Array, v: Array) -> Array:
    """Momentum (..., 6, W) of spatial inertias (..., 10, W) moving with v (..., 6, W)."""
    xx, yy, zz, xy, xz, yz, hx, hy, hz, m = components(inertia)
    wx, wy, wz, vx, vy, vz = components(v)
    return jnp.stack(
        [
            xx * wx + xy * wy + xz * wz + hy * vz - hz * vy,
            xy * wx + yy * wy + yz * wz + hz * vx - hx * vz,
            xz * wx + yz * wy + zz * wz + hx * vy - hy * vx,
            m * vx + hz * wy - hy * wz,
            m * vy + hx * wz - hz * wx,
            m * vz + hy * wx - hx * wy,
        ],
        axis=-2,
    )


def cross_motion(v: Array, m: Array) -> Array:
    """Rate of change of motion vectors m (..., 6, W) fixed in a frame moving with v."""
    w, u, a, b = components(v)[:3], components(v)[3:], components(m)[:3], components(m)[3:]
    linear = [p + q for p, q in zip(_cross(w, b), _cross(u, a), strict=True)]
    return jnp.stack([*_cross(w, a), *linear], axis=-2)


def cross_force(v: Array, f: Array) -> Array:
    """Rate of change of force vectors f (..., 6, W) fixed in a frame moving with v."""
    w, u, a, b = components(v)[:3], components(v)[3:], components(f)[:3], components(f)[3:]
    torque = [p + q for p, q in zip(_cross(w, a), _cross(u, b), strict=True)]
    return jnp.stack([*torque, *_cross(w, b)], axis=-2)


def shift_motion(v: Array, by: Array) -> Array:
    """Motion vectors (..., 6, W) of the same bodies at points displaced by `by` (..., 3, W)."""
    w, u, d = components(v)[:3], components(v)[3:], components(by)
    return jnp.stack([*w, *(p + q for p, q in zip(u, _cross(w, d), strict=True))], axis=-2)


def shift_force(f: Array, by: Array) -> Array:
    """The same force vectors (..., 6, W) with torques about points displaced by `by` (..., 3, W)."""
    t, u, d = components(f)[:3], components(f)[3:], components(by)
    return jnp.stack([*(p - q for p, q in zip(t, _cross(d, u), strict=True)), *u], axis=-2)
