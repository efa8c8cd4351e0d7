"""Muscles: activation dynamics, and the force-length-velocity curves (computation chapter, "Muscles").

Lengths are in units of the optimum length, velocities of the greatest shortening velocity. Every curve is made of
parabolas that meet with equal slopes, so derivatives are continuous, but for the switch between activation and
deactivation, which `tausmooth` smooths.
"""

from __future__ import annotations

import jax.numpy as jnp
from jax import Array

from jaxsim.math import safe
from jaxsim.math.axis import take
from jaxsim.math.constants import MINVAL
from jaxsim.pipeline.actuation.group import Group

__all__ = ["muscle_bias", "muscle_gain", "muscle_rate"]


def muscle_rate(group: Group) -> Array:
    """Derivatives (n, W) of activations, 1/s: a filter that activates faster than it deactivates.

    Its time constants depend on the activation (Millard et al. 2013, doi:10.1115/1.4023390, equation 1).
    """
    act = take(group.data.act, group.model.actuator_actadr[group.ids])
    excess = safe.clamp(group.control(), 0, 1) - act
    scale = 0.5 + 1.5 * safe.clamp(act, 0, 1)
    rising, falling = group.prm("dyn", 0) * scale, group.prm("dyn", 1) / scale
    width = group.prm("dyn", 2)
    smooth = width >= MINVAL
    x = safe.clamp(excess / jnp.where(smooth, width, 1) + 0.5, 0, 1)
    # where nothing changes derivatives are those of a muscle at rest, which can only activate, or of deactivation
    activates = (excess > 0) | ((excess == 0) & (act <= 0))
    share = jnp.where(smooth, x**3 * (10 - x * (15 - 6 * x)), activates)
    return excess / jnp.maximum(falling + (rising - falling) * share, MINVAL)


def muscle_gain(group: Group) -> Array:
    """Active force (n, W) at activation 1, negative as muscles pull."""
    length, velocity = _normalised(group, "gain")
    lmin, lmax, fvmax = (group.prm("gain", k) for k in (4, 5, 8))
    return -_peak_force(group, "gain") * _length_curve(length, lmin, lmax) * _velocity_curve(velocity, fvmax)


def muscle_bias(group: Group) -> Array:
    """Passive force (n, W) of a stretched muscle: a parabola beyond the optimum length, then its tangent."""
    length, _ = _normalised(group, "bias")
    width = jnp.maximum(0.5 * (group.prm("bias", 5) - 1), MINVAL)
    x = safe.clamp((length - 1) / width, low=0)
    stretch = jnp.where(x <= 1, 0.5 * x * x, x - 0.5)
    return -_peak_force(group, "bias") * group.prm("bias", 7) * stretch


def _normalised(group: Group, table: str) -> tuple[Array, Array]:
    """Lengths and velocities in a muscle's own units (n, W)."""
    low, high = group.prm(table, 0), group.prm(table, 1)
    reach = take(group.model.actuator_lengthrange, group.outs)
    optimum = jnp.maximum((reach[:, 1] - reach[:, 0]) / jnp.maximum(high - low, MINVAL), MINVAL)
    length = low + (group.length - reach[:, 0]) / optimum
    return length, group.velocity / jnp.maximum(optimum * group.prm(table, 6), MINVAL)


def _peak_force(group: Group, table: str) -> Array:
    """Peak active force (n, W), N: as given, or where that is negative such that it accelerates by `scale`."""
    force, scale = group.prm(table, 2), group.prm(table, 3)
    acceleration = jnp.maximum(take(group.model.actuator_acc0, group.outs), MINVAL)
    return jnp.where(force < 0, scale / acceleration, force)


def _length_curve(length: Array, lmin: Array, lmax: Array) -> Array:
    """1 at length 1, 0 at and beyond lmin and lmax, four parabolas in between."""
    end = jnp.where(length <= 1, lmin, lmax)
    half = 0.5 * jnp.maximum(jnp.abs(1 - end), MINVAL)
    x = jnp.where(length <= 1, 1 - length, length - 1) / half
    return jnp.where(x <= 1, 1 - 0.5 * x * x, 0.5 * safe.clamp(2 - x, low=0) ** 2)


def _velocity_curve(velocity: Array, fvmax: Array) -> Array:
    """0 when shortening at full speed, 1 at rest, fvmax when stretched."""
    y = fvmax - 1
    shortening = safe.clamp(velocity + 1, low=0) ** 2
    stretching = fvmax - safe.clamp(y - velocity, low=0) ** 2 / jnp.maximum(y, MINVAL)
    return jnp.where(velocity <= 0, shortening, stretching)
