"""A Data of the sizes that a model asks for, and its state at qpos0."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxsim.data import Contact, Data
from jaxsim.model import Model
from jaxsim.pipeline.history import initial_history
from jaxsim.pytree import Static
from jaxsim.structure.controls import rest_controls
from jaxsim.structure.rows import row_layout
from jaxsim.structure.slots import slot_count
from jaxsim.structure.trees import m_entry_count

__all__ = ["blank", "dimensions", "initial_state", "shape_of"]

_T = TypeVar("_T")


def blank(model: Model, buffers: bool = True) -> Data:
    """A Data of one world whose fields are zero but for the contact slots, which are out of use.

    Without buffers there are no slots for contacts and no constraint rows.
    """
    dims = dimensions(model.static)
    dims |= (
        {"ncon": slot_count(model), "nefcmax": row_layout(model).size}
        if buffers
        else {"ncon": 0, "nefcmax": 0}
    )
    dims["nM"] = m_entry_count(model)
    contact = _zeros(Contact, dims, model.qpos0.dtype)
    contact = contact.replace(
        geom=contact.geom - 1, efc_address=contact.efc_address - 1, dist=contact.dist + 1
    )
    return _zeros(Data, dims, model.qpos0.dtype, contact=contact, work=None)


def dimensions(static: Static) -> dict[str, int]:
    """The sizes of a model by name, from its static part."""
    return {name: value for name, value in static.fields.items() if isinstance(value, int)}


def shape_of(declared: str, size: Callable[[str], _T]) -> tuple[int | _T, ...]:
    """The shape that a field declares in words, from the sizes of these."""
    return tuple(int(word) if word.isdigit() else size(word) for word in declared.split())


def initial_state(model: Model) -> dict[str, Array]:
    """The fields of the state at qpos0 that are not zero; in native layout where the model is."""
    mocap = np.flatnonzero(model.body_mocapid >= 0)
    mocap = mocap[np.argsort(model.body_mocapid[mocap])]
    some = {"history": initial_history(model)} if model.nhistory else {}
    controls = rest_controls(model.static)
    if controls.any():
        native = model.opt.timestep.ndim > 0
        some["ctrl"] = jnp.asarray(controls[:, None] if native else controls, model.qpos0.dtype)
    return some | {
        "qpos": model.qpos0 + 0,
        "eq_active": jnp.asarray(model.eq_active0, bool),
        "mocap_pos": model.body_pos[mocap],
        "mocap_quat": model.body_quat[mocap],
    }


def _zeros(cls: type[Any], dims: dict[str, int], precision: Any, **given: Any) -> Any:
    """A record whose leaves are zero arrays of the declared shapes, numbers of some precision, but for those given."""
    values = dict(given)
    for field in cls.leaf_fields():
        if field.name not in values:
            shape = shape_of(field.metadata["shape"], dims.__getitem__)
            dtype = field.metadata["dtype"]
            # jnp.zeros compiles a program for each shape
            zero = np.zeros((), precision if dtype is float else dtype)
            values[field.name] = jax.device_put(np.broadcast_to(zero, shape))
    return cls(**values)
