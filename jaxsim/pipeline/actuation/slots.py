"""Activations whose presence depends on parameters: those of PID controllers and DC motors.

Their order is fixed, but each is there only if a parameter is positive, so where one stands among the activations of
its actuator is known at run time. With at most five of them, selecting costs little.
"""

from __future__ import annotations

from collections.abc import Mapping

import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxsim.math.axis import concat, take
from jaxsim.model import Model

__all__ = ["read_slots", "write_slots"]


def _places(present: Mapping[str, Array]) -> dict[str, Array]:
    """The place (n, W) of each activation among those of its actuator."""
    places, count = {}, jnp.zeros((), int)
    for name, flag in present.items():
        places[name] = count
        count = count + flag.astype(int)
    return places


def read_slots(model: Model, ids: np.ndarray, act: Array, present: Mapping[str, Array]) -> dict[str, Array]:
    """The activations (n, W) of each kind, 0 where an actuator has none.

    Args:
      model: the model.
      ids: actuators (n).
      act: all activations (na, W).
      present: in their order, which actuators have each (n, W).
    """
    first, count = model.actuator_actadr[ids], model.actuator_actnum[ids]
    padded = concat([act, jnp.zeros((1, act.shape[-1]), act.dtype)])
    most = int(count.max(initial=0))
    columns = [take(padded, np.where(k < count, first + k, model.na)) for k in range(most)]
    zero = jnp.zeros((1, 1), act.dtype)
    values = {}
    for name, place in _places(present).items():
        value = zero
        for k, column in enumerate(columns):
            value = jnp.where(present[name] & (place == k), column, value)
        values[name] = value
    return values


def write_slots(
    model: Model, ids: np.ndarray, values: Mapping[str, Array], present: Mapping[str, Array]
) -> Array:
    """Rows for all activations of the actuators, in order, from one number (n, W) a kind; undoes `read_slots`."""
    count = model.actuator_actnum[ids]
    places = _places(present)
    columns = []
    for k in range(int(count.max(initial=0))):
        column = jnp.zeros((len(ids), 1), next(iter(values.values())).dtype)
        for name, value in values.items():
            column = jnp.where(present[name] & (places[name] == k), value, column)
        columns.append(column)
    rows = [k * len(ids) + i for i, c in enumerate(count.tolist()) for k in range(c)]
    return take(concat(columns), np.array(rows, int))
