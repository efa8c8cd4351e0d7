"""The classes of constraint rows, one record each (Computation chapter, "Constraint model").

A new class is a record here and the function that builds its rows in `solver/constraint.py`. Addresses, counts, the
structure of the Hessian, reaction forces and limit sensors read the records. Contacts are no class: their rows follow
from the contact slots (`structure/rows.py`).
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from jaxsim.enums import DisableBit, EqType, JointType, ObjType
from jaxsim.pytree import Static, index_array
from jaxsim.structure.tendons import tendon_entries
from jaxsim.structure.trees import joint_dofs, tree

__all__ = ["CLASSES", "ClassRows", "ConstraintClass", "class_rows"]


@dataclasses.dataclass(frozen=True, eq=False)
class ConstraintClass:
    """A kind of constraint, of elements of one kind.

    Attributes:
      name: of the class.
      count: field of Data that counts its rows in use: "ne", "nf" or "nl".
      rows: rows of one element.
      flag: switches the class off.
      owners: which elements have such rows, of bool, from the model's static part.
      couples: the dofs that the rows of an element may couple.
    """

    name: str
    count: str
    rows: int
    flag: DisableBit
    owners: Callable[[Static], np.ndarray]
    couples: Callable[[Static, int], frozenset[int]]


def _equalities(kind: EqType) -> Callable[[Static], np.ndarray]:
    return lambda m: m.eq_type == kind


def _moving(m: Static, body: int) -> frozenset[int]:
    """The dofs that move a body."""
    return frozenset(np.flatnonzero(tree(m).path[body]).tolist())


def _attached_dofs(m: Static, equality: int) -> frozenset[int]:
    objects = [int(m.eq_obj1id[equality]), int(m.eq_obj2id[equality])]
    if m.eq_objtype[equality] == ObjType.SITE:
        objects = [int(m.site_bodyid[s]) for s in objects]
    return _moving(m, objects[0]) | _moving(m, objects[1])


def _related(m: Static, equality: int, dofs_of: Callable[[Static, int], frozenset[int]]) -> frozenset[int]:
    """Dofs of the one or two objects that an equality relates."""
    first, second = int(m.eq_obj1id[equality]), int(m.eq_obj2id[equality])
    return dofs_of(m, first) | (dofs_of(m, second) if second >= 0 else frozenset())


def _joint_dofs(m: Static, joint: int) -> frozenset[int]:
    return frozenset(joint_dofs(m, joint))


def _tendon_dofs(m: Static, tendon: int) -> frozenset[int]:
    """The dofs that may change a tendon's length."""
    rows, cols = tendon_entries(m)
    return frozenset(cols[rows == tendon].tolist())


def _limited(*kinds: JointType) -> Callable[[Static], np.ndarray]:
    return lambda m: m.jnt_limited.astype(bool) & np.isin(m.jnt_type, kinds)


CLASSES = (
    ConstraintClass("connect", "ne", 3, DisableBit.EQUALITY, _equalities(EqType.CONNECT), _attached_dofs),
    ConstraintClass("weld", "ne", 6, DisableBit.EQUALITY, _equalities(EqType.WELD), _attached_dofs),
    ConstraintClass(
        "joint_equality",
        "ne",
        1,
        DisableBit.EQUALITY,
        _equalities(EqType.JOINT),
        functools.partial(_related, dofs_of=_joint_dofs),
    ),
    ConstraintClass(
        "tendon_equality",
        "ne",
        1,
        DisableBit.EQUALITY,
        _equalities(EqType.TENDON),
        functools.partial(_related, dofs_of=_tendon_dofs),
    ),
    ConstraintClass(
        "dof_friction",
        "nf",
        1,
        DisableBit.FRICTIONLOSS,
        lambda m: np.ones(m.nv, bool),
        lambda m, dof: frozenset([dof]),
    ),
    ConstraintClass(
        "tendon_friction", "nf", 1, DisableBit.FRICTIONLOSS, lambda m: np.ones(m.ntendon, bool), _tendon_dofs
    ),
    ConstraintClass(
        "joint_limit", "nl", 2, DisableBit.LIMIT, _limited(JointType.SLIDE, JointType.HINGE), _joint_dofs
    ),
    ConstraintClass("ball_limit", "nl", 1, DisableBit.LIMIT, _limited(JointType.BALL), _joint_dofs),
    ConstraintClass(
        "tendon_limit", "nl", 2, DisableBit.LIMIT, lambda m: m.tendon_limited.astype(bool), _tendon_dofs
    ),
)
"""All classes, in the order of `efc_force`; contacts follow."""


class ClassRows(NamedTuple):
    """The rows of one class in a model: row r of the i-th element is `start + rows * i + r`.

    Attributes:
      kind: the class.
      ids: elements that own rows.
      start: first row in `efc_force`.
    """

    kind: ConstraintClass
    ids: np.ndarray
    start: int

    @property
    def stop(self) -> int:
        """One past the last row."""
        return self.start + self.kind.rows * len(self.ids)

    def of(self, element: int) -> np.ndarray:
        """The rows of an element; empty if it has none."""
        first = self.start + self.kind.rows * np.flatnonzero(self.ids == element)
        return (first[:, None] + np.arange(self.kind.rows)).reshape(-1)


@functools.lru_cache(maxsize=256)
def class_rows(static: Static, disableflags: int) -> dict[str, ClassRows]:
    """The rows of a model by class, contacts apart."""
    found: dict[str, ClassRows] = {}
    start = 0
    for kind in CLASSES:
        off = disableflags & (kind.flag | DisableBit.CONSTRAINT)
        ids = np.zeros(0, int) if off else np.flatnonzero(kind.owners(static))
        moved = [i for i in ids.tolist() if kind.couples(static, i)]  # as in C: a row of zeros is none
        found[kind.name] = ClassRows(kind, index_array(np.array(moved, int)), start)
        start = found[kind.name].stop
    return found
