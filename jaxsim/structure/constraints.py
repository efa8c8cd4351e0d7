"""Which constraint rows a model can have and where they stand: derived once from the model's static part.

Rows are kept by class, because their Jacobians differ: rows of *one dof* (friction loss, limits of hinges and slides),
*dense* rows (equalities, ball limits, tendons), and contacts. Row classes follow each other in `efc_force` in the
order of `RowLayout`'s attributes. A row that is not active has zero force.
"""

from __future__ import annotations

import dataclasses
import functools

import numpy as np

from jaxsim.enums import ConeType, DisableBit, EqType, JointType, ObjType, WrapType
from jaxsim.model import Model
from jaxsim.pytree import Static, index_array
from jaxsim.structure.slots import ContactGroup, SlotLayout, slot_layout
from jaxsim.structure.sparsity import TreeStructure, tree_structure
from jaxsim.structure.trees import tree

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
      inertia: structure of M.
      hessian: structure of M + J^T C J, with fill-in.
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
    inertia: TreeStructure
    hessian: TreeStructure

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
        inertia=tree_structure(static.dof_parentid),
        hessian=tree_structure(static.dof_parentid),
    )
    blocks = []
    address = layout.n_dense + layout.n_dof
    for group in slots.groups:
        pyramid = group.dim > 1 and option.cone == ConeType.PYRAMIDAL
        rows = 2 * (group.dim - 1) if pyramid else group.dim
        blocks.append(ContactBlock(group=group, rows=rows, address=address))
        address += rows * group.count
    layout = dataclasses.replace(layout, contacts=tuple(blocks), size=address)
    narrow = {name: index_array(x) for name, x in vars(layout).items() if isinstance(x, np.ndarray)}
    return dataclasses.replace(layout, hessian=_hessian_structure(static, layout, slots), **narrow)


def _hessian_structure(static: Static, layout: RowLayout, slots: SlotLayout) -> TreeStructure:
    """Structure of the Hessian's factor: the elimination tree of all dofs that M or a row couple."""
    below: list[set[int]] = [
        set(np.flatnonzero(moves[:d]).tolist()) for d, moves in enumerate(_moving(static))
    ]
    for dofs in _coupled(static, layout, slots):
        ordered = sorted(dofs)
        for i, d in enumerate(ordered):
            below[d].update(ordered[:i])
    parent = np.full(static.nv, -1)
    for d in range(static.nv - 1, -1, -1):
        if below[d]:
            parent[d] = max(below[d])
            below[parent[d]] |= below[d] - {int(parent[d])}
    return tree_structure(parent)


def _moving(static: Static) -> np.ndarray:
    """Which dofs move the body of each dof, `(nv, nv)`."""
    return tree(static).path[static.dof_bodyid] > 0


def _coupled(static: Static, layout: RowLayout, slots: SlotLayout) -> set[frozenset[int]]:
    """Sets of dofs that share a row."""
    path = tree(static).path > 0
    found: set[frozenset[int]] = set()

    def add(moves: np.ndarray) -> None:
        found.add(frozenset(np.flatnonzero(moves).tolist()))

    tendons = [_tendon_dofs(static, t) for t in range(static.ntendon)]
    for t in {*layout.tendon_friction.tolist(), *layout.tendon_limit.tolist()}:
        found.add(tendons[t])
    for e in layout.tendon_equality:
        found.add(tendons[static.eq_obj1id[e]] | tendons[max(static.eq_obj2id[e], 0)])
    for e in layout.joint_equality:
        joints = [static.eq_obj1id[e], max(static.eq_obj2id[e], 0)]
        found.add(frozenset(int(static.jnt_dofadr[j]) for j in joints))
    for e in layout.attached:
        objects = [static.eq_obj1id[e], static.eq_obj2id[e]]
        if static.eq_objtype[e] == ObjType.SITE:
            objects = [static.site_bodyid[s] for s in objects]
        add(path[objects[0]] | path[objects[1]])
    bodies = static.geom_bodyid
    for pair in set(zip(bodies[slots.pairs.geom1].tolist(), bodies[slots.pairs.geom2].tolist(), strict=True)):
        add(path[pair[0]] != path[pair[1]])
    return found


def _tendon_dofs(static: Static, tendon: int) -> frozenset[int]:
    """The dofs that may change a tendon's length."""
    dofs: set[int] = set()
    for w in range(static.tendon_adr[tendon], static.tendon_adr[tendon] + static.tendon_num[tendon]):
        kind, target = static.wrap_type[w], int(static.wrap_objid[w])
        if kind == WrapType.JOINT:
            dofs.add(int(static.jnt_dofadr[target]))
        elif kind != WrapType.PULLEY:
            body = (static.site_bodyid if kind == WrapType.SITE else static.geom_bodyid)[target]
            dofs.update(np.flatnonzero(tree(static).path[body]).tolist())
    return frozenset(dofs)
