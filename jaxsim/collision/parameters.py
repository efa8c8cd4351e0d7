"""Contact parameters of geom pairs: how two geoms' numbers become one contact's."""

from __future__ import annotations

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxsim.collision.candidates import Candidates
from jaxsim.collision.vec import TINY
from jaxsim.enums import EnableBit
from jaxsim.model import Model

__all__ = ["MINIMUM_FRICTION", "Parameters", "pair_parameters", "take"]

MINIMUM_FRICTION = 1e-5
"""Smallest friction coefficient of a contact (mjMINMU); keeps friction cones from degenerating."""


class Parameters(NamedTuple):
    """Numbers of a contact, native layout; the leading axis is candidate pairs or slots.

    Attributes:
      margin: `includemargin`, distance below which the contact makes a force, m (n, W).
      gap: further distance at which the contact is still detected, m (n, W).
      friction: two tangential, torsional (m), two rolling (m) (n, 5, W).
      solref: normal (n, 2, W).
      solreffriction: friction, zero: as normal (n, 2, W).
      solimp: impedance (n, 5, W).
    """

    margin: Array
    gap: Array
    friction: Array
    solref: Array
    solreffriction: Array
    solimp: Array

    def at(self, rows: np.ndarray) -> Parameters:
        """Static selection along the leading axis."""
        return Parameters(*(take(a, rows) for a in self))

    def pick(self, rows: Array) -> Parameters:
        """Selection by world: `rows` (k, W) of indices."""
        flat = [a[:, None] if a.ndim == 2 else a for a in self]
        width = max(a.shape[-1] for a in flat)
        counts = [a.shape[1] for a in flat]
        table = jnp.concatenate([jnp.broadcast_to(a, (*a.shape[:-1], width)) for a in flat], axis=1)
        if width == 1:
            picked = jnp.moveaxis(table[..., 0][rows], -1, 1)
        else:
            picked = jnp.take_along_axis(table, rows[:, None], axis=0)
        parts = jnp.split(picked, np.cumsum(counts)[:-1].tolist(), axis=1)
        return Parameters(*(p[:, 0] if a.ndim == 2 else p for a, p in zip(self, parts, strict=True)))


def take(a: Array, rows: np.ndarray) -> Array:
    """`a[rows]` along the first axis, as a slice where the rows are consecutive."""
    if len(rows) and np.array_equal(rows, np.arange(rows[0], rows[0] + len(rows))):
        return a[int(rows[0]) : int(rows[0]) + len(rows)]
    return a[rows]


def pair_parameters(model: Model, pairs: Candidates) -> Parameters:
    """Parameters of all candidate pairs (npair, ..., 1 or W).

    Source: computation chapter, contact parameters, in the sense of release 3.17: margins and gaps of two geoms add.
    """
    named = np.flatnonzero(pairs.explicit >= 0)
    met = np.flatnonzero(pairs.explicit < 0)
    parts = []
    if len(named):
        parts.append(_explicit(model, pairs.explicit[named]))
    if len(met):
        parts.append(_mixed(model, pairs.geom1[met], pairs.geom2[met]))
    if len(parts) == 1:
        return _override(model, parts[0])
    joined = (jnp.concatenate(_same_width(list(arrays))) for arrays in zip(*parts, strict=True))
    return _override(model, Parameters(*joined))


def _explicit(model: Model, rows: np.ndarray) -> Parameters:
    return Parameters(
        take(model.pair_margin, rows),
        take(model.pair_gap, rows),
        take(model.pair_friction, rows),
        take(model.pair_solref, rows),
        take(model.pair_solreffriction, rows),
        take(model.pair_solimp, rows),
    )


def _mixed(model: Model, g1: np.ndarray, g2: np.ndarray) -> Parameters:
    """The geom of higher priority decides; equal ones mix by weight, with the larger friction."""
    priority = model.geom_priority
    ruled = priority[g1] != priority[g2]
    mix1, mix2 = take(model.geom_solmix, g1), take(model.geom_solmix, g2)
    given1, given2 = mix1 >= TINY, mix2 >= TINY
    share = jnp.where(
        given1 & given2,
        mix1 / jnp.where(given1 & given2, mix1 + mix2, 1.0),
        jnp.where(given1, 1.0, jnp.where(given2, 0.0, 0.5)),
    )
    if ruled.any():
        share = jnp.where(ruled[:, None], (priority[g1] > priority[g2])[:, None].astype(share.dtype), share)
    share = share[:, None]

    ref1, ref2 = take(model.geom_solref, g1), take(model.geom_solref, g2)
    standard = (ref1[:, :1] > 0) & (ref2[:, :1] > 0)
    friction1, friction2 = take(model.geom_friction, g1), take(model.geom_friction, g2)
    friction = jnp.maximum(friction1, friction2)
    mean = share * ref1 + (1 - share) * ref2
    least = jnp.minimum(ref1, ref2)
    if ruled.any():
        rule = ruled[:, None, None]
        standard = standard | rule
        friction = jnp.where(rule, share * friction1 + (1 - share) * friction2, friction)
    friction = friction[:, np.array([0, 0, 1, 2, 2])]
    solref = jnp.where(standard, mean, least)
    return Parameters(
        take(model.geom_margin, g1) + take(model.geom_margin, g2),
        take(model.geom_gap, g1) + take(model.geom_gap, g2),
        friction,
        solref,
        jnp.zeros_like(solref),
        share * take(model.geom_solimp, g1) + (1 - share) * take(model.geom_solimp, g2),
    )


def _override(model: Model, p: Parameters) -> Parameters:
    """Applies the lower bound of friction and the global override of contact parameters."""
    opt = model.opt
    if opt.enableflags & EnableBit.OVERRIDE:
        n = p.margin.shape[0]

        def spread(a: Array) -> Array:
            return jnp.broadcast_to(a, (n, *a.shape))

        solref = spread(opt.o_solref)
        p = Parameters(
            spread(opt.o_margin), p.gap, spread(opt.o_friction), solref, solref, spread(opt.o_solimp)
        )
    return p._replace(friction=jnp.maximum(p.friction, MINIMUM_FRICTION))


def _same_width(arrays: list[Array]) -> list[Array]:
    width = max(a.shape[-1] for a in arrays)
    return [jnp.broadcast_to(a, (*a.shape[:-1], width)) for a in arrays]
