"""Which constraint rows a model can have and where they stand: derived once from the model's static part.

The classes of `structure/constraints.py` follow each other in `efc_force`, then contact slots by dimension. A row that
is not active has zero force.
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
from typing import Any

import numpy as np

from jaxsim.enums import SolverType
from jaxsim.model import Model
from jaxsim.pytree import Static
from jaxsim.structure.constraints import ClassRows, class_rows
from jaxsim.structure.slots import ContactGroup, SlotLayout, rows_of_contact, slot_layout
from jaxsim.structure.sparsity import TreeStructure, tree_structure
from jaxsim.structure.trees import tree

__all__ = ["Chains", "ContactRows", "Movers", "RowLayout", "movers", "row_layout"]

_MANY = 48
"""Degrees of freedom up to which all are treated as coupled with each other."""
_FEW = 3
"""How many times more degrees of freedom there must be than a contact involves to keep only those."""
_WORTHWHILE = 4
"""How many times the work of a factorisation may grow by contacts between trees before they are left out of it."""


@dataclasses.dataclass(frozen=True, eq=False)
class Chains:
    """What moves each body.

    Attributes:
      dofs: the degrees of freedom, `(nbody, k)`, -1: none.
      moved: which degrees of freedom they are, `(nbody, nv)`.
      tree: which kinematic tree they belong to, `(nbody,)`, -1: the body does not move.
      within: whether two bodies of one tree may touch.
    """

    dofs: np.ndarray
    moved: np.ndarray
    tree: np.ndarray
    within: bool


@dataclasses.dataclass(frozen=True, eq=False)
class Movers:
    """What moves the bodies of a pair against each other.

    Attributes:
      sign: 1 where a dof moves body 2 alone, -1 where it moves body 1 alone, else 0, `(k, nv)`.
      row: that of two bodies which may touch, `(nbody, nbody)`; 0 of all others, whose signs are 0.
      trees: first dof of each tree, and the number of all; those of a tree refer to the same point.
    """

    sign: np.ndarray
    row: np.ndarray
    trees: tuple[int, ...]


@dataclasses.dataclass(frozen=True, eq=False)
class ContactRows:
    """Rows of the contact slots of one dimension: row r of the i-th is `start + rows * i + r`.

    Attributes:
      groups: the slots, group after group.
      rows: rows of one slot: the edges of a pyramid, or the axes of the contact frame.
      start: first row in `efc_force`.
      chains: the dofs that move each body, where Jacobians are kept by those of the two bodies; None: by all dofs.
    """

    groups: tuple[ContactGroup, ...]
    rows: int
    start: int
    chains: Chains | None = None

    @property
    def dim(self) -> int:
        """The contact dimension of all of them."""
        return self.groups[0].dim

    @property
    def slots(self) -> slice:
        """Which slots of the contact buffer they are."""
        return slice(self.groups[0].start, self.groups[-1].stop)

    @property
    def count(self) -> int:
        """Number of slots."""
        return self.slots.stop - self.slots.start

    @property
    def stop(self) -> int:
        """One past the last row."""
        return self.start + self.rows * self.count

    def by_group(self, x: Any) -> list[tuple[ContactGroup, Any]]:
        """Each group, and its part of an array over the slots."""
        return [(g, x[g.start - self.slots.start : g.stop - self.slots.start]) for g in self.groups]


@dataclasses.dataclass(frozen=True, eq=False)
class RowLayout:
    """All rows of a model.

    Attributes:
      classes: by name, those of `structure.constraints.CLASSES`.
      contacts: those of contact slots, by dimension.
      size: rows in all.
      inertia: structure of M.
      hessian: structure of M + J^T C J, with fill-in.
      whole: whether it has a place for all entries: those that contacts between trees make are left out otherwise.
    """

    classes: dict[str, ClassRows]
    contacts: tuple[ContactRows, ...]
    size: int
    inertia: TreeStructure
    hessian: TreeStructure
    whole: bool = True


def row_layout(model: Model) -> RowLayout:
    """The rows of a model; cached."""
    primal = model.opt.solver in (SolverType.NEWTON, SolverType.CG) and not model.opt.has("noslip_iterations")
    return _row_layout(model.static, model.opt.static, slot_layout(model), primal)


@functools.lru_cache(maxsize=256)
def _row_layout(static: Static, option: Static, slots: SlotLayout, primal: bool) -> RowLayout:
    """As `row_layout`, from the static parts of a model and of its options; `primal`: no solver works on forces."""
    classes = class_rows(static, option.disableflags)
    start = max(rows.stop for rows in classes.values())
    parents, chains = _hessian_parents(static, classes, slots), None
    if primal and static.nv > _MANY:
        apart = _hessian_parents(static, classes, slots, within_trees=True)
        if _work(parents) > _WORTHWHILE * _work(apart) and (chains := _chains(static, slots)):
            parents = apart
    contacts = []
    # where nothing moves contacts have no rows
    pressing = slots.groups if static.nv else ()
    for dim, groups in itertools.groupby(pressing, key=lambda group: group.dim):
        contacts.append(ContactRows(tuple(groups), rows_of_contact(dim, option.cone), start, chains))
        start = contacts[-1].stop
    return RowLayout(
        classes=classes,
        contacts=tuple(contacts),
        size=start,
        inertia=tree_structure(static.dof_parentid),
        hessian=tree_structure(parents),
        whole=chains is None,
    )


def movers(model: Model) -> Movers:
    """What moves the bodies of each pair that may touch; cached."""
    return _movers(model.static, slot_layout(model))


@functools.lru_cache(maxsize=256)
def _movers(static: Static, slots: SlotLayout) -> Movers:
    """As `movers`, from the static part of a model and its slots."""
    path = tree(static).path
    first, second = np.unique(static.geom_bodyid[[slots.pairs.geom1, slots.pairs.geom2]], axis=1)
    row = np.zeros((static.nbody, static.nbody), np.int32)
    row[first, second] = 1 + np.arange(len(first))
    sign = np.concatenate([np.zeros((1, static.nv)), path[second] - path[first]])
    root = static.body_rootid[static.dof_bodyid]
    begins = np.flatnonzero(np.diff(root, prepend=-1))
    return Movers(sign, row, (*begins.tolist(), static.nv))


def _work(parents: np.ndarray) -> int:
    """Products that a factorisation takes."""
    depth = np.zeros(len(parents) + 1, int)
    for d, parent in enumerate(parents):
        depth[d] = depth[parent] + 1
    return int(np.sum(depth**2))


def _chains(static: Static, slots: SlotLayout) -> Chains | None:
    """The dofs that move each body; None if those of two bodies are much of all."""
    path = tree(static).path > 0
    length = int(path.sum(axis=1).max())
    if 2 * length * _FEW > static.nv:
        return None
    chains, trees = np.full((static.nbody, length), -1, np.int32), np.full(static.nbody, -1, np.int32)
    for body in np.flatnonzero(path.any(axis=1)):
        dofs = np.flatnonzero(path[body])
        chains[body, : len(dofs)] = dofs
        trees[body] = static.body_rootid[body]
    first, second = (trees[static.geom_bodyid[g]] for g in (slots.pairs.geom1, slots.pairs.geom2))
    return Chains(chains, path, trees, within=bool(np.any((first == second) & (first >= 0))))


def _hessian_parents(
    static: Static, classes: dict[str, ClassRows], slots: SlotLayout, *, within_trees: bool = False
) -> np.ndarray:
    """The elimination tree of all dofs that M or a row couple: the dof above each, -1: none; (nv,).

    Args:
      static: the model's.
      classes: rows of constraints.
      slots: pairs that may touch.
      within_trees: whether to leave out contacts between different kinematic trees.
    """
    path = tree(static).path > 0
    # of dofs that are coupled with each other the last has to know: elimination tells the others, from the last on
    below = np.tril(path[static.dof_bodyid], -1)
    for rows in classes.values():
        for i in rows.ids:
            *others, last = sorted(rows.kind.couples(static, int(i))) or [0]
            below[last, others] = True
    root, pairs = static.body_rootid, static.geom_bodyid[[slots.pairs.geom1, slots.pairs.geom2]]
    if within_trees:
        pairs = pairs[:, root[pairs[0]] == root[pairs[1]]]
    # the dofs that move a body are coupled by M already
    last_of_body = np.max(np.where(path, np.arange(static.nv), -1), axis=1, initial=-1)
    low, high = np.sort(last_of_body[pairs], axis=0)
    moved = (low >= 0) & (low < high)
    below[high[moved], low[moved]] = True
    parents = np.full(static.nv, -1)
    for d in range(static.nv - 1, -1, -1):
        if below[d].any():
            parents[d] = np.flatnonzero(below[d])[-1]
            below[parents[d], : parents[d]] |= below[d, : parents[d]]
    return parents
