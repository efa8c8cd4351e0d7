"""Lengths, velocities and Jacobians of tendons, and the forces they carry to degrees of freedom.

The Jacobian is a list of entries (`structure.tendons.tendon_entries`): most tendons pass few joints.
"""

from __future__ import annotations

import numpy as np
from jax import Array

from jaxsim.data import Data
from jaxsim.math.axis import add_rows, concat, take
from jaxsim.math.vector import cross, dot
from jaxsim.model import Model
from jaxsim.pipeline.tendon.path import Path, path, places
from jaxsim.structure.tendons import joint_coefficients, pulls, tendon_entries, tendon_paths

__all__ = ["tendon", "tendon_forces_to_dofs", "tendon_velocity", "tendon_wrenches"]


def tendon(model: Model, data: Data) -> Data:
    """Computes ten_length (m) and `work.ten_J`, the entries of `structure.tendons.tendon_entries`."""
    if not model.ntendon:
        return data
    lengths, entries = [], []
    terms = joint_coefficients(model.static)
    total = len(tendon_entries(model.static).rows)
    if len(terms.wrap):
        coefficients = take(model.wrap_prm, terms.wrap)
        positions = take(data.qpos, model.jnt_qposadr[terms.joint])
        lengths.append(add_rows(coefficients * positions, terms.tendon, model.ntendon))
        entries.append(add_rows(coefficients, terms.entry, total))
    paths = tendon_paths(model.static)
    owners = np.concatenate([paths.straight.tendon, paths.wrapping.tendon])
    if len(owners):
        found = path(model, places(model, data))
        lengths.append(add_rows(found.length, owners, model.ntendon))
        entries.append(add_rows(_jacobian(model, data, found), pulls(model.static).entry, total))
    J = entries[0] if len(entries) == 1 else entries[0] + entries[1]
    length = lengths[0] if len(lengths) == 1 else lengths[0] + lengths[1]
    return data.replace(ten_length=length, work=data.work.replace(ten_J=J))


def _jacobian(model: Model, data: Data, found: Path) -> Array:
    """Entries (k, W) of spatial tendons, of tendons `pulls.entry`."""
    table = pulls(model.static)
    slopes = _by_motion(model, data, found)
    pairs = add_rows(take(slopes, table.kept), table.pair, len(table.body))
    loads = add_rows(take(pairs, table.source), table.load, table.loads)
    return dot(take(data.cdof, table.dof), take(loads, table.of_load))


def _by_motion(model: Model, data: Data, found: Path) -> Array:
    """Derivatives of length by twists of bodies (m, 6, W), rotation first, about their trees' centres of mass."""
    paths, bodies = tendon_paths(model.static), pulls(model.static).at
    straight, wrapping = paths.straight, paths.wrapping
    sites = np.concatenate([straight.start, straight.end, wrapping.start, wrapping.end])
    points = concat([take(data.site_xpos, sites), take(data.geom_xpos, wrapping.geom)])
    arm = points - take(data.subtree_com, model.body_rootid[bodies])
    torque = cross(arm, found.by_point)
    if len(wrapping.geom):
        n = len(sites)
        torque = concat([torque[:n], torque[n:] + found.by_turn])
    return concat([torque, found.by_point], axis=1)


def tendon_wrenches(model: Model, data: Data, tension: Array) -> Array:
    """Wrenches (nbody, 6, W) of spatial tendons on bodies, torque first, about their trees' centres of mass.

    Args:
      model: the model.
      data: after the kinematics.
      tension: forces (ntendon, W) along tendons, N, positive where they push.
    """
    table = pulls(model.static)
    by_motion = _by_motion(model, data, path(model, places(model, data)))
    return add_rows(take(tension, table.tendon)[:, None] * by_motion, table.at, model.nbody)


def tendon_velocity(model: Model, data: Data) -> Array:
    """Rates of change (ntendon, W) of tendon lengths, m/s."""
    rows, cols = tendon_entries(model.static)
    return add_rows(data.work.ten_J * take(data.qvel, cols), rows, model.ntendon)


def tendon_forces_to_dofs(model: Model, data: Data, force: Array) -> Array:
    """Generalized force (nv, W) of tendon forces (ntendon, W), N, positive where they push."""
    rows, cols = tendon_entries(model.static)
    return add_rows(data.work.ten_J * take(force, rows), cols, model.nv)
