"""Contacts that touch, gathered world by world, so that an iteration pays for them and not for all slots.

A humanoid has dozens of contact slots and a handful of contacts. The iteration runs on as many slots as are enough for
nearly every state, and only for them Jacobians are computed; if some world has more contacts, it runs on all slots. On
a CPU it looks at no more of either than touch (`math/in_use.py`).

There contacts of several dimensions become one group of the largest, so that a program has their equations once: along
the axes that one has not, it has neither friction nor stiffness. An accelerator, which works on all slots that are
kept, has a group for each dimension.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import jax.numpy as jnp
from jax import Array

from jaxsim.collision.select import pick_first, rank
from jaxsim.math.axis import concat
from jaxsim.math.gather import rows_by_world
from jaxsim.math.some import MANY_WORLDS
from jaxsim.math.stage import platform
from jaxsim.solver.blocks import MANY, MOST
from jaxsim.solver.chain_jacobian import ChainFrames, ChainJacobian, mutual
from jaxsim.solver.contact_jacobian import ContactJacobian
from jaxsim.solver.frames import Frames, joined_frames
from jaxsim.solver.jacobian import EdgeJacobian
from jaxsim.solver.rows import NUMBERS, Cones, Rows, RowValues, join

__all__ = ["Compacted", "compact", "kept_slots", "touching_first"]

Sizes = Sequence[tuple[int, ...]]
"""Of contacts of each dimension: slots, and rows of one."""

_SHARE = 4
"""How many times fewer rows are kept."""
_SHARE_OF_BLOCKS = 6
"""The same where worlds with more contacts go on by themselves and look at all slots in blocks: they hardly pay."""
_MOST_OF_BLOCKS = 32
"""Most slots that are kept there."""
_LEAST = 8
"""Slots that are always kept."""
_LEAST_OF_MANY = 24
"""The same of many trees, whose contacts are more."""


class _Kind(NamedTuple):
    """Contacts of one dimension.

    Attributes:
      rows: as they are.
      J: what their Jacobian is computed from.
      D: inverse regularisation of the rows of each, `(n, rows, W)`.
      aref: reference acceleration, the same.
      friction: friction coefficients, `(n, dim - 1, W)`.
      mu: that of the regularised cone, `(n, W)`.
    """

    rows: Rows | Cones
    J: Frames | ContactJacobian | ChainJacobian
    D: Array
    aref: Array
    friction: Array
    mu: Array


class _Touching(NamedTuple):
    """Which slots of a group are kept.

    Attributes:
      active: the slots that have rows, dimension after dimension, `(n, W)`.
      mutual: those of them that have two bodies which move and come first, `(n, W)`; None: it does not matter.
      kept: the slots that are kept, `(kept, W)`.
      filled: which of these are in use, `(kept, W)`.
      lost: in which worlds there are more, `(W,)`.
      counted: whether Jacobians know how many contacts touch; they have no reverse mode then.
    """

    active: Array
    mutual: Array | None
    kept: Array
    filled: Array
    lost: Array
    counted: bool

    def pick(self, x: Array) -> Array:
        """Of values of all slots `(n, ..., 1 or W)` those of the kept ones."""
        return rows_by_world(x, self.kept)

    def rows(self, kinds: Sequence[_Kind]) -> Rows | Cones:
        """The rows of the kept slots, with their Jacobian."""
        J = joined_frames([kind.J for kind in kinds if isinstance(kind.J, Frames)]).picked(self.pick)
        if self.counted:
            J = J.replace(used=jnp.sum(self.filled, axis=0, dtype=int))
        if self.mutual is not None:
            J = J.replace(mutual=jnp.minimum(jnp.sum(self.mutual, axis=0, dtype=int), len(self.kept)))
        D, aref, friction = (
            self.pick(_side_by_side([getattr(kind, name) for kind in kinds]))
            for name in ("D", "aref", "friction")
        )
        D = jnp.where(self.filled[:, None], D, 0)
        if _have_cones(kinds):
            mu = self.pick(concat([kind.mu for kind in kinds]))
            return Cones(J=J, D=D, aref=aref, friction=friction, mu=mu)
        D, aref = (x.reshape(-1, x.shape[-1]) for x in (D, aref))
        zero = jnp.zeros((len(D), 1), D.dtype)
        edges = EdgeJacobian(contacts=J, friction=friction)
        return Rows(J=(edges,), D=D, aref=aref, low=zero, high=zero + jnp.inf)

    def spread(self, kinds: Sequence[_Kind], values: Array) -> Iterator[Array]:
        """Values of the kept slots `(kept, rows, W)` for all of each kind, `(n, rows, W)`; 0 for those out of use."""
        place = rank(_in_order(self.active, self.mutual))
        if self.mutual is not None:
            place = jnp.where(self.mutual, place[: len(self.active)], place[len(self.active) :])
        place, start = jnp.minimum(place, len(self.kept) - 1), 0
        for kind in kinds:
            n, rows = kind.D.shape[:2]
            own = slice(start, start + n)
            yield jnp.where(self.active[own, None], rows_by_world(values[:, :rows], place[own]), 0)
            start += n


class Compacted(NamedTuple):
    """Constraint rows with fewer contact slots.

    Attributes:
      groups: the dimensions of each, in their order, and which of its slots are kept; None: all.
    """

    groups: tuple[tuple[slice, _Touching | None], ...]

    @property
    def lost(self) -> Array:
        """In which worlds contacts would be lost, `(W,)`."""
        return functools.reduce(jnp.logical_or, [own.lost for _, own in self.groups if own is not None])

    def rows(self, every: Rows) -> Rows:
        """Of rows with all slots those that are kept, with their Jacobians."""
        kinds = _kinds(every)
        parts: list[Rows | Cones] = [_others(every)]
        for own, touching in self.groups:
            parts.append(kinds[own][0].rows if touching is None else touching.rows(kinds[own]))
        return join(parts)

    def spread(self, every: Rows, values: RowValues) -> RowValues:
        """Values of the rows that are kept, for all; 0 for those out of use."""
        every_kind, start, of_cones = _kinds(every), len(_others(every).D), iter(values.cones)
        scalar, cones = [values.scalar[:start]], []
        for own, touching in self.groups:
            kinds = every_kind[own]
            if _have_cones(kinds):
                found = next(of_cones)
            else:
                rows = max(kind.D.shape[1] for kind in kinds)
                stop = start + rows * len(kinds[0].D if touching is None else touching.kept)
                found = values.scalar[start:stop].reshape(-1, rows, values.scalar.shape[-1])
                start = stop
            parts = [found] if touching is None else touching.spread(kinds, found)
            for kind, part in zip(kinds, parts, strict=True):
                if isinstance(kind.rows, Cones):
                    cones.append(part)
                else:
                    scalar.append(part.reshape(-1, part.shape[-1]))
        return RowValues(concat(scalar), tuple(cones))


def compact(rows: Rows, width: int, iterated: bool) -> Compacted | None:
    """The rows with fewer contact slots; None if they are not worth it.

    That is where they are few, and with a few worlds only: in one that is alone on a CPU all work counts, while of a
    few, as on accelerators, each operation costs the same for some slots as for all.

    Args:
      rows: the rows.
      width: number of worlds.
      iterated: whether worlds with more contacts go on by themselves, and nothing has derivatives; of a derivative
        all worlds pay for those.
    """
    if width < MANY_WORLDS and not (width == 1 and platform() == "cpu"):
        return None
    kinds = _kinds(rows)
    kept = kept_slots([kind.D.shape[:2] for kind in kinds], _of_many(kinds), iterated)
    return _compacted(kinds, kept, iterated) if any(kept) else None


def touching_first(rows: Rows) -> Compacted | None:
    """The rows with as many contact slots, those that touch before the others; None if nothing is gained by that.

    It is where programs look at no more contacts than touch.
    """
    kinds = _kinds(rows)
    if not _in_blocks():
        return None
    count = sum(len(kind.D) for kind in kinds)
    block = MANY if _of_many(kinds) else MOST
    return _compacted(kinds, [-(-count // block) * block] * len(kinds), iterated=True)


def kept_slots(sizes: Sizes, many: bool, iterated: bool = True) -> list[int]:
    """How many contact slots are kept of the group of each dimension; 0: all, as there is little to gain.

    Args:
      sizes: of the contacts.
      many: whether they are of many trees.
      iterated: as of `compact`.
    """
    groups = [sizes] * len(sizes) if _in_blocks() else [[own] for own in sizes]
    return [_kept(own, many, iterated) for own in groups]


def _kept(sizes: Sizes, many: bool, iterated: bool) -> int:
    """How many slots are kept of a group."""
    rows, most = sum(n * own for n, own in sizes), max(own for _, own in sizes)
    if not (_in_blocks() and iterated):
        kept = max(_LEAST_OF_MANY if many else _LEAST, -(-rows // (_SHARE * most)))
    elif many:
        kept = MANY * max(-(-_LEAST_OF_MANY // MANY), round(rows / (_SHARE * most * MANY)))
    else:
        slots = sum(n for n, _ in sizes)
        kept = MOST * max(1, round(min(slots / _SHARE_OF_BLOCKS, _MOST_OF_BLOCKS) / MOST))
    return kept if 2 * kept * most <= rows else 0


def _in_blocks() -> bool:
    """Whether contacts are one group that is looked at in blocks."""
    return platform() == "cpu"


def _of_many(kinds: Sequence[_Kind]) -> bool:
    """Whether the contacts are of many trees."""
    return any(isinstance(kind.J, ChainFrames | ChainJacobian) for kind in kinds)


def _kinds(rows: Rows) -> list[_Kind]:
    """The contacts, dimension after dimension."""
    found, start = [], len(_others(rows).D)
    for J in rows.J:
        if not isinstance(J, EdgeJacobian):
            continue
        own = slice(start, start + J.size)
        part = Rows(J=(J,), **{name: getattr(rows, name)[own] for name in NUMBERS})
        D, aref = (x.reshape(len(J.friction), -1, x.shape[-1]) for x in (part.D, part.aref))
        found.append(_Kind(part, J.contacts, D, aref, J.friction, jnp.ones_like(D[:, 0])))
        start += J.size
    return found + [_Kind(own, own.J, own.D, own.aref, own.friction, own.mu) for own in rows.cones]


def _others(rows: Rows) -> Rows:
    """The rows that are no contacts', which come before these."""
    J = tuple(J for J in rows.J if not isinstance(J, EdgeJacobian))
    size = sum(own.size for own in J)
    return Rows(J=J, **{name: getattr(rows, name)[:size] for name in NUMBERS})


