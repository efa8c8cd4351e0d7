"""Which constraint rows a model can have and where they stand: derived once from the model's static part.

Rows are kept by class, because their Jacobians differ: rows of *one dof* (friction loss, limits of hinges and slides),
*dense* rows (equalities, ball limits, tendons), and contacts. Row classes follow each other in `efc_force` in the
order of `RowLayout`'s attributes. A row that is not active has zero force.
"""

from __future__ import annotations

import dataclasses
import functools

import numpy as np

from jaxsim.collision.slots import ContactGroup, SlotLayout, slot_layout
from jaxsim.enums import ConeType, DisableBit, EqType, JointType
from jaxsim.model import Model
from jaxsim.pytree import Static

__all__ = ["ContactBlock", "RowLayout", "row_layout"]

@dataclasses.dataclass(frozen=True, eq=False)
class ContactBlock:
    """Rows of the contact slots of one group.

    Attributes:
      group: the slots.
      rows: rows of one slot.
      address: row of `efc_force` at which the first slot begins.
    """

    group: ContactGroup
    rows: int
    address: int


@dataclasses.dataclass(frozen=True, eq=False)
class RowLayout:
    """Ids of the elements that own the rows, class by class.

    Attributes:
      attached: connect, then weld constraints; three rows of position each.
      welded: weld constraints, the last of `attached`; three rows of orientation each.
      joint_equality: joint constraints.
      tendon_equality: tendon constraints.
      ball: limited ball joints.
      tendon_friction: tendons (all, or none if friction loss is disabled).
      tendon_limit: limited tendons; a lower row each, then an upper row each.
      dof_friction: dofs (all, or none if friction loss is disabled).
      joint_limit: limited hinges and slides; a lower row each, then an upper row each.
      joint_limit_dof: the dof of each of these joints.
      contacts: groups of contact slots.
      size: rows in all.
    """

    attached: np.ndarray
    welded: np.ndarray
    joint_equality: np.ndarray
    tendon_equality: np.ndarray
    ball: np.ndarray
    tendon_friction: np.ndarray
    tendon_limit: np.ndarray
    dof_friction: np.ndarray
    joint_limit: np.ndarray
    joint_limit_dof: np.ndarray
    contacts: tuple[ContactBlock, ...]
    size: int

    @property
    def n_equality(self) -> int:
        """Equality rows."""
        bodies = 3 * (len(self.attached) + len(self.welded))
        return bodies + len(self.joint_equality) + len(self.tendon_equality)

    @property
    def n_dense(self) -> int:
        """Dense rows."""
        return self.n_equality + len(self.ball) + len(self.tendon_friction) + 2 * len(self.tendon_limit)

    @property
    def n_dof(self) -> int:
        """Rows of one dof."""
        return len(self.dof_friction) + 2 * len(self.joint_limit)

    def joint_limit_rows(self, joint: int) -> tuple[int, ...]:
        """Rows of `efc_force` that limit a joint; empty if it has no limit."""
        if joint in self.ball:
            return (self.n_equality + int(np.flatnonzero(self.ball == joint)[0]),)
        if joint not in self.joint_limit:
            return ()
        first = self.n_dense + len(self.dof_friction) + int(np.flatnonzero(self.joint_limit == joint)[0])
        return first, first + len(self.joint_limit)

    def tendon_limit_rows(self, tendon: int) -> tuple[int, ...]:
        """Rows of `efc_force` that limit a tendon's length; empty if it has no limit."""
        if tendon not in self.tendon_limit:
            return ()
        first = self.n_equality + len(self.ball) + len(self.tendon_friction)
        first += int(np.flatnonzero(self.tendon_limit == tendon)[0])
        return first, first + len(self.tendon_limit)


def row_layout(model: Model) -> RowLayout:
    """The rows of a model; cached."""
    return _row_layout(model.static, model.opt.static, slot_layout(model))


@functools.lru_cache(maxsize=256)
def _row_layout(static: Static, option: Static, slots: SlotLayout) -> RowLayout:
    flags = option.disableflags

    def enabled(bit: DisableBit) -> bool:
        return not flags & (bit | DisableBit.CONSTRAINT)

    limited = static.jnt_limited.astype(bool) & enabled(DisableBit.LIMIT)
    joint_limit = np.flatnonzero(limited & np.isin(static.jnt_type, (JointType.SLIDE, JointType.HINGE)))
    tendon_limited = static.tendon_limited.astype(bool) & enabled(DisableBit.LIMIT)
    friction = enabled(DisableBit.FRICTIONLOSS)
    connect, weld, joint, tendon = (
        np.flatnonzero((static.eq_type == kind) & enabled(DisableBit.EQUALITY))
        for kind in (EqType.CONNECT, EqType.WELD, EqType.JOINT, EqType.TENDON)
    )
    layout = RowLayout(
        attached=np.concatenate([connect, weld]),
        welded=weld,
        joint_equality=joint,
        tendon_equality=tendon,
        ball=np.flatnonzero(limited & (static.jnt_type == JointType.BALL)),
        tendon_friction=np.arange(static.ntendon * friction),
        tendon_limit=np.flatnonzero(tendon_limited),
        dof_friction=np.arange(static.nv * friction),
        joint_limit=joint_limit,
        joint_limit_dof=static.jnt_dofadr[joint_limit].astype(int),
        contacts=(),
        size=0,
    )
    blocks = []
    address = layout.n_dense + layout.n_dof
    for group in slots.groups:
        pyramid = group.dim > 1 and option.cone == ConeType.PYRAMIDAL
        rows = 2 * (group.dim - 1) if pyramid else group.dim
        blocks.append(ContactBlock(group=group, rows=rows, address=address))
        address += rows * group.count
    return dataclasses.replace(layout, contacts=tuple(blocks), size=address)
