"""The inertia of tendons: what it adds to M, and the bias force of a Jacobian that changes.

A tendon of armature a has kinetic energy a (J v)^2 / 2: M gets a J^T J, the bias force a J^T (dJ/dt) v.
"""

from __future__ import annotations

import functools
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxsim.data import Data
from jaxsim.math.axis import add_rows, concat, mask_product, take
from jaxsim.math.gather import width_of
from jaxsim.math.vector import cross, dot
from jaxsim.model import Model
from jaxsim.pipeline.added import added_by_actuators
from jaxsim.pipeline.tendon.length import tendon_forces_to_dofs
from jaxsim.pipeline.tendon.path import Places, path, places
from jaxsim.pytree import Static, index_array
from jaxsim.structure.tendons import Segments, pulls, tendon_entries, tendon_paths
from jaxsim.structure.trees import m_entries, tree

__all__ = ["armature_forces", "tendon_armature", "tendon_bias", "tendon_products"]


class _Products(NamedTuple):
    """Entries of J whose product is part of an entry of M, and the tendon they are of."""

    entry: np.ndarray
    first: np.ndarray
    second: np.ndarray
    tendon: np.ndarray


@functools.lru_cache(maxsize=64)
def _products(static: Static) -> _Products:
    """Pairs of entries of the tendons' Jacobians whose products land on an entry of M."""
    tendons, dofs = tendon_entries(static)
    rows, cols = m_entries(static)
    places = {pair: i for i, pair in enumerate(zip(rows.tolist(), cols.tolist(), strict=True))}
    found = []
    for t in range(static.ntendon):
        own = np.flatnonzero(tendons == t).tolist()
        for i in own:
            for j in own:
                entry = places.get((int(dofs[i]), int(dofs[j])))
                if entry is not None:
                    found.append((entry, i, j, t))
    return _Products(*index_array(found).reshape(-1, 4).T)


def _armature(model: Model) -> Array | None:
    """Armature (ntendon, W) of tendons, with what actuators add, kg; None: there is none."""
    if not (model.has("tendon_armature") or model.has("actuator_armature")):
        return None
    return model.tendon_armature + added_by_actuators(model, model.actuator_armature, to_tendons=True)


def tendon_armature(model: Model, data: Data) -> Array:
    """What the armature of tendons adds to the entries (nM, W) of M."""
    armature = _armature(model)
    if armature is None:
        return jnp.zeros((len(m_entries(model.static)[0]), 1), data.qvel.dtype)
    return tendon_products(model, data, armature)


def tendon_products(model: Model, data: Data, weights: Array) -> Array:
    """Entries (nM, W) of J^T diag(weights) J, weights (ntendon, W); what M has no place for is left out."""
    table, J = _products(model.static), data.work.ten_J
    terms = take(J, table.first) * take(J, table.second) * take(weights, table.tendon)
    return add_rows(terms, table.entry, len(m_entries(model.static)[0]))


def tendon_bias(model: Model, data: Data) -> Data:
    """Adds the bias force of tendons with armature to qfrc_bias; fixed tendons have none."""
    armature = _armature(model)
    if armature is None or not len(pulls(model.static).entry):
        return data
    force = tendon_forces_to_dofs(model, data, armature * _acceleration(model, data))
    return data.replace(qfrc_bias=data.qfrc_bias + force)


def armature_forces(model: Model, data: Data) -> Array | None:
    """Forces (ntendon, W) by which the armature of tendons resists, N; None: there is none."""
    armature = _armature(model)
    if armature is None:
        return None
    return -armature * _acceleration(model, data, data.qacc)


def _acceleration(model: Model, data: Data, qacc: Array | None = None) -> Array:
    """Accelerations of the lengths of spatial tendons (ntendon, W), m/s^2, at `qacc`; None: at 0."""
    paths = tendon_paths(model.static)
    straight, wrapping = paths.straight, paths.wrapping
    at = places(model, data)
    motion = _Motion.of(model, data, qacc)
    sites, geoms = model.site_bodyid, model.geom_bodyid[wrapping.geom]

    def moved(which: Segments, points: tuple[Array, Array]) -> list[tuple[Array, Array]]:
        ends = (which.start, which.end)
        return [motion.of_points(p, sites[s]) for p, s in zip(points, ends, strict=True)]

    ends = [*moved(straight, at.straight), *moved(wrapping, at.wrapping), motion.of_points(at.centre, geoms)]
    spin, spin_rate = take(motion.velocity[:, :3], geoms), take(motion.acceleration[:, :3], geoms)
    (s0, s1, w0, w1, centre), accelerations = ([x[k] for x in ends] for k in (0, 1))
    rates = Places(
        straight=(s0, s1),
        wrapping=(w0, w1),
        centre=centre,
        axes=jnp.swapaxes(cross(spin[:, None], jnp.swapaxes(at.axes, 1, 2)), 1, 2),
        side=motion.of_points(at.side, sites[paths.sided.side])[0],
    )
    width = width_of((at, rates))
    at, rates = jax.tree.map(lambda x: jnp.broadcast_to(x, (*x.shape[:-1], width)), (at, rates))
    here, change = jax.jvp(lambda at: path(model, at), (at,), (rates,))
    velocities = concat([s0, s1, w0, w1, centre])
    points = dot(change.by_point, velocities) + dot(here.by_point, concat(accelerations))
    total = add_rows(points, pulls(model.static).tendon, model.ntendon)
    if len(geoms):
        turns = dot(change.by_turn, spin) + dot(here.by_turn, spin_rate)
        total = total + add_rows(turns, wrapping.tendon, model.ntendon)
    return total


class _Motion(NamedTuple):
    """Velocities and accelerations of bodies (nbody, 6, W), rotation first, about their trees' centres of mass.

    The accelerations are without gravity.
    """

    centre: Array
    velocity: Array
    acceleration: Array

    @classmethod
    def of(cls, model: Model, data: Data, qacc: Array | None) -> _Motion:
        rate = data.cdof_dot * data.qvel[:, None]
        if qacc is not None:
            rate = rate + data.cdof * qacc[:, None]
        acceleration = mask_product(tree(model.static).path, rate)
        return cls(take(data.subtree_com, model.body_rootid), data.cvel, acceleration)

    def of_points(self, points: Array, bodies: np.ndarray) -> tuple[Array, Array]:
        """Velocities and accelerations (n, 3, W) of points (n, 3, W) that move with bodies."""
        arm = points - take(self.centre, bodies)
        twist, rate = take(self.velocity, bodies), take(self.acceleration, bodies)
        spin = twist[:, :3]
        velocity = twist[:, 3:] + cross(spin, arm)
        return velocity, rate[:, 3:] + cross(rate[:, :3], arm) + cross(spin, velocity)
