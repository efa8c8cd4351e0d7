"""Contact parameters of geom pairs: how two geoms' numbers become one contact's."""

from __future__ import annotations

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxsim.enums import EnableBit
from jaxsim.math.axis import concat, take
from jaxsim.math.constants import MINVAL
from jaxsim.math.stage import stage
from jaxsim.model import Model
from jaxsim.structure.pairs import Candidates

__all__ = ["MINIMUM_FRICTION", "Parameters", "pair_parameters"]

MINIMUM_FRICTION = 1e-5
"""Smallest friction coefficient of a contact (mjMINMU); keeps friction cones from degenerating."""


class Parameters(NamedTuple):
    """Numbers of contacts, native layout; the leading axis is candidate pairs or slots.

    Attributes:
      table: all numbers of each, (n, 16, W).
    """

    table: Array

    @property
    def margin(self) -> Array:
        """`includemargin`, the distance below which a contact makes a force, m (n, W)."""
        return self.table[:, 0]

    @property
    def gap(self) -> Array:
        """Further distance at which a contact is still detected, m (n, W)."""
        return self.table[:, 1]

    @property
    def friction(self) -> Array:
        """Two tangential coefficients, torsional (m), two rolling (m) (n, 5, W)."""
        return self.table[:, 2:7]

    @property
    def solref(self) -> Array:
        """Of the normal (n, 2, W)."""
        return self.table[:, 7:9]

    @property
    def solreffriction(self) -> Array:
        """Of friction; zero: as the normal (n, 2, W)."""
        return self.table[:, 9:11]

    @property
    def solimp(self) -> Array:
        """Impedance (n, 5, W)."""
        return self.table[:, 11:]

    def at(self, rows: np.ndarray) -> Parameters:
        """Static selection along the leading axis."""
        return Parameters(take(self.table, rows))

    def pick(self, rows: Array) -> Parameters:
        """Selection by world: `rows` (k, W) of indices."""
        if self.table.shape[-1] == 1:
            return Parameters(jnp.moveaxis(self.table[..., 0][rows], -1, 1))
        return Parameters(jnp.take_along_axis(self.table, rows[:, None], axis=0))


@stage
def _tabulate(
    margin: Array, gap: Array, friction: Array, solref: Array, solreffriction: Array, solimp: Array
) -> Parameters:
    """Joins the numbers of contacts, and keeps friction above its lower bound."""
    friction = jnp.maximum(friction, MINIMUM_FRICTION)
    parts = [margin[:, None], gap[:, None], friction, solref, solreffriction, solimp]
    return Parameters(concat(parts, axis=1))


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
    return Parameters(concat([p.table for p in parts]))


def _explicit(model: Model, rows: np.ndarray) -> Parameters:
    return _overridden(
        model,
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
    given1, given2 = mix1 >= MINVAL, mix2 >= MINVAL
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
    return _overridden(
        model,
        take(model.geom_margin, g1) + take(model.geom_margin, g2),
        take(model.geom_gap, g1) + take(model.geom_gap, g2),
        friction,
        solref,
        jnp.zeros_like(solref),
        share * take(model.geom_solimp, g1) + (1 - share) * take(model.geom_solimp, g2),
    )


def _overridden(model: Model, margin: Array, gap: Array, *others: Array) -> Parameters:
    """The parameters, or the global override of them."""
    if not model.opt.enableflags & EnableBit.OVERRIDE:
        return _tabulate(margin, gap, *others)
    n = margin.shape[0]
    margin, friction, solref, solimp = (
        jnp.broadcast_to(a, (n, *a.shape))
        for a in (model.opt.o_margin, model.opt.o_friction, model.opt.o_solref, model.opt.o_solimp)
    )
    return _tabulate(margin, gap, friction, solref, solref, solimp)
