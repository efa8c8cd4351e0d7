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
from jaxsim.solver.surface import adhesive
from jaxsim.structure.rows import row_layout

__all__ = ["BUILDERS", "built_rows", "make_constraint"]

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


def built_rows(model: Model, data: Data) -> list[tuple[Rows | Cones, Array]]:
    """The rows of all classes that a model has and of its groups of contact slots, in the order of `efc_force`.

    Needs positions, velocities, contacts and tendons. With each come those in use: rows `(k, W)`, or contacts `(n, W)`.
    """
    layout = row_layout(model)
    of_classes = (
        BUILDERS[name](model, data, rows.ids) for name, rows in layout.classes.items() if len(rows.ids)
    )
    return [*of_classes, *(contact_rows(model, data, contacts) for contacts in layout.contacts)]


def make_constraint(model: Model, data: Data) -> Data:
    """Computes the constraint rows of a state into `data.work.rows` and counts those in use.

    Needs positions, velocities, contacts and tendons. Counts are the C engine's: a pyramid has `2 (dim - 1)` rows.
    Contacts in use get their first row in `efc_force` as `efc_address`.
    """
    layout = row_layout(model)
    counts: dict[str, Array] = {name: jnp.zeros((1,), int) for name in ("ne", "nf", "nl")}
    built = built_rows(model, data)
    owners = [rows.kind.count for rows in layout.classes.values() if len(rows.ids)]
    for count, (_, active) in zip(owners, built, strict=False):
        counts[count] = counts[count] + jnp.sum(active, axis=0)
    nefc = counts["ne"] + counts["nf"] + counts["nl"]
    nowhere = jnp.full_like(data.contact.efc_address, -1)
    address = []
    for contacts, (_, active) in zip(layout.contacts, built[len(owners) :], strict=True):
        many = contacts.rows
        if adhesive(model):  # a tether has one
            many = jnp.where(data.contact.dim[contacts.slots] == 1, 1, many)
        nefc = nefc + jnp.sum(active * many, axis=0)
        first = contacts.start + contacts.rows * np.arange(contacts.count)[:, None]
        address.append(jnp.where(active, jnp.asarray(first, nowhere.dtype), -1))
    return data.replace(
        work=data.work.replace(rows=join([part for part, _ in built])),
        contact=data.contact.replace(efc_address=concat(address) if address else nowhere),
        nefc=nefc,
        **counts,
    )
