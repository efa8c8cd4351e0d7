"""How fields of Data and of the C engine's MjData correspond: what is copied as it is, and what stands elsewhere."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from jaxsim.data import Data
from jaxsim.enums import ConstraintType, EqType, JacobianType
from jaxsim.model import Model
from jaxsim.results import WarningBit
from jaxsim.structure.rows import row_layout
from jaxsim.structure.trees import m_entries

__all__ = ["WARNINGS", "copied_fields", "efc_rows", "m_places"]

WARNINGS = {
    1: WarningBit.CONTACT_OVERFLOW,
    3: WarningBit.BAD_QPOS,
    4: WarningBit.BAD_QVEL,
    5: WarningBit.BAD_QACC,
    6: WarningBit.BAD_CTRL,
}
"""Bits of `Data.warning` by the mjtWarning that says the same."""

_ELSEWHERE = (
    "M",
    "contact",
    "ncon",
    "ne",
    "nf",
    "nl",
    "nefc",
    "efc_force",
    "warning",
    "solver_niter",
    "solver_gradient",
    "work",
)
"""Fields of Data that are no plain copies, or that MjData has not."""

_EQUALITIES = {
    EqType.CONNECT: "connect",
    EqType.WELD: "weld",
    EqType.JOINT: "joint_equality",
    EqType.TENDON: "tendon_equality",
}
"""Class of rows of each type of equality constraint."""

_MANY_DOFS = 60
"""From so many on the C engine keeps Jacobians sparse by itself."""


@functools.cache
def copied_fields() -> tuple[str, ...]:
    """Fields that have the same numbers in Data and MjData."""
    return tuple(f.name for f in Data.leaf_fields() if f.name not in _ELSEWHERE)


def m_places(model: Model, mj_model: Any) -> np.ndarray:
    """For each entry of MjData.M, which leaves out zeros of simple bodies, its place in Data.M."""
    rows, cols = m_entries(model.static)
    place = {(int(i), int(j)): k for k, (i, j) in enumerate(zip(rows, cols, strict=True))}
    theirs = np.repeat(np.arange(mj_model.nv), mj_model.M_rownnz)
    return np.array(
        [place[i, j] for i, j in zip(theirs.tolist(), mj_model.M_colind.tolist(), strict=True)], int
    )


def efc_rows(model: Model, d: Any, address: np.ndarray) -> np.ndarray:
    """For each row of an MjData's constraints its row in Data.efc_force, (nefc,); -1: it has none.

    Args:
      model: the model.
      d: MjData with constraint rows and their Jacobian; `ten_length` is that of the rows, `qpos` may be a step on.
      address: first row in Data.efc_force of each contact of the MjData, (ncon,); -1: none.
    """
    classes = row_layout(model).classes
    slope = _slopes(model, d)
    found = np.full(d.nefc, -1)
    seen: dict[tuple[int, int], int] = {}
    contact = ConstraintType.CONTACT_FRICTIONLESS  # the first kind of contacts, which come last
    for i, (kind, owner) in enumerate(zip(d.efc_type.tolist(), d.efc_id.tolist(), strict=True)):
        kind = min(kind, contact)
        k = seen.get((kind, owner), 0)  # rows of one owner follow each other
        seen[kind, owner] = k + 1
        if kind == contact:
            found[i] = address[owner] + k if address[owner] >= 0 else -1
            continue
        if kind == ConstraintType.EQUALITY:
            rows = classes[_EQUALITIES[EqType(model.eq_type[owner])]].of(owner)
        elif kind == ConstraintType.FRICTION_DOF:
            rows = classes["dof_friction"].of(owner)
        elif kind == ConstraintType.FRICTION_TENDON:
            rows = classes["tendon_friction"].of(owner)
        elif kind == ConstraintType.LIMIT_TENDON:
            rows = classes["tendon_limit"].of(owner)
            k = _side(d.efc_pos[i], d.ten_length[owner], model.tendon_range[owner])
        else:
            rows = classes["joint_limit"].of(owner)
            if len(rows):
                k = int(slope[i] < 0)
            else:
                rows = classes["ball_limit"].of(owner)
        if k < len(rows):
            found[i] = rows[k]
    return found


def _slopes(model: Model, d: Any) -> np.ndarray:
    """The sum of each row of the Jacobian, (nefc,): 1 for the lower limit of a hinge or slide, -1 for the upper."""
    jacobian = d.model.opt.jacobian
    if jacobian == JacobianType.SPARSE or (jacobian == JacobianType.AUTO and model.nv >= _MANY_DOFS):
        rows = zip(d.efc_J_rowadr.tolist(), d.efc_J_rownnz.tolist(), strict=True)
        return np.array([d.efc_J[start : start + count].sum() for start, count in rows])
    return d.efc_J[: d.nefc * model.nv].reshape(d.nefc, model.nv).sum(1)


def _side(distance: float, x: float, limits: Any) -> int:
    """Which limit is that far away: 0 the lower, 1 the upper."""
    low, high = np.asarray(limits)
    return int(abs(high - x - distance) < abs(x - low - distance))
