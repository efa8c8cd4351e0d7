"""Generalized forces of the medium and their derivatives with respect to velocity. Worlds on the last axis.

A body with a geom of the ellipsoid model feels that model through its geoms; every other body feels the model by
inertia. Bodies of no mass feel nothing (mj_fluid).
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxsim.data import Data
from jaxsim.enums import DisableBit
from jaxsim.math import spatial
from jaxsim.math.axis import add_rows, concat, contract, mask_product, split, take
from jaxsim.math.constants import MINVAL
from jaxsim.math.gather import width_of
from jaxsim.math.vector import cross, matmul, matvec, matvec_transposed
from jaxsim.model import Model
from jaxsim.pipeline.fluid.box import box_force, equivalent_box
from jaxsim.pipeline.fluid.ellipsoid import SHAPES, ellipsoid_force, ellipsoid_of, semiaxes
from jaxsim.pipeline.inertia import root_offset
from jaxsim.pipeline.velocity import project
from jaxsim.solver import linalg
from jaxsim.structure.sparsity import tree_structure
from jaxsim.structure.trees import tree

__all__ = ["fluid_force", "fluid_slope", "has_fluid"]

_PASSIVE = DisableBit.SPRING | DisableBit.DAMPER
"""With both of these off there are no passive forces at all."""


def has_fluid(model: Model) -> bool:
    """Whether the medium may exert forces; without density and viscosity nothing of this is compiled."""
    present = model.opt.has("density") or model.opt.has("viscosity")
    return bool(present and model.nv) and model.opt.disableflags & _PASSIVE != _PASSIVE


class _Immersed(NamedTuple):
    """Bodies or geoms in the medium.

    Attributes:
      bodies: that they belong to, (n,).
      arm: their positions from the centres of mass of their trees, m, (n, 3, W).
      frame: their orientations, (n, 3, 3, W).
      velocity: relative to the medium, in their frames, rotation first, (n, 6, W).
      share: 1 where the model applies to them, else 0, (n, W).
      force: wrenches (..., n, 6, W), torque first, of velocities, both in their frames.
    """

    bodies: np.ndarray
    arm: Array
    frame: Array
    velocity: Array
    share: Array
    force: Callable[[Array], Array]

    def slope(self) -> Array:
        """Derivatives (n, 6, 6, W) of the wrenches with respect to velocities."""
        width = width_of((self.velocity, self.share))
        directions = jnp.eye(6, dtype=self.velocity.dtype)[:, None, :, None]
        shape = (6, *self.velocity.shape[:-1], width)
        at, along = jnp.broadcast_to(self.velocity, shape), jnp.broadcast_to(directions, shape)
        return jnp.moveaxis(jax.jvp(self.force, (at,), (along,))[1], 0, 2)


def _motion(model: Model, data: Data, bodies: np.ndarray, arm: Array, frame: Array) -> Array:
    """Velocities relative to the medium (n, 6, W) of points at `arm` (n, 3, W), in frames (n, 3, 3, W)."""
    turn, move = split(spatial.shift_motion(take(data.cvel, bodies), arm), (3, 3), axis=1)
    return concat([matvec_transposed(frame, x) for x in (turn, move - model.opt.wind)], axis=1)


def _boxes(model: Model, data: Data) -> _Immersed:
    """The moving bodies."""
    bodies = np.flatnonzero(model.body_treeid >= 0)
    mass = take(model.body_mass, bodies)
    owner = model.geom_bodyid[_shaped(model)]
    flags = add_rows((_flags(model) > 0).astype(mass.dtype), owner, model.nbody)
    arm, frame = root_offset(model, data, take(data.xipos, bodies), bodies), take(data.ximat, bodies)
    box = equivalent_box(take(model.body_inertia, bodies), mass)
    return _Immersed(
        bodies=bodies,
        arm=arm,
        frame=frame,
        velocity=_motion(model, data, bodies, arm, frame),
        share=jnp.where(take(flags, bodies) > 0, 0, jnp.ones_like(mass)),
        force=lambda v: box_force(box, v, model.opt.density, model.opt.viscosity),
    )


def _shaped(model: Model) -> np.ndarray:
    """Geoms to which the model by ellipsoids may apply."""
    if not model.has("geom_fluid"):
        return np.zeros(0, int)
    moving = model.body_treeid[model.geom_bodyid] >= 0
    return np.flatnonzero(np.isin(model.geom_type, SHAPES) & moving)


def _flags(model: Model) -> Array:
    """What scales the forces of ellipsoids (n, W): 1 or 0 in files."""
    return take(model.geom_fluid[:, 0], _shaped(model))


def _ellipsoids(model: Model, data: Data) -> _Immersed:
    """The geoms that may be ellipsoids."""
    geoms = _shaped(model)
    bodies = model.geom_bodyid[geoms]
    arm, frame = root_offset(model, data, take(data.geom_xpos, geoms), bodies), take(data.geom_xmat, geoms)
    shape = ellipsoid_of(
        semiaxes(model, geoms), take(model.geom_fluid, geoms), model.opt.density, model.opt.viscosity
    )
    return _Immersed(
        bodies=bodies,
        arm=arm,
        frame=frame,
        velocity=_motion(model, data, bodies, arm, frame),
        share=jnp.where(take(model.body_mass, bodies) >= MINVAL, _flags(model), 0),
        force=functools.partial(ellipsoid_force, shape),
    )


def _all(model: Model, data: Data) -> list[_Immersed]:
    return [_boxes(model, data), *([_ellipsoids(model, data)] if len(_shaped(model)) else [])]


def fluid_force(model: Model, data: Data) -> Array:
    """Generalized force (nv, W) of the medium; needs positions, cvel and cdof."""
    parts = _all(model, data)
    wrenches = concat([_in_world(part) for part in parts])
    bodies = np.concatenate([part.bodies for part in parts])
    return project(data.cdof, add_rows(wrenches, bodies, model.nbody), static=model.static)


def _in_world(part: _Immersed) -> Array:
    """Wrenches (n, 6, W) in world axes about the centres of mass of the trees."""
    local = part.force(part.velocity) * part.share[:, None]
    torque, force = (matvec(part.frame, x) for x in split(local, (3, 3), axis=1))
    return concat([torque + cross(part.arm, force), force], axis=1)


def fluid_slope(model: Model, data: Data) -> tuple[Array, Array]:
    """Derivative of `fluid_force` with respect to qvel, for entries (i, j) of M and transposed, (nM, W) each.

    Resistances of bodies add up like inertias: each dof feels the sum over what it carries.
    """
    parts = _all(model, data)
    slopes = concat([_slope_in_world(part) for part in parts])
    bodies = np.concatenate([part.bodies for part in parts])
    carried = mask_product(tree(model.static).carried[:, bodies], slopes)
    structure = tree_structure(model.dof_parentid)
    axes = jnp.moveaxis(data.cdof, 1, 0)[:, :, None]
    ahead, back = (contract(jnp.moveaxis(carried, k, 0), axes) for k in (2, 1))
    return linalg.dot_tree(structure, data.cdof, back), linalg.dot_tree(structure, data.cdof, ahead)


def _slope_in_world(part: _Immersed) -> Array:
    """Derivatives (n, 6, 6, W) of wrenches by velocities, both about the centres of mass of the trees."""
    local = part.slope() * part.share[:, None, None]
    back = jnp.swapaxes(part.frame, 1, 2)
    turned = [
        [matmul(matmul(part.frame, local[:, i : i + 3, j : j + 3]), back) for j in (0, 3)] for i in (0, 3)
    ]
    top, bottom = (
        jnp.concatenate([across - cross(along, part.arm[:, None]), along], axis=2) for across, along in turned
    )
    lever = jnp.swapaxes(cross(part.arm[:, None], jnp.swapaxes(bottom, 1, 2)), 1, 2)
    return jnp.concatenate([top + lever, bottom], axis=1)
