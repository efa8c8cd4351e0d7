"""Contacts that touch, gathered world by world, so that an iteration pays for them and not for all slots.

A humanoid has dozens of contact slots and a handful of contacts. The iteration runs on as many slots as are enough for
nearly every state, and only for them Jacobians are computed; if some world has more contacts, it runs on all slots.
"""

from __future__ import annotations

import functools
from typing import NamedTuple

import jax.numpy as jnp
from jax import Array

from jaxsim.collision.select import pick_first, rank
from jaxsim.math.axis import concat
from jaxsim.math.gather import rows_by_world
from jaxsim.math.some import MANY_WORLDS
from jaxsim.math.stage import platform
from jaxsim.solver.jacobian import ChainFrames, ChainJacobian, ContactJacobian, EdgeJacobian, Frames
from jaxsim.solver.rows import Cones, Rows, RowValues, join, pieces

__all__ = ["Compacted", "compact", "kept_slots"]

_SHARE = 4
"""How many times fewer slots are kept."""
_LEAST = 8
"""Slots that are always kept."""
_LEAST_OF_MANY = 24
"""The same of many trees, whose contacts are more."""


class _Touching(NamedTuple):
    """Which slots of some contacts are kept.

    Attributes:
      active: the slots that have rows, `(n, W)`.
      rows: the kept slots, `(kept, W)`.
      filled: which of these are in use, `(kept, W)`.
      lost: in which worlds there are more, `(W,)`.
    """

    active: Array
    rows: Array
    filled: Array
    lost: Array

    def pick(self, x: Array) -> Array:
        """Of values of all slots `(n, ..., 1 or W)` those of the kept ones."""
        return rows_by_world(x, self.rows)

    def spread(self, x: Array) -> Array:
        """Values of the kept slots `(kept, ..., W)` for all; 0 for those out of use."""
        place = jnp.minimum(rank(self.active), len(self.rows) - 1)
        mine = self.active.reshape(-1, *[1] * (x.ndim - 2), self.active.shape[-1])
        return jnp.where(mine, rows_by_world(x, place), 0)


class Compacted(NamedTuple):
    """Constraint rows with fewer contact slots.

    Attributes:
      sizes: how many scalar rows each of their Jacobians has, with all slots.
      scalar: for each Jacobian of scalar rows which slots are kept; None: all of its rows.
      cones: for each group of contacts with elliptic cones.
    """

    sizes: tuple[int, ...]
    scalar: tuple[_Touching | None, ...]
    cones: tuple[_Touching | None, ...]

    @property
    def lost(self) -> Array:
        """In which worlds contacts would be lost, `(W,)`."""
        return functools.reduce(
            jnp.logical_or, [t.lost for t in (*self.scalar, *self.cones) if t is not None]
        )

    def rows(self, every: Rows) -> Rows:
        """Of rows with all slots those that are kept, with their Jacobians."""
        numbers = zip(
            *(pieces(every, x) for x in (every.D, every.aref, every.low, every.high)),
            strict=True,
        )
        parts = []
        for touching, ((J, D), (_, aref), (_, low), (_, high)) in zip(self.scalar, numbers, strict=True):
            part = Rows(J=(J,), D=D, aref=aref, low=low, high=high)
            parts.append(part if touching is None else _edges(part, J, touching))
        cones = [
            group if touching is None else _cones(group, touching)
            for touching, group in zip(self.cones, every.cones, strict=True)
        ]
        return join([*parts, *cones])

    def spread(self, values: RowValues) -> RowValues:
        """Values of the rows that are kept, for all; 0 for those out of use."""
        scalar, start = [], 0
        for touching, whole in zip(self.scalar, self.sizes, strict=True):
            size = whole if touching is None else whole // len(touching.active) * len(touching.rows)
            own = values.scalar[start : start + size]
            if touching is not None:
                own = touching.spread(own.reshape(len(touching.rows), -1, own.shape[-1]))
            scalar.append(own.reshape(whole, -1))
            start += size
        cones = (
            x if touching is None else touching.spread(x)
            for touching, x in zip(self.cones, values.cones, strict=True)
        )
        return RowValues(concat(scalar) if scalar else values.scalar, tuple(cones))


def compact(rows: Rows, width: int) -> Compacted | None:
    """The rows with fewer contact slots; None if they are not worth it.

    That is where no group of contacts is large enough, and with a few worlds only: in one that is alone on a CPU all
    work counts, while of a few, as on accelerators, each operation costs the same for some slots as for all.
    """
    if width < MANY_WORLDS and not (width == 1 and platform() == "cpu"):
        return None
    scalar = tuple(
        _touching(J.contacts, D.reshape(len(J.friction), -1, D.shape[-1])[:, 0])
        if isinstance(J, EdgeJacobian)
        else None
        for J, D in pieces(rows, rows.D)
    )
    cones = tuple(_touching(group.J, group.D[:, 0]) for group in rows.cones)
    gains = any(t is not None for t in (*scalar, *cones))
    return Compacted(tuple(J.size for J in rows.J), scalar, cones) if gains else None


def kept_slots(slots: int, many: bool) -> int:
    """How many of the slots of a kind of contacts are kept; 0: all, as there is little to gain.

    Args:
      slots: how many there are.
      many: whether they are of many trees.
    """
    kept = max(_LEAST_OF_MANY if many else _LEAST, -(-slots // _SHARE))
    return kept if 2 * kept <= slots else 0


def _touching(J: Frames | ContactJacobian | ChainJacobian, D: Array) -> _Touching | None:
    """Which slots are kept of those with normal rows of some D `(n, W)`; None: all, as there is little to gain."""
    kept = kept_slots(len(D), isinstance(J, ChainFrames | ChainJacobian))
    if not kept:
        return None
    active = D > 0
    return _Touching(active, *pick_first(active, slots=kept))


def _edges(rows: Rows, J: EdgeJacobian, touching: _Touching) -> Rows:
    """Rows of some of the contacts."""
    D, aref = (touching.pick(x.reshape(len(touching.active), -1, x.shape[-1])) for x in (rows.D, rows.aref))
    D = jnp.where(touching.filled[:, None], D, 0)
    count = D.shape[0] * D.shape[1]
    return Rows(
        J=(EdgeJacobian(contacts=J.contacts.picked(touching.pick), friction=touching.pick(J.friction)),),
        D=D.reshape(count, -1),
        aref=aref.reshape(count, -1),
        low=rows.low[:count],
        high=rows.high[:count],
    )


def _cones(rows: Cones, touching: _Touching) -> Cones:
    """Some of the contacts with elliptic cones."""
    D, aref, friction, mu = (touching.pick(x) for x in (rows.D, rows.aref, rows.friction, rows.mu))
    D = jnp.where(touching.filled[:, None], D, 0)
    return Cones(J=rows.J.picked(touching.pick), D=D, aref=aref, friction=friction, mu=mu)
