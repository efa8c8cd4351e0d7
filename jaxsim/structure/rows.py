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

from jaxsim.model import Model
from jaxsim.pytree import Static
from jaxsim.structure.constraints import ClassRows, class_rows
from jaxsim.structure.slots import ContactGroup, SlotLayout, rows_of_contact, slot_layout
from jaxsim.structure.sparsity import TreeStructure, tree_structure
from jaxsim.structure.trees import tree

__all__ = ["ContactRows", "RowLayout", "row_layout"]


@dataclasses.dataclass(frozen=True, eq=False)
class ContactRows:
    """Rows of the contact slots of one dimension: row r of the i-th is `start + rows * i + r`.

    Attributes:
      groups: the slots, group after group.
      rows: rows of one slot: the edges of a pyramid, or the axes of the contact frame.
      start: first row in `efc_force`.
    """

    groups: tuple[ContactGroup, ...]
    rows: int
    start: int

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
    """

    classes: dict[str, ClassRows]
    contacts: tuple[ContactRows, ...]
    size: int
    inertia: TreeStructure
    hessian: TreeStructure


def row_layout(model: Model) -> RowLayout:
    """The rows of a model; cached."""
    return _row_layout(model.static, model.opt.static, slot_layout(model))


@functools.lru_cache(maxsize=256)
def _row_layout(static: Static, option: Static, slots: SlotLayout) -> RowLayout:
    """As `row_layout`, from the static parts of a model and of its options."""
    classes = class_rows(static, option.disableflags)
    start = max(rows.stop for rows in classes.values())
    contacts = []
    for dim, groups in itertools.groupby(slots.groups, key=lambda group: group.dim):
        contacts.append(ContactRows(tuple(groups), rows_of_contact(dim, option.cone), start))
        start = contacts[-1].stop
    return RowLayout(
        classes=classes,
        contacts=tuple(contacts),
        size=start,
        inertia=tree_structure(static.dof_parentid),
        hessian=_hessian_structure(static, classes, slots),
    )


def _hessian_structure(static: Static, classes: dict[str, ClassRows], slots: SlotLayout) -> TreeStructure:
    """Structure of the Hessian's factor: the elimination tree of all dofs that M or a row couple."""
    path = tree(static).path > 0
    moving = path[static.dof_bodyid]
    below: list[set[int]] = [set(np.flatnonzero(moves[:d]).tolist()) for d, moves in enumerate(moving)]
    coupled = {rows.kind.couples(static, int(i)) for rows in classes.values() for i in rows.ids}
    pairs = np.unique(static.geom_bodyid[[slots.pairs.geom1, slots.pairs.geom2]], axis=1)
    coupled |= {frozenset(np.flatnonzero(path[a] != path[b]).tolist()) for a, b in pairs.T}
    for dofs in coupled:
        ordered = sorted(dofs)
        for i, d in enumerate(ordered):
            below[d].update(ordered[:i])
    parent = np.full(static.nv, -1)
    for d in range(static.nv - 1, -1, -1):
        if below[d]:
            parent[d] = max(below[d])
            below[parent[d]] |= below[d] - {int(parent[d])}
    return tree_structure(parent)
