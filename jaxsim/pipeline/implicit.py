"""Integrators that are implicit in velocity (computation chapter, numerical integration, equation 5).

All move with the acceleration a that solves `(M - h D) a = qfrc_smooth + qfrc_constraint`, with h the timestep and D a
derivative of the smooth forces with respect to velocity. Euler has that of the dof dampers, `implicit` that of all
forces. `implicitfast` leaves out what is not symmetric, but for trees whose only joint is free: those get their exact
6 by 6 system, gyroscopic terms included, as in C.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, Protocol

import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxsim.data import Data
from jaxsim.enums import DisableBit
from jaxsim.math.axis import add_rows, concat, stitch, take
from jaxsim.math.six import multiply6, solve6
from jaxsim.model import Model
from jaxsim.pipeline.coriolis import bias_slope, bias_slope_free
from jaxsim.pipeline.fluid import fluid_slope, has_fluid
from jaxsim.pipeline.integrate import advance
from jaxsim.pipeline.passive import damping_slope
from jaxsim.pipeline.smooth_vel import symmetric_slope
from jaxsim.solver import linalg
from jaxsim.solver.general import mul_general, solve_general
from jaxsim.structure.free import FreeTrees, free_trees
from jaxsim.structure.sparsity import TreeStructure, tree_structure
from jaxsim.structure.trees import m_entries

__all__ = [
    "DampedSystem",
    "FastSystem",
    "FullSystem",
    "System",
    "damped_system",
    "euler",
    "fast_system",
    "full_system",
    "implicit",
    "implicitfast",
]


class System(Protocol):
    """M - h D of an integrator: a step moves with the acceleration that `solve` finds."""

    def solve(self, force: Array) -> Array:
        """The acceleration of a generalized force, `(nv, W)` each."""
        ...

    def multiply(self, qacc: Array) -> Array:
        """The generalized force of an acceleration, `(nv, W)` each."""
        ...


class DampedSystem(NamedTuple):
    """M + h B as Euler has it: entries of a symmetric matrix, `(nM, W)`."""

    entries: Array
    structure: TreeStructure

    def solve(self, force: Array) -> Array:
        """The acceleration of a generalized force, `(nv, W)` each."""
        return linalg.solve_tree(self.structure, self.entries, force)

    def multiply(self, qacc: Array) -> Array:
        """The generalized force of an acceleration, `(nv, W)` each."""
        return linalg.mul_tree(self.structure, self.entries, qacc)


def damped_system(model: Model, data: Data) -> DampedSystem | None:
    """M + h B with B the slopes of the dof dampers; None if these are explicit or switched off."""
    if model.opt.disableflags & (DisableBit.EULERDAMP | DisableBit.DAMPER):
        return None
    rows, cols = m_entries(model.static)
    slope = model.opt.timestep * damping_slope(model, data)
    entries = data.M + add_rows(slope, np.flatnonzero(rows == cols), len(rows))
    return DampedSystem(entries, tree_structure(model.dof_parentid))


class FastSystem(NamedTuple):
    """M - h D as implicitfast has it.

    Attributes:
      rest: entries between the dofs that are not of free trees, `(n, W)`.
      free: matrices of the free trees, `(n, 6, 6, W)`.
      layout: which is which.
    """

    rest: Array
    free: Array
    layout: FreeTrees

    def solve(self, force: Array) -> Array:
        """The acceleration of a generalized force, `(nv, W)` each."""
        layout = self.layout
        parts = [linalg.solve_tree(layout.structure, self.rest, take(force, layout.rest))]
        if len(layout.bodies):
            parts.append(_flat(solve6(self.free, _six(force, layout))))
        return _ordered(parts, layout)

    def multiply(self, qacc: Array) -> Array:
        """The generalized force of an acceleration, `(nv, W)` each."""
        layout = self.layout
        parts = [linalg.mul_tree(layout.structure, self.rest, take(qacc, layout.rest))]
        if len(layout.bodies):
            parts.append(_flat(multiply6(self.free, _six(qacc, layout))))
        return _ordered(parts, layout)


def _six(x: Array, layout: FreeTrees) -> Array:
    return take(x, layout.dofs.reshape(-1)).reshape(-1, 6, x.shape[-1])


def _flat(x: Array) -> Array:
    return x.reshape(-1, x.shape[-1])


def _ordered(parts: list[Array], layout: FreeTrees) -> Array:
    """Rows of all dofs from those of the rest, then of the free trees."""
    return stitch(parts, [layout.rest, layout.dofs.reshape(-1)])


def fast_system(model: Model, data: Data) -> FastSystem:
    """M - h D with the derivative of all smooth forces but the bias force; needs `data.work`."""
    h = model.opt.timestep
    layout = free_trees(model.static)
    slope = symmetric_slope(model, data)
    sides: tuple[Array, ...] = (slope,)
    if has_fluid(model):
        lower, upper = fluid_slope(model, data)
        sides = (slope + lower, slope + upper)
        slope = slope + (lower + upper) / 2
    kept = jnp.asarray(layout.has_slope[:, None], slope.dtype)
    rest = take(data.M, layout.rest_entries) - h * kept * take(slope, layout.rest_entries)
    if not len(layout.bodies):
        return FastSystem(rest, jnp.zeros((0, 6, 6, 1), rest.dtype), layout)
    turning = bias_slope_free(model, data)
    return FastSystem(rest, _free(layout, data.M) - h * (_free(layout, *sides) - turning), layout)


def _free(layout: FreeTrees, *sides: Array) -> Array:
    """The matrices (n, 6, 6, W) of the free trees from entries below the diagonal, and above it if they differ."""
    upper = 0 if len(sides) == 1 else sides[0].shape[0]
    places = layout.places + np.where(np.tri(6, dtype=bool), 0, upper)
    entries = concat(sides)
    return take(entries, places.reshape(-1)).reshape(*places.shape, entries.shape[-1])


class FullSystem(NamedTuple):
    """M - h D as implicit has it: entries of its lower triangle and of the transposed upper one, `(nM, W)`."""

    lower: Array
    upper: Array
    structure: TreeStructure

    def solve(self, force: Array) -> Array:
        """The acceleration of a generalized force, `(nv, W)` each."""
        return solve_general(self.structure, self.lower, self.upper, force)

    def multiply(self, qacc: Array) -> Array:
        """The generalized force of an acceleration, `(nv, W)` each."""
        return mul_general(self.structure, self.lower, self.upper, qacc)


def full_system(model: Model, data: Data) -> FullSystem:
    """M - h D with the derivative of all smooth forces; needs `data.work`."""
    h = model.opt.timestep
    entries = data.M - h * symmetric_slope(model, data)
    lower, upper = bias_slope(model, data)
    if has_fluid(model):
        lower, upper = (x - y for x, y in zip((lower, upper), fluid_slope(model, data), strict=True))
    return FullSystem(entries + h * lower, entries + h * upper, tree_structure(model.dof_parentid))


def euler(model: Model, data: Data) -> Data:
    """Semi-implicit Euler; joint damping is implicit in velocity unless switched off."""
    return _step(model, data, damped_system)


def implicit(model: Model, data: Data) -> Data:
    """Euler's method, implicit in the velocity of all smooth forces."""
    return _step(model, data, full_system)


def implicitfast(model: Model, data: Data) -> Data:
    """Euler's method, implicit in the velocity of all smooth forces but the bias force; D is made symmetric."""
    return _step(model, data, fast_system)


def _step(model: Model, data: Data, build: Callable[[Model, Data], System | None]) -> Data:
    system = build(model, data) if model.nv else None
    qacc = data.qacc if system is None else system.solve(data.qfrc_smooth + data.qfrc_constraint)
    return advance(model, data, data.act_dot, qacc)
