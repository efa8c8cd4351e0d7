"""The model by ellipsoids: drag, lift and added mass of geoms (computation chapter, ellipsoid-based model).

All vectors are in the geom's frame. With semiaxes s, a is the square of the product of the other two semiaxes, so that
`a v` is normal to the ellipsoid's shadow along the velocity v.
"""

from __future__ import annotations

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxsim.enums import GeomType
from jaxsim.math import safe
from jaxsim.math.axis import concat, replace_rows, take
from jaxsim.math.vector import cross
from jaxsim.model import Model
from jaxsim.pipeline.fluid.added_mass import added_mass

__all__ = ["SHAPES", "Ellipsoid", "ellipsoid_force", "ellipsoid_of", "geom_fluid", "semiaxes"]

SHAPES = (
    GeomType.SPHERE,
    GeomType.CAPSULE,
    GeomType.ELLIPSOID,
    GeomType.CYLINDER,
    GeomType.BOX,
    GeomType.MESH,
)
"""Types of geoms that the model is for."""


class Ellipsoid(NamedTuple):
    """Constants of n geoms in a medium; products with its density and viscosity included.

    Attributes:
      normal: squared products of the other two semiaxes, (n, 3, W).
      area: largest shadow, m^2, (n, 1, W).
      blunt: drag of the shadow, per squared speed.
      slender: drag of the rest of `area`.
      stokes: linear drag of translation.
      kutta: lift by circulation around the shadow.
      magnus: lift by rotation.
      moment: angular drag about the axes, (n, 3, W), to be multiplied by the density.
      stokes_torque: linear drag of rotation.
      mass: added mass along the axes, kg, (n, 3, W).
      inertia: added moments of inertia, kg m^2, (n, 3, W).
      density: of the medium, kg/m^3.
    """

    normal: Array
    area: Array
    blunt: Array
    slender: Array
    stokes: Array
    kutta: Array
    magnus: Array
    moment: Array
    stokes_torque: Array
    mass: Array
    inertia: Array
    density: Array


def geom_fluid(model: Model) -> Array:
    """The coefficients (ngeom, 12, W), with the added masses of the sizes that geoms have now."""
    geoms = np.flatnonzero(np.isin(model.geom_type, SHAPES))
    axes = semiaxes(model, geoms)
    mass, inertia = added_mass([axes[:, k] for k in range(3)])
    before = take(model.geom_fluid, geoms)
    added = jnp.where(before[:, :1] > 0, jnp.stack([*mass, *inertia], axis=1), before[:, 6:])
    return replace_rows(model.geom_fluid, geoms, concat([before[:, :6], added], axis=1))


def semiaxes(model: Model, geoms: np.ndarray) -> Array:
    """Semiaxes (n, 3, W), m, of the ellipsoids that stand for geoms; 1 of those that interact in no such way."""
    kind, size = model.geom_type[geoms], take(model.geom_size, geoms)
    size = jnp.where(take(model.geom_fluid, geoms)[:, :1] > 0, size, 1)
    x, y, z = size[:, 0], size[:, 1], size[:, 2]
    is_ball, is_capsule, is_cylinder = (
        jnp.asarray((kind == k)[:, None]) for k in (GeomType.SPHERE, GeomType.CAPSULE, GeomType.CYLINDER)
    )
    is_round = is_ball | is_capsule | is_cylinder
    last = jnp.where(is_ball, x, jnp.where(is_capsule, x + y, jnp.where(is_cylinder, y, z)))
    return jnp.stack([x, jnp.where(is_round, x, y), last], axis=1)


def ellipsoid_of(axes: Array, coefficients: Array, density: Array, viscosity: Array) -> Ellipsoid:
    """Constants of geoms with semiaxes (n, 3, W) and `geom_fluid` (n, 12, W)."""
    blunt, slender, angular, kutta, magnus = (coefficients[:, k, None] for k in range(1, 6))
    largest = jnp.max(axes, axis=1, keepdims=True)
    middle = jnp.sum(axes, axis=1, keepdims=True) - largest - jnp.min(axes, axis=1, keepdims=True)
    product = axes[:, 0] * axes[:, 1] * axes[:, 2]
    nextone, other = jnp.roll(axes, -1, axis=1), jnp.roll(axes, -2, axis=1)
    around = 8 / 15 * np.pi * axes * jnp.maximum(nextone, other) ** 4
    most = 8 / 15 * np.pi * middle * largest**4
    diameter = 2 / 3 * jnp.sum(axes, axis=1, keepdims=True)
    return Ellipsoid(
        normal=(nextone * other) ** 2,
        area=np.pi * largest * middle,
        blunt=density * blunt,
        slender=density * slender,
        stokes=3 * np.pi * viscosity * diameter,
        kutta=density * kutta,
        magnus=density * magnus * 4 / 3 * np.pi * product[:, None],
        moment=angular * around + slender * (most - around),
        stokes_torque=np.pi * viscosity * diameter**3,
        mass=density * coefficients[:, 6:9],
        inertia=density * coefficients[:, 9:12],
        density=density,
    )


def ellipsoid_force(body: Ellipsoid, velocity: Array) -> Array:
    """Wrenches (..., n, 6, W) of the medium, torque first, at velocities relative to it, rotation first."""
    w, v = velocity[..., :3, :], velocity[..., 3:, :]
    momentum, spin = body.mass * v, body.inertia * w
    angular = body.stokes_torque + body.density * _norm(body.moment * w)
    torque = cross(momentum, v) + cross(spin, w) - angular * w

    # the shadow does not depend on the speed
    unit, speed = safe.normalize(v)
    normal = body.normal * unit
    along = jnp.sum(normal * unit, axis=-2, keepdims=True)
    square = jnp.sum(normal * normal, axis=-2, keepdims=True)
    area = np.pi * safe.sqrt(safe.divide(square, along))
    circulation = body.kutta * area * safe.divide(along, square) * cross(normal, v)
    drag = body.stokes + speed * (body.blunt * area + body.slender * (body.area - area))
    force = cross(momentum, w) + body.magnus * cross(w, v) + cross(circulation, v) - drag * v
    return jnp.concatenate([torque, force], axis=-2)


def _norm(x: Array) -> Array:
    return safe.norm(x)[..., None, :]
