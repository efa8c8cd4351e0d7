"""Wrenches on bodies of what acts between them: contacts, equality constraints and spatial tendons."""

from __future__ import annotations

import numpy as np
from jax import Array

from jaxsim.data import Data
from jaxsim.enums import TrnType
from jaxsim.math.axis import add_rows, take
from jaxsim.model import Model
from jaxsim.pipeline.passive import tendon_dampers, tendon_springs
from jaxsim.pipeline.reaction import constraint_wrenches
from jaxsim.pipeline.tendon import armature_forces, tendon_wrenches
from jaxsim.solver.equality import tendon_equality_forces
from jaxsim.structure.rows import row_layout
from jaxsim.structure.tendons import pulls

__all__ = ["acting_wrenches"]


def acting_wrenches(model: Model, data: Data) -> Array:
    """Wrenches (nbody, 6, W) on bodies after the solver, torque first, about their trees' centres of mass."""
    total = constraint_wrenches(model, data)
    if not len(pulls(model.static).tendon):
        return total
    return total + tendon_wrenches(model, data, _tension(model, data))


def _tension(model: Model, data: Data) -> Array:
    """Forces (ntendon, W) along tendons, N, positive where they push, after the solver.

    Those of springs, dampers, armature, actuators, friction, limits and equality constraints.
    """
    total = _actuator_tension(model, data) + _constraint_tension(model, data)
    passive = (tendon_springs(model, data), tendon_dampers(model, data), armature_forces(model, data))
    return sum((force for force in passive if force is not None), start=total)


def _actuator_tension(model: Model, data: Data) -> Array:
    """The forces of actuators, times their gears."""
    ids = np.flatnonzero(model.actuator_trntype == TrnType.TENDON)
    force = take(model.actuator_gear, ids)[:, 0] * take(data.actuator_force, model.actuator_outadr[ids])
    return add_rows(force, model.actuator_trnid[ids, 0], model.ntendon)


def _constraint_tension(model: Model, data: Data) -> Array:
    """The forces of the rows of tendons."""
    classes = row_layout(model).classes

    def rows(name: str) -> tuple[np.ndarray, Array]:
        own = classes[name]
        return own.ids, data.efc_force[own.start : own.stop]

    tendons, friction = rows("tendon_friction")
    total = add_rows(friction, tendons, model.ntendon)
    tendons, limits = rows("tendon_limit")
    total = total + add_rows(limits[0::2] - limits[1::2], tendons, model.ntendon)
    ids, equality = rows("tendon_equality")
    return total + tendon_equality_forces(model, data, ids, equality) if len(ids) else total
