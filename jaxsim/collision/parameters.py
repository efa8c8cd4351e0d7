"""Contact parameters: how two geoms' numbers, or a named pair's, become one contact's. Native layout.

Source: computation chapter, contact parameters, in the sense of release 3.17: margins and gaps of two geoms add.
Pairs are known at compile time, indices (n,), or chosen by world, (n, W).
"""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxsim.enums import EnableBit
from jaxsim.math import safe
from jaxsim.math.axis import concat
from jaxsim.math.constants import MINVAL
from jaxsim.math.gather import Index, by_world, entries, rows_of
from jaxsim.math.stage import stage
from jaxsim.model import Model

__all__ = ["MINIMUM_FRICTION", "contact_parameters", "geom_reach", "named_reach"]

MINIMUM_FRICTION = 1e-5
"""Smallest friction coefficient of a contact (mjMINMU); keeps friction cones from degenerating."""

_FIELDS = {
    "includemargin": slice(0, 1),
    "friction": slice(1, 6),
    "solref": slice(6, 8),
    "solreffriction": slice(8, 10),
    "solimp": slice(10, 15),
    "adhesion": slice(15, 16),
}
"""Where the fields of a contact stand among its numbers."""


def geom_reach(model: Model) -> Array:
    """What each geom adds to the distance at which a contact is detected, m (ngeom, 1 or W)."""
    margin = 0.5 * model.opt.o_margin if _overridden(model) else model.geom_margin
    return margin + model.geom_gap


def named_reach(model: Model, explicit: Index) -> tuple[Array, Array] | None:
    """Which pairs the model names (n, 1 or W), and the distance at which their contacts are detected, m (n, 1 or W).

    None: there are none. Other pairs have the sum of their geoms' `geom_reach`.
    """
    if not model.npair or (isinstance(explicit, np.ndarray) and not (explicit >= 0).any()):
        return None
    margin = model.opt.o_margin if _overridden(model) else model.pair_margin
    return by_world(explicit >= 0), rows_of(margin + model.pair_gap, explicit * (explicit >= 0))


def contact_parameters(model: Model, geom1: Index, geom2: Index, explicit: Index) -> dict[str, Array]:
    """Fields of `Contact` that pairs decide, (n, ..., 1 or W).

    Args:
      model: the model.
      geom1: first geoms.
      geom2: second geoms.
      explicit: row of the model's `pair_*` fields; -1: the pair has none.
    """
    geoms = _geom_numbers(
        model.geom_margin,
        model.geom_friction,
        model.geom_solref,
        model.geom_solimp,
        model.geom_solmix,
        model.geom_adhesion,
    )
    numbers = _mix(rows_of(geoms, geom1), rows_of(geoms, geom2), _rule(model, geom1, geom2))
    if model.npair and not (isinstance(explicit, np.ndarray) and (explicit < 0).all()):
        named = _pair_numbers(
            model.pair_margin,
            model.pair_friction,
            model.pair_solref,
            model.pair_solreffriction,
            model.pair_solimp,
            model.pair_adhesion,
        )
        named = rows_of(named, explicit * (explicit >= 0))
        numbers = jnp.where(by_world(explicit >= 0)[:, None], named, numbers)
    if _overridden(model):
        option = model.opt
        by = concat(
            [option.o_margin[None], option.o_friction, option.o_solref, option.o_solref, option.o_solimp]
        )
        numbers = concat([jnp.broadcast_to(by, (len(numbers), *by.shape)), numbers[:, 15:]], axis=1)
    numbers = _bounded(numbers)
    fields = {name: numbers[:, place] for name, place in _FIELDS.items()}
    return fields | {name: fields[name][:, 0] for name in ("includemargin", "adhesion")}


def _overridden(model: Model) -> bool:
    return bool(model.opt.enableflags & EnableBit.OVERRIDE)


def _rule(model: Model, geom1: Index, geom2: Index) -> Array | None:
    """Positive, 0, negative: the first geom's priority is higher, equal, lower, (n, 1 or W); None: all are equal."""
    priority = np.asarray(model.geom_priority, np.int32)
    if (priority == priority[:1]).all():
        return None
    higher = entries(priority, geom1) - entries(priority, geom2)
    if isinstance(higher, np.ndarray) and not higher.any():
        return None
    return by_world(higher)


@stage
def _geom_numbers(
    margin: Array, friction: Array, solref: Array, solimp: Array, solmix: Array, adhesion: Array
) -> Array:
    """Numbers of geoms (ngeom, 13, W): margin, friction, solref, solimp, weight, adhesion."""
    return concat([margin[:, None], friction, solref, solimp, solmix[:, None], adhesion[:, None]], axis=1)


@stage
def _pair_numbers(
    margin: Array, friction: Array, solref: Array, solreffriction: Array, solimp: Array, adhesion: Array
) -> Array:
    """Numbers of named pairs (npair, 16, W), in the order of `_FIELDS`."""
    return concat([margin[:, None], friction, solref, solreffriction, solimp, adhesion[:, None]], axis=1)


@stage
def _mix(first: Array, second: Array, rule: Array | None) -> Array:
    """Numbers of contacts (n, 16, W) from those of geoms 1 and of geoms 2 (n, 13, W).

    The geom of higher priority decides; equal ones mix by weight. Of equal ones the friction is the larger,
    `solref` the smaller if one of the two is direct (negative), adhesion the sum.
    """
    mix1, mix2 = first[:, 11:12], second[:, 11:12]
    pull1, pull2 = first[:, 12:], second[:, 12:]
    given1, given2 = mix1 >= MINVAL, mix2 >= MINVAL
    share = jnp.where(
        given1 & given2,
        mix1 / jnp.where(given1 & given2, mix1 + mix2, 1.0),
        jnp.where(given1, 1.0, jnp.where(given2, 0.0, 0.5)),
    )
    standard = (first[:, 4:5] > 0) & (second[:, 4:5] > 0)
    friction = jnp.maximum(first[:, 1:4], second[:, 1:4])
    if rule is not None:
        rule = rule[:, None]
        share = jnp.where(rule == 0, share, (rule > 0).astype(share.dtype))
        standard = standard | (rule != 0)
        ruling = jnp.where(rule > 0, first[:, 1:4], second[:, 1:4])
        friction = jnp.where(rule == 0, friction, ruling)
        pull1, pull2 = jnp.where(rule < 0, 0, pull1), jnp.where(rule > 0, 0, pull2)
    mean = share * first[:, 4:11] + (1 - share) * second[:, 4:11]
    solref = jnp.where(standard, mean[:, :2], jnp.minimum(first[:, 4:6], second[:, 4:6]))
    slide, spin, roll = friction[:, :1], friction[:, 1:2], friction[:, 2:3]
    margin = first[:, :1] + second[:, :1]
    parts = [
        margin,
        slide,
        slide,
        spin,
        roll,
        roll,
        solref,
        jnp.zeros_like(solref),
        mean[:, 2:],
        pull1 + pull2,
    ]
    return concat(parts, axis=1)


def _bounded(numbers: Array) -> Array:
    """With friction not below its lower bound."""
    is_friction = np.zeros((16, 1), bool)
    is_friction[_FIELDS["friction"]] = True
    return jnp.where(is_friction, safe.clamp(numbers, low=MINIMUM_FRICTION), numbers)
