"""Integrators that are implicit in velocity (computation chapter, numerical integration, equation 5).

Both move with the acceleration a that solves `(M - h D) a = qfrc_smooth + qfrc_constraint`, with h the timestep and D
the derivative of the smooth forces with respect to velocity. `implicitfast` leaves out what is not symmetric, but for
trees whose only joint is free: those get their exact 6 by 6 system, gyroscopic terms included, as in C.
"""

from __future__ import annotations

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxsim.data import Data
from jaxsim.math.axis import concat, take
from jaxsim.math.six import multiply6, solve6
from jaxsim.model import Model
from jaxsim.pipeline.coriolis import bias_slope, bias_slope_free
from jaxsim.pipeline.fluid import fluid_slope, has_fluid
from jaxsim.pipeline.integrate import advance
from jaxsim.pipeline.smooth_vel import symmetric_slope
from jaxsim.solver import linalg
from jaxsim.solver.general import mul_general, solve_general
from jaxsim.structure.free import FreeTrees, free_trees
from jaxsim.structure.sparsity import TreeStructure, tree_structure

__all__ = ["FastSystem", "FullSystem", "fast_system", "full_system", "implicit", "implicitfast"]


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
    return take(concat(parts), np.argsort(np.concatenate([layout.rest, layout.dofs.reshape(-1)])))


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


def implicit(model: Model, data: Data) -> Data:
    """Euler's method, implicit in the velocity of all smooth forces."""
    qacc = data.qacc
    if model.nv:
        qacc = full_system(model, data).solve(data.qfrc_smooth + data.qfrc_constraint)
    return advance(model, data, data.act_dot, qacc)


def implicitfast(model: Model, data: Data) -> Data:
    """Euler's method, implicit in the velocity of all smooth forces but the bias force; D is made symmetric."""
    qacc = data.qacc
    if model.nv:
        qacc = fast_system(model, data).solve(data.qfrc_smooth + data.qfrc_constraint)
    return advance(model, data, data.act_dot, qacc)
