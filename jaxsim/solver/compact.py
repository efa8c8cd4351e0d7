"""Contacts that touch, gathered world by world, so that an iteration pays for them and not for all slots.

A humanoid has dozens of contact slots and a handful of contacts. The iteration runs on as many slots as are enough for
nearly every state; if some world has more contacts, it runs on all slots.
"""

from __future__ import annotations

import functools
from collections.abc import Callable

import jax.numpy as jnp
from jax import Array

from jaxsim.collision.select import pick_first
from jaxsim.math.gather import rows_by_world
from jaxsim.solver.jacobian import ChainJacobian, ContactJacobian, EdgeJacobian
from jaxsim.solver.rows import Cones, Rows, join, pieces

__all__ = ["compact"]

_SHARE = 4
"""How many times fewer slots are kept."""
_LEAST = 8
"""Slots that are always kept."""


def compact(rows: Rows) -> tuple[Rows, Array] | None:
    """The rows with fewer contact slots, and in which worlds contacts would be lost, `(W,)`.

    Returns None if no group of contacts is large enough to gain by it.
    """
    lost: list[Array] = []
    parts = []
    numbers = zip(*(pieces(rows, x) for x in (rows.D, rows.aref, rows.low, rows.high)), strict=True)
    for (J, D), (_, aref), (_, low), (_, high) in numbers:
        part = Rows(J=(J,), D=D, aref=aref, low=low, high=high)
        if isinstance(J, EdgeJacobian) and (kept := _kept(J.contacts)):
            part, over = _edges(part, J, kept)
            lost.append(over)
        parts.append(part)
    cones = []
    for group in rows.cones:
        if kept := _kept(group.J):
            group, over = _cones(group, kept)
            lost.append(over)
        cones.append(group)
    if not lost:
        return None
    return join(parts, cones), functools.reduce(jnp.logical_or, lost)


def _kept(J: ContactJacobian | ChainJacobian) -> int:
    """How many slots are kept; 0: all, as there is little to gain."""
    if isinstance(J, ChainJacobian):  # they pay for what touches in `solver/hessian.py`
        return 0
    n = J.J.shape[0]
    kept = max(_LEAST, -(-n // _SHARE))
    return kept if 2 * kept <= n else 0


def _edges(rows: Rows, J: EdgeJacobian, kept: int) -> tuple[Rows, Array]:
    """Rows of some of the contacts, and in which worlds contacts are lost."""
    n = J.friction.shape[0]
    D, aref = (x.reshape(n, -1, x.shape[-1]) for x in (rows.D, rows.aref))
    at, filled, lost = _touching(D[:, 0] > 0, kept)
    count = kept * D.shape[1]
    D, aref = jnp.where(filled[:, None], at(D), 0), at(aref)
    fewer = Rows(
        J=(EdgeJacobian(contacts=J.contacts.picked(at), friction=at(J.friction)),),
        D=D.reshape(count, -1),
        aref=aref.reshape(count, -1),
        low=rows.low[:count],
        high=rows.high[:count],
    )
    return fewer, lost


def _cones(rows: Cones, kept: int) -> tuple[Cones, Array]:
    """Some of the contacts with elliptic cones, and in which worlds contacts are lost."""
    at, filled, lost = _touching(rows.D[:, 0] > 0, kept)
    D = jnp.where(filled[:, None], at(rows.D), 0)
    return Cones(
        J=rows.J.picked(at), D=D, aref=at(rows.aref), friction=at(rows.friction), mu=at(rows.mu)
    ), lost


def _touching(active: Array, kept: int) -> tuple[Callable[[Array], Array], Array, Array]:
    """How to gather the active slots `(n, W)` of each world, which places are filled, and where there are too many."""
    rows, filled, lost = pick_first(active, slots=kept)
    return functools.partial(rows_by_world, rows=rows), filled, lost
