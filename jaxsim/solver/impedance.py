"""Stiffness, damping and impedance of constraint rows: the spring-damper each row pulls towards.

A row's reference acceleration is `aref = -b v - k d (pos - margin)`, its regularisation `R = (1 - d) / d * A`,
with the impedance `d` a function of the violation (Computation chapter, "Solver parameters"). Native layout.
"""

from __future__ import annotations

from typing import NamedTuple

import jax.numpy as jnp
from jax import Array

from jaxsim.enums import DisableBit
from jaxsim.math import safe
from jaxsim.math.constants import MINVAL
from jaxsim.model import Model

__all__ = [
    "DEFAULT_SOLREF",
    "MAX_IMPEDANCE",
    "MIN_IMPEDANCE",
    "Impedance",
    "impedance",
    "reference_gains",
    "regularisation",
]

MIN_IMPEDANCE = 1e-4
MAX_IMPEDANCE = 0.9999
"""Bounds of impedance: below, a constraint is unenforced; above, its regularisation vanishes."""

DEFAULT_SOLREF = (0.02, 1.0)
"""Time constant, s, and damping ratio that replace a pair of mixed signs."""


class Impedance(NamedTuple):
    """Constants of rows, each `(k, W)`.

    Attributes:
      d: impedance, in (0, 1).
      k: stiffness, 1/s^2.
      b: damping, 1/s.
    """

    d: Array
    k: Array
    b: Array


def reference_gains(model: Model, solref: Array, dmax: Array) -> tuple[Array, Array]:
    """Stiffness and damping from `solref`: (time constant, damping ratio), or (-stiffness, -damping) directly.

    Args:
      model: gives the time step, below twice which no time constant may fall (unless REFSAFE is disabled).
      solref: `(k, 2, W)`.
      dmax: impedance at full violation, `(k, W)`.

    Returns:
      Stiffness and damping, `(k, W)`.
    """
    time, ratio = solref[:, 0], solref[:, 1]
    mixed = (time > 0) != (ratio > 0)
    time = jnp.where(mixed, DEFAULT_SOLREF[0], time)
    ratio = jnp.where(mixed, DEFAULT_SOLREF[1], ratio)
    standard = time > 0
    if not model.opt.disableflags & DisableBit.REFSAFE:
        time = jnp.where(standard, safe.clamp(time, low=2 * model.opt.timestep), time)
    safe_time = jnp.where(standard, time, 1)
    safe_ratio = jnp.where(standard, ratio, 1)
    k_standard = 1 / jnp.maximum(MINVAL, (dmax * safe_time * safe_ratio) ** 2)
    b_standard = 2 / jnp.maximum(MINVAL, dmax * safe_time)
    k = jnp.where(standard, k_standard, -time / (dmax * dmax))
    b = jnp.where(standard, b_standard, -ratio / dmax)
    return k, b


def impedance(model: Model, solref: Array, solimp: Array, square: Array) -> Impedance:
    """Constants of rows at a violation, `pos - margin`.

    Args:
      model: the model.
      solref: `(k, 2, W)`.
      solimp: `(k, 5, W)`: impedance at zero and at full violation, width, midpoint, power.
      square: of the violation, `(k, W)`: the violation itself, a norm, has no second derivative at 0.
    """
    d0 = safe.clamp(solimp[:, 0], MIN_IMPEDANCE, MAX_IMPEDANCE)
    d1 = safe.clamp(solimp[:, 1], MIN_IMPEDANCE, MAX_IMPEDANCE)
    width = safe.clamp(solimp[:, 2], low=0)
    middle = safe.clamp(solimp[:, 3], MIN_IMPEDANCE, MAX_IMPEDANCE)
    power = safe.clamp(solimp[:, 4], low=1)
    k, b = reference_gains(model, solref, d1)
    flat = width <= MINVAL
    square = square / jnp.where(flat, 1, width) ** 2
    inside = (square > 0) & (square < 1)
    x = jnp.sqrt(jnp.where(inside, square, 0.25))
    below = x <= middle
    part = jnp.where(below, x, 1 - x)
    half = jnp.where(below, middle, 1 - middle)
    bend = half * jnp.exp(power * jnp.log(part / half))
    y = jnp.where(below, bend, 1 - bend)
    at_zero = jnp.where(power == 2, square / middle, 0)
    y = jnp.where(inside, y, jnp.where(square >= 1, 1, at_zero))
    d = jnp.where(flat, 0.5 * (d0 + d1), d0 + y * (d1 - d0))
    return Impedance(d=d, k=k, b=b)


def regularisation(d: Array, approximate_inverse_inertia: Array) -> Array:
    """R of rows with impedance `d`; the argument is the diagonal of `J M^-1 J^T` at qpos0, approximately."""
    return jnp.maximum(MINVAL, (1 - d) / d * approximate_inverse_inertia)