def _have_cones(kinds: Sequence[_Kind]) -> bool:
    """Whether contacts, as a group, have elliptic cones."""
    return any(isinstance(kind.rows, Cones) for kind in kinds)


def _compacted(kinds: Sequence[_Kind], kept: Sequence[int], iterated: bool) -> Compacted:
    """So many slots of the group of each dimension; `iterated` as of `compact`."""
    together = _in_blocks()
    one = len(kinds) if together else 1
    groups = []
    for start in range(0, len(kinds), one):
        own, touching = slice(start, start + one), None
        if kept[start]:
            active = concat([kind.D[:, 0] for kind in kinds[own]]) > 0
            first = _mutual(kinds[own], active) if together and iterated else None
            places, filled, lost = pick_first(_in_order(active, first), slots=kept[start])
            if first is not None:
                places = jnp.where(places < len(active), places, places - len(active))
            touching = _Touching(active, first, places, filled, lost, together and iterated)
        groups.append((own, touching))
    return Compacted(tuple(groups))


def _mutual(kinds: Sequence[_Kind], active: Array) -> Array | None:
    """Which of the active slots have two bodies that move, `(n, W)`; None if Jacobians do not ask."""
    frames = [kind.J for kind in kinds if isinstance(kind.J, ChainFrames)]
    return active & mutual(concat([own.trees for own in frames])) if frames else None


def _in_order(active: Array, first: Array | None) -> Array:
    """Marks of the active slots, those of the ones that come first before those of the others: `(n or 2 n, W)`."""
    return active if first is None else jnp.concatenate([first, active & ~first])


def _side_by_side(parts: Sequence[Array]) -> Array:
    """Numbers of all contacts `(n, rows, W)`, of fewer rows filled up with zeros."""
    most = max(x.shape[1] for x in parts)
    return concat([jnp.pad(x, ((0, 0), (0, most - x.shape[1]), (0, 0))) for x in parts])
