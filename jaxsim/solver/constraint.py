"""From a state to its constraint rows: all classes, counted as the C engine counts them. Native layout."""

from __future__ import annotations

from collections.abc import Callable

import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxsim.data import Data
from jaxsim.math.axis import concat
from jaxsim.model import Model
from jaxsim.solver import equality, friction, limits
from jaxsim.solver.contacts import contact_rows
from jaxsim.solver.rows import Cones, Rows, join
from jaxsim.structure.rows import row_layout

__all__ = ["BUILDERS", "make_constraint"]

BUILDERS: dict[str, Callable[[Model, Data, np.ndarray], tuple[Rows, Array]]] = {
    "connect": equality.connect,
    "weld": equality.weld,
    "joint_equality": equality.joint_equality,
    "tendon_equality": equality.tendon_equality,
    "dof_friction": friction.dof_friction,
    "tendon_friction": friction.tendon_friction,
    "joint_limit": limits.joint_limit,
    "ball_limit": limits.ball_limit,
    "tendon_limit": limits.tendon_limit,
}
"""For each class of `structure.constraints` the function of (model, data, ids of elements) that builds its rows.

It returns the rows, element by element, and which of them are in use, `(k, W)`.
"""


def make_constraint(model: Model, data: Data) -> Data:
    """Computes the constraint rows of a state into `data.work.rows` and counts those in use.

    Needs positions, velocities, contacts and tendons. Counts are the C engine's: a pyramid has `2 (dim - 1)` rows.
    Contacts in use get their first row in `efc_force` as `efc_address`.
    """
    layout = row_layout(model)
    counts: dict[str, Array] = {name: jnp.zeros((1,), int) for name in ("ne", "nf", "nl")}
    parts: list[Rows] = []
    for name, rows in layout.classes.items():
        if len(rows.ids):
            built, active = BUILDERS[name](model, data, rows.ids)
            parts.append(built)
            counts[rows.kind.count] = counts[rows.kind.count] + jnp.sum(active, axis=0)
    cones: list[Cones] = []
    nefc = counts["ne"] + counts["nf"] + counts["nl"]
    address = [jnp.full_like(data.contact.efc_address[:0], -1)]
    for contacts in layout.contacts:
        built, active = contact_rows(model, data, contacts)
        (parts if isinstance(built, Rows) else cones).append(built)  # pyright: ignore
        nefc = nefc + contacts.rows * jnp.sum(active, axis=0)
        first = contacts.start + contacts.rows * np.arange(contacts.group.count)[:, None]
        address.append(jnp.where(active, jnp.asarray(first, address[0].dtype), -1))
    return data.replace(
        work=data.work.replace(rows=join(parts, cones)),
        contact=data.contact.replace(efc_address=concat(address)),
        nefc=nefc,
        **counts,
    )
