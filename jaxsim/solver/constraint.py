"""From a state to its constraint rows: all classes, counted as the C engine counts them. Native layout."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxsim.data import Data
from jaxsim.math.axis import concat
from jaxsim.model import Model
from jaxsim.solver import equality, scalar
from jaxsim.solver.contacts import contact_rows
from jaxsim.solver.parts import Part, stack
from jaxsim.solver.stack import Elliptic
from jaxsim.structure.constraints import row_layout

__all__ = ["make_constraint"]

_SCALAR = (
    ("ne", equality.attachments),
    ("ne", equality.joint_equalities),
    ("ne", equality.tendon_equalities),
    ("nl", scalar.ball_limits),
    ("nf", scalar.tendon_friction),
    ("nl", scalar.tendon_limits),
    ("nf", scalar.dof_friction),
    ("nl", scalar.joint_limits),
)
"""Which count of Data each block of scalar rows belongs to, in the order of `layout.RowLayout`."""


def make_constraint(model: Model, data: Data) -> Data:
    """Computes the constraint rows of a state into `data.work.rows` and counts those in use.

    Needs positions, velocities, contacts and tendons. Counts are the C engine's: a pyramid has `2 (dim - 1)` rows.
    Contacts in use get their first row in `efc_force` as `efc_address`.
    """
    layout = row_layout(model)
    counts: dict[str, Array] = {name: jnp.zeros((1,), int) for name in ("ne", "nf", "nl")}
    parts: list[Part] = []
    for name, build in _SCALAR:
        found = build(model, data, layout)
        if found is not None:
            parts.append(found[0])
            counts[name] = counts[name] + jnp.sum(found[1], axis=0)
    elliptic: list[Elliptic] = []
    nefc = counts["ne"] + counts["nf"] + counts["nl"]
    address = [jnp.full_like(data.contact.efc_address[:0], -1)]
    for block in layout.contacts:
        rows, active = contact_rows(model, data, block)
        if isinstance(rows, Part):
            parts.append(rows)
        else:
            elliptic.append(rows)
        nefc = nefc + block.rows * jnp.sum(active, axis=0)
        first = block.address + block.rows * np.arange(block.group.count)[:, None]
        address.append(jnp.where(active, jnp.asarray(first, address[0].dtype), -1))
    return data.replace(
        work=data.work.replace(rows=stack(model.nv, parts, elliptic)),
        contact=data.contact.replace(efc_address=concat(address)),
        nefc=nefc,
        **counts,
    )
