"""Another model in each world: masses, frictions, gains and damping scaled at random."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxsim.enums import BiasType, GainType
from jaxsim.hints import hint
from jaxsim.math.random import check_keys
from jaxsim.model import Model

__all__ = ["checked_ranges", "randomise"]

_SCALED = {
    "friction": ("geom_friction", "pair_friction"),
    "mass": ("body_mass", "body_inertia"),
    "damping": ("dof_damping",),
    "armature": ("dof_armature",),
    "gain": ("actuator_gainprm", "actuator_biasprm"),
}
"""Leaves that are scaled together, by what they are."""

_STRENGTH: dict[str, tuple[tuple[int, tuple[int, ...]], ...]] = {
    "gain": ((GainType.MUSCLE, (2, 3)), (GainType.DCMOTOR, (1,))),  # greatest force, by itself or by `scale`
    "bias": ((BiasType.MUSCLE, (2, 3)), (BiasType.DCMOTOR, ())),
}
"""Types of which these parameters alone are scaled: the others are lengths, speeds, resistances, angles."""


def randomise(
    model: Model,
    rng: Array,
    *,
    friction: tuple[float, float] = (0.6, 1.4),
    mass: tuple[float, float] = (0.9, 1.1),
    damping: tuple[float, float] = (0.8, 1.2),
    armature: tuple[float, float] = (1.0, 1.0),
    gain: tuple[float, float] = (0.9, 1.1),
) -> tuple[Model, Model]:
    """Models of many worlds, for `Randomised` and `wrap_for_training`.

    Each quantity is scaled by a number drawn uniformly from its range: one a world for friction, one a body for mass
    (its inertia with it), one a degree of freedom for damping and armature, one an actuator for gains (of a muscle its
    greatest force, of a DC motor its motor constant; of other types all parameters of gain and bias). Numbers that
    the compiler derives from these (`dof_invweight0`, `actuator_acc0` ...) are not: as in mjSpec's practice they
    are the nominal model's; call `set_const` on the result where that matters.

    Args:
      model: the nominal model.
      rng: a random key a world, (worlds,) typed or (worlds, 2).
      friction: least and largest scale of friction coefficients, of geoms and of pairs.
      mass: of masses and inertias.
      damping: of damping.
      armature: of rotor inertias.
      gain: of actuators' gains, and of their biases with them.

    Returns:
      The model with a world axis on the leaves that differ, and a model of the axes: 0 or None.

    Raises:
      ValueError: a range is not two numbers, empty or not positive, or there is one key for all worlds.
    """
    check_keys(rng)
    ranges = {"friction": friction, "mass": mass, "damping": damping, "armature": armature, "gain": gain}
    ranges = checked_ranges(ranges)
    drawn = {name: bounds for name, bounds in ranges.items() if bounds != (1.0, 1.0)}

    def one(key: Array) -> dict[str, Any]:
        leaves = {}
        for name, (low, high) in drawn.items():
            key, own = jax.random.split(key)
            first = getattr(model, _SCALED[name][0])
            count = 1 if name == "friction" else first.shape[0]
            scale = jax.random.uniform(own, (count,), jnp.asarray(first).dtype, low, high)
            for leaf in _SCALED[name]:
                x = jnp.asarray(getattr(model, leaf))
                scaled = x * scale.reshape(-1, *[1] * (x.ndim - 1))
                leaves[leaf] = jnp.where(_strength(model, leaf), scaled, x) if name == "gain" else scaled
        return leaves

    leaves = jax.vmap(one)(rng)
    axes = jax.tree.map(lambda x: None, model).replace(**dict.fromkeys(leaves, 0))
    return model.replace(**leaves), axes


def checked_ranges(ranges: Mapping[str, Any]) -> dict[str, tuple[float, float]]:
    """Ranges of scales by name, as `randomise` takes them.

    Raises:
      ValueError: a name is none of `randomise`'s, or a range is not two numbers, empty or not positive.
    """
    return {name: _range(name, bounds) for name, bounds in ranges.items()}


def _range(name: str, bounds: Any) -> tuple[float, float]:
    if name not in _SCALED:
        raise ValueError(f"no range {name!r}{hint(name, _SCALED)}; there are {', '.join(_SCALED)}")
    try:
        low, high = (float(bound) for bound in (() if isinstance(bounds, str) else bounds))
    except (TypeError, ValueError):
        raise ValueError(f"{name} is two numbers, the least and the largest scale, not {bounds!r}") from None
    if not 0 < low <= high < math.inf:
        raise ValueError(f"{name}: no range of positive scales: {low}, {high}")
    return low, high


def _strength(model: Model, leaf: str) -> np.ndarray:
    """Which parameters of actuators (nactuator, 10) make their force larger in proportion."""
    part = leaf.removeprefix("actuator_").removesuffix("prm")
    types, shape = getattr(model, f"actuator_{part}type"), getattr(model, leaf).shape
    which = np.ones(shape, bool)
    for kind, columns in _STRENGTH[part]:
        which[types == kind] = np.isin(np.arange(shape[1]), columns)
    return which
