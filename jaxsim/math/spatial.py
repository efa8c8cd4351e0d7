"""Spatial (6D) vectors and inertias; components on the last axis but one, worlds on the last.

Spatial vectors have the rotational part first (motion: angular, linear velocity; force: torque, force) and are all
expressed at one point in world axes. Reference: R. Featherstone, Rigid Body Dynamics Algorithms, chapter 2.
"""

from __future__ import annotations

import jax.numpy as jnp
from jax import Array

from jaxsim.math.axis import components, concat, split, stack
from jaxsim.math.hamilton import cross as cross3
from jaxsim.math.linear import bilinear
from jaxsim.math.vector import cross

__all__ = [
    "cross_force",
    "cross_motion",
    "inertia_about",
    "inertia_rate",
    "mul_inertia",
    "shift_force",
    "shift_motion",
]


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
    r = [components(row) for row in components(rotation, -3)]
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
    return stack([*parts, mass])


def inertia_rate(inertia: Array, v: Array) -> Array:
    """Rate of change (..., 10, W) of spatial inertias of bodies that move with v (..., 6, W): v x* I - I v x."""
    xx, yy, zz, xy, xz, yz, hx, hy, hz, m = components(inertia)
    wx, wy, wz, vx, vy, vz = components(v)
    dh = [a + m * b for a, b in zip(cross3([wx, wy, wz], [hx, hy, hz]), (vx, vy, vz), strict=True)]
    parts = [
        2 * (wy * xz - wz * xy + hy * vy + hz * vz),
        2 * (wz * xy - wx * yz + hx * vx + hz * vz),
        2 * (wx * yz - wy * xz + hx * vx + hy * vy),
        wy * yz - wz * yy + wz * xx - wx * xz - vx * hy - hx * vy,
        wy * zz - wz * yz + wx * xy - wy * xx - vx * hz - hx * vz,
        wz * xz - wx * zz + wx * yy - wy * xy - vy * hz - hy * vz,
    ]
    return stack([*parts, *dh, jnp.zeros_like(m)])


def _mul_inertia(inertia: Array, v: Array) -> Array:
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


def _inertia_of(f: Array, v: Array) -> Array:
    """The derivative (..., 10, W) of `f . (I v)` with respect to I."""
    f0, f1, f2, f3, f4, f5 = components(f)
    w0, w1, w2, v3, v4, v5 = components(v)
    h = [
        a - b
        for a, b in zip(cross3([v3, v4, v5], [f0, f1, f2]), cross3([w0, w1, w2], [f3, f4, f5]), strict=True)
    ]
    products = [f0 * w0, f1 * w1, f2 * w2, f0 * w1 + f1 * w0, f0 * w2 + f2 * w0, f1 * w2 + f2 * w1]
    return stack([*products, *h, f3 * v3 + f4 * v4 + f5 * v5])


def _cross_motion(v: Array, m: Array) -> Array:
    """Rate of change of motion vectors m (..., 6, W) fixed in a frame moving with v."""
    a, b = components(v), components(m)
    linear = [p + q for p, q in zip(cross3(a[:3], b[3:]), cross3(a[3:], b[:3]), strict=True)]
    return jnp.stack([*cross3(a[:3], b[:3]), *linear], axis=-2)


def _cross_force(v: Array, f: Array) -> Array:
    """Rate of change of force vectors f (..., 6, W) fixed in a frame moving with v."""
    a, b = components(v), components(f)
    torque = [p + q for p, q in zip(cross3(a[:3], b[:3]), cross3(a[3:], b[3:]), strict=True)]
    return jnp.stack([*torque, *cross3(a[:3], b[3:])], axis=-2)


mul_inertia = bilinear(
    "mul_inertia", _mul_inertia, lambda ct, v: _moments(ct, v), lambda ct, inertia: mul_inertia(inertia, ct)
)
_moments = bilinear(
    "inertia_of", _inertia_of, lambda ct, v: mul_inertia(ct, v), lambda ct, f: mul_inertia(ct, f)
)
cross_motion = bilinear(
    "cross_motion", _cross_motion, lambda ct, m: cross_force(m, ct), lambda ct, v: -cross_force(v, ct)
)
cross_force = bilinear(
    "cross_force", _cross_force, lambda ct, f: -cross_force(ct, f), lambda ct, v: -cross_motion(v, ct)
)


def shift_motion(v: Array, by: Array) -> Array:
    """Motion vectors (..., 6, W) of the same bodies at points displaced by `by` (..., 3, W)."""
    angular, linear = split(v, (3, 3), axis=-2)
    moved = linear + cross(angular, by)
    return concat([jnp.broadcast_to(angular, moved.shape), moved], axis=-2)


def shift_force(f: Array, by: Array) -> Array:
    """The same force vectors (..., 6, W) with torques about points displaced by `by` (..., 3, W)."""
    torque, force = split(f, (3, 3), axis=-2)
    moved = torque - cross(by, force)
    return concat([moved, jnp.broadcast_to(force, moved.shape)], axis=-2)
