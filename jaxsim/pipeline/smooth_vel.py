"""Derivatives of the smooth forces with respect to velocity, in the sparsity of M (mjd_smooth_vel).

What tendons and actuators couple beyond it is dropped, as in the C engine (computation chapter, numerical integration).
"""

from __future__ import annotations

import functools

import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxsim.data import Data
from jaxsim.enums import BiasType, DisableBit, GainType
from jaxsim.math.axis import add_rows, take
from jaxsim.model import Model
from jaxsim.pipeline.actuation import force_slope
from jaxsim.pipeline.passive import damping_slope, damps_tendons, tendon_damping_slope
from jaxsim.pipeline.tendon import tendon_products
from jaxsim.pytree import Static
from jaxsim.structure.sparsity import places_of, tree_structure
from jaxsim.structure.transmissions import moment_entries
from jaxsim.structure.trees import m_entries

__all__ = ["symmetric_slope"]


def symmetric_slope(model: Model, data: Data) -> Array:
    """Derivative (nM, W) of the forces of actuators, and of dampers of joints and tendons: symmetric by nature."""
    return _actuators(model, data) + _dampers(model, data)


def _dampers(model: Model, data: Data) -> Array:
    rows, cols = m_entries(model.static)
    if model.opt.disableflags & DisableBit.DAMPER:
        return jnp.zeros((len(rows), 1), data.qvel.dtype)
    slope = -add_rows(damping_slope(model, data), np.flatnonzero(rows == cols), len(rows))
    if damps_tendons(model):
        slope = slope - tendon_products(model, data, tendon_damping_slope(model, data))
    return slope


def _actuators(model: Model, data: Data) -> Array:
    """Each force's slope along its velocity, times the products of its moment arms."""
    left, right, place, output = _moment_pairs(model.static)
    size = len(m_entries(model.static)[0])
    if not len(place) or model.opt.disableflags & DisableBit.ACTUATION:
        return jnp.zeros((size, 1), data.qvel.dtype)
    moment = data.work.actuator_moment
    products = take(moment, left) * take(moment, right) * take(force_slope(model, data), output)
    return add_rows(products, place, size)


@functools.lru_cache(maxsize=64)
def _moment_pairs(static: Static) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Pairs of moment entries of one force that depends on velocity.

    Returns:
      (the entry of a dof, that of an ancestor, their entry of M, the force output).
    """
    rows, cols = moment_entries(static)
    varying = (static.actuator_biastype != BiasType.NONE) | (static.actuator_gaintype != GainType.FIXED)
    outputs = np.repeat(varying, static.actuator_outnum)
    places = places_of(tree_structure(static.dof_parentid))
    found = []
    for output in np.unique(rows[outputs[rows]]):
        entries = np.flatnonzero(rows == output)
        for a in entries:
            found += [(a, b, places[cols[a], cols[b]], output) for b in entries if cols[b] <= cols[a]]
    table = np.array(found, int).reshape(-1, 4)
    table = table[table[:, 2] < tree_structure(static.dof_parentid).size]
    return tuple(table.T)  # pyright: ignore
