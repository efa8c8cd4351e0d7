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
from jaxsim.solver.constraint import built_rows
from jaxsim.solver.rows import Cones, Rows, join, product, with_jacobians
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


_NUMBERS = ("D", "aref", "high", "pos", "margin", "used")


def _built(model: Any, data: Any) -> list[tuple[Rows | Cones, Array]]:
    ready = run((tendon,), model, data.replace(work=Work()))
    return built_rows(model, ready)


def _numbers(model: Any, data: Any) -> dict[str, Array]:
    """Native: numbers of all rows, (k, W)."""
    parts = [
        _of_scalars(rows, active) if isinstance(rows, Rows) else _of_cones(rows, active)
        for rows, active in _built(model, data)
    ]
    if not parts:
        none = jnp.zeros((0, 1), data.qpos.dtype)
        return dict.fromkeys(_NUMBERS, none) | {"used": none.astype(bool)}
    return {name: concat([part[name] for part in parts]) for name in _NUMBERS}


def _of_scalars(rows: Rows, active: Array) -> dict[str, Array]:
    used = jnp.repeat(active, rows.D.shape[0] // active.shape[0], axis=0)  # contacts have several rows
    return {name: getattr(rows, name) for name in _NUMBERS[:-1]} | {"used": used}


def _of_cones(cones: Cones, active: Array) -> dict[str, Array]:
    """Only the normal of a contact has a place."""
    n, dim = cones.D.shape[:2]
    normal = np.arange(n * dim)[:, None] % dim == 0
    numbers = {name: getattr(cones, name).reshape(n * dim, -1) for name in ("D", "aref")}
    numbers |= {
        name: jnp.where(normal, jnp.repeat(getattr(cones, name), dim, 0), 0) for name in ("pos", "margin")
    }
    return numbers | {"high": jnp.zeros_like(numbers["D"]), "used": jnp.repeat(active, dim, axis=0)}


def _velocities(model: Any, data: Any, x: Array) -> Array:
    """Native: the Jacobian of all rows times a velocity, (k, W)."""
    rows = join([part for part, _ in _built(model, data)])
    found = product(with_jacobians(rows), x)
    return concat([found.scalar, *(v.reshape(-1, v.shape[-1]) for v in found.cones)])


_lifted_numbers = worlds.lift(_numbers)
_lifted_velocities = worlds.lift(_velocities)


def constraint_fields(model: Model, data: Any) -> dict[str, Array]:
    """`efc_J` (k, nv) and `efc_D`, `efc_aref`, `efc_pos`, ... (k,) of one world; rows out of use are zero."""
    kinds = _kinds(model)
    numbers = _lifted_numbers(model, data)
    used = numbers["used"]
    loss = np.isin(kinds, (ConstraintType.FRICTION_DOF, ConstraintType.FRICTION_TENDON))
    units = jnp.eye(model.nv, dtype=data.qpos.dtype)
    J = jax.vmap(lambda unit: _lifted_velocities(model, data, unit), out_axes=-1)(units) if model.nv else None
    return {
        "efc_J": jnp.zeros((len(kinds), 0), data.qpos.dtype) if J is None else jnp.where(used[:, None], J, 0),
        "efc_type": jnp.asarray(kinds),
        "efc_frictionloss": jnp.where(loss & used, numbers["high"], 0),
        **{f"efc_{name}": jnp.where(used, numbers[name], 0) for name in ("D", "aref", "pos", "margin")},
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
        kind = ConstraintType.CONTACT_FRICTIONLESS if rows.dim == 1 else friction[ConeType(model.opt.cone)]
        kinds[rows.start : rows.stop] = kind
    return kinds
