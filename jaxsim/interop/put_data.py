"""From the C engine's MjData to Data."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np

from jaxsim.data import Contact, Data
from jaxsim.interop.layout import WARNINGS, copied_fields, efc_rows, m_places
from jaxsim.interop.mujoco import as_model
from jaxsim.model import Model
from jaxsim.pipeline.blank import blank
from jaxsim.pipeline.supported import check_supported
from jaxsim.results import WarningBit
from jaxsim.structure.rows import row_layout
from jaxsim.structure.slots import SlotLayout, slot_layout

__all__ = ["put_data"]


def put_data(model: Model | Any, mj_data: Any) -> Data:
    """Copies a `mujoco.MjData`: state, results, contacts and constraint forces; nothing is shared afterwards.

    Contacts take slots of the buffer that their geoms may use. If there are too few, the deepest stay and
    `WarningBit.CONTACT_OVERFLOW` is set, as in a step. `ncon`, `ne`, `nf`, `nl`, `nefc` are the C engine's.

    Args:
      model: the Model, or the `mujoco.MjModel`, which is then converted as `make_data` does.
      mj_data: the MjData.

    Raises:
      UnsupportedError: the model asks for physics that jaxsim does not compute yet.
      ValueError: a field has another size than the model's.
    """
    model = as_model(model)
    check_supported(model)
    data = blank(model)
    fields: dict[str, Any] = {}
    for name in copied_fields():
        fields[name] = _converted(name, getattr(mj_data, name), getattr(data, name))
    inertia = np.zeros(data.M.shape)
    inertia[m_places(model, mj_data.model)] = mj_data.M
    contact, address, overflow = _contacts(model, data.contact, mj_data)
    force = np.zeros(data.efc_force.shape)
    if mj_data.nefc:
        rows = efc_rows(model, mj_data, address)
        force[rows[rows >= 0]] = mj_data.efc_force[rows >= 0]
    warning = sum(int(bit) for kind, bit in WARNINGS.items() if mj_data.warning[kind].number)
    if overflow:
        warning |= int(WarningBit.CONTACT_OVERFLOW)
    counts = {name: getattr(mj_data, name) for name in ("ncon", "ne", "nf", "nl", "nefc")}
    counts |= {
        "solver_niter": mj_data.solver_niter.max(),
        "warning": warning,
        "M": inertia,
        "efc_force": force,
    }
    fields |= {name: jnp.array(x, getattr(data, name).dtype) for name, x in counts.items()}
    return data.replace(contact=contact, **fields)


def _converted(name: str, theirs: Any, ours: Any) -> Any:
    if np.size(theirs) != ours.size:
        raise ValueError(f"put_data: {name} has {np.size(theirs)} numbers, the model needs {ours.size}")
    return jnp.array(
        np.array(theirs).reshape(ours.shape), ours.dtype
    )  # both copy: JAX may keep numpy's memory


def _contacts(model: Model, blank: Contact, d: Any) -> tuple[Contact, np.ndarray, bool]:
    """The buffer, the first row in Data.efc_force of each contact of the MjData, and whether contacts found no slot."""
    contact, layout = d.contact, slot_layout(model)
    slot = _slots(layout, np.array(contact.geom), np.array(contact.dist))
    placed = np.flatnonzero(slot >= 0)
    rows = np.full(layout.count, -1)
    for own in row_layout(model).contacts:
        rows[own.slots] = own.start + own.rows * np.arange(own.count)
    address = np.where((slot >= 0) & (contact.efc_address >= 0), rows[slot] if len(rows) else -1, -1)
    fields = {}
    for leaf in Contact.leaf_fields():
        x = np.array(getattr(blank, leaf.name))
        value = address if leaf.name == "efc_address" else np.array(getattr(contact, leaf.name))
        x[slot[placed]] = value[placed].reshape(len(placed), *x.shape[1:])
        fields[leaf.name] = jnp.array(x)
    return Contact(**fields), address, len(placed) < d.ncon


def _slots(layout: SlotLayout, geoms: np.ndarray, dist: np.ndarray) -> np.ndarray:
    """A slot for each contact (ncon,), -1: none is left; deeper ones choose first."""
    pairs = layout.pairs
    pair_of = {(int(a), int(b)): k for k, (a, b) in enumerate(zip(pairs.geom1, pairs.geom2, strict=True))}
    free: dict[tuple[str, int], list[int]] = {}
    for group in layout.groups:
        for slot in range(group.start, group.stop):
            if group.pair is None:
                free.setdefault(("dim", group.dim), []).append(slot)
            else:
                free.setdefault(("pair", int(group.pair[slot - group.start])), []).append(slot)
    key: list[tuple[str, int] | None] = []
    for a, b in geoms.tolist():
        pair = pair_of.get((a, b))
        if pair is None:
            key.append(None)
        else:
            own = "pair", pair
            key.append(own if own in free else ("dim", int(pairs.dim[pair])))
    chosen = np.full(len(geoms), -1)
    room = {k: len(v) for k, v in free.items()}
    kept = []
    for i in np.argsort(dist, kind="stable").tolist():
        k = key[i]
        if k is not None and room.get(k, 0) > 0:
            room[k] -= 1
            kept.append(i)
    for i in sorted(kept):  # of those that stay, in their own order
        k = key[i]
        assert k is not None
        chosen[i] = free[k].pop(0)
    return chosen
