"""The constraint rows of a state as arrays: `efc_*` in the order of `efc_force`."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxsim import worlds
from jaxsim.enums import ConeType, ConstraintType
from jaxsim.math.axis import concat
from jaxsim.model import Model
from jaxsim.pipeline.stages import run
from jaxsim.pipeline.tendon import tendon
from jaxsim.pipeline.work import Work
from jaxsim.solver.constraint import make_constraint
from jaxsim.solver.rows import RowValues, product
from jaxsim.structure.rows import row_layout

__all__ = ["constraint_fields"]

_KINDS = {
    "dof_friction": ConstraintType.FRICTION_DOF,
    "tendon_friction": ConstraintType.FRICTION_TENDON,
    "joint_limit": ConstraintType.LIMIT_JOINT,
    "ball_limit": ConstraintType.LIMIT_JOINT,
    "tendon_limit": ConstraintType.LIMIT_TENDON,
}
"""mjtConstraint of classes of rows that are no equalities."""


def _rows(model: Any, data: Any) -> Any:
    return run((tendon, make_constraint), model, data.replace(work=Work())).work.rows


def _flat(values: RowValues) -> Array:
    return concat([values.scalar, *(x.reshape(-1, x.shape[-1]) for x in values.cones)])


def _numbers(model: Any, data: Any) -> dict[str, Array]:
    """Native: numbers of all rows, (k, W)."""
    rows = _rows(model, data)
    return {
        "efc_D": _flat(RowValues(rows.D, tuple(c.D for c in rows.cones))),
        "efc_aref": _flat(RowValues(rows.aref, tuple(c.aref for c in rows.cones))),
        "high": _flat(RowValues(rows.high, tuple(jnp.zeros_like(c.D) for c in rows.cones))),
    }


def _velocities(model: Any, data: Any, x: Array) -> Array:
    """Native: the Jacobian of all rows times a velocity, (k, W)."""
    return _flat(product(_rows(model, data), x))


_lifted_numbers = worlds.lift(_numbers)
_lifted_velocities = worlds.lift(_velocities)


def constraint_fields(model: Model, data: Any) -> dict[str, Array]:
    """`efc_J` (k, nv), `efc_D`, `efc_aref`, `efc_frictionloss` and `efc_type` (k,) of one world."""
    kinds = _kinds(model)
    numbers = _lifted_numbers(model, data)
    loss = np.isin(kinds, (ConstraintType.FRICTION_DOF, ConstraintType.FRICTION_TENDON))
    idle = loss & (numbers["high"] == 0)  # a dof without friction loss has a row that does nothing
    units = jnp.eye(model.nv, dtype=data.qpos.dtype)
    J = jax.vmap(lambda unit: _lifted_velocities(model, data, unit), out_axes=-1)(units) if model.nv else None
    return {
        "efc_J": jnp.zeros((len(kinds), 0), data.qpos.dtype) if J is None else J,
        "efc_type": jnp.asarray(kinds),
        "efc_D": jnp.where(idle, 0, numbers["efc_D"]),
        "efc_aref": jnp.where(idle, 0, numbers["efc_aref"]),
        "efc_frictionloss": jnp.where(loss, numbers["high"], 0),
    }


def _kinds(model: Model) -> np.ndarray:
    """The mjtConstraint of every row."""
    layout = row_layout(model)
    friction = {
        ConeType.PYRAMIDAL: ConstraintType.CONTACT_PYRAMIDAL,
        ConeType.ELLIPTIC: ConstraintType.CONTACT_ELLIPTIC,
    }
    kinds = np.full(layout.size, int(ConstraintType.EQUALITY))
    for name, rows in layout.classes.items():
        kinds[rows.start : rows.stop] = _KINDS.get(name, ConstraintType.EQUALITY)
    for rows in layout.contacts:
        kind = (
            ConstraintType.CONTACT_FRICTIONLESS if rows.group.dim == 1 else friction[ConeType(model.opt.cone)]
        )
        kinds[rows.start : rows.stop] = kind
    return kinds
