"""What every public function of a model and its data checks first: on the host, in microseconds, on tracers too."""

from __future__ import annotations

import functools
from typing import Any

import jax.numpy as jnp

from jaxsim.data import STATE_FIELDS, Data
from jaxsim.model import Model
from jaxsim.pipeline.blank import dimensions
from jaxsim.pipeline.supported import asks_for_more, check_supported
from jaxsim.results import WarningBit

__all__ = ["admit", "check_state", "state_shapes"]


def admit(model: Model, data: Data, function: str) -> Data:
    """The data, once model and state are what a function can work with.

    Args:
      model: the model.
      data: one world.
      function: name of the function, for the error message.

    Returns:
      The data; `warning` has `WarningBit.UNSUPPORTED` where traced numbers of the model ask for physics that jaxsim
      does not compute.

    Raises:
      UnsupportedError: the model asks for physics that jaxsim does not compute yet.
      ValueError: a field of the state has the wrong shape, as when `data` holds several worlds.
    """
    check_supported(model)
    check_state(model, data, function)
    more = asks_for_more(model)
    if more is None:
        return data
    bit = jnp.where(more, int(WarningBit.UNSUPPORTED), 0)
    return data.replace(warning=data.warning | bit.astype(jnp.asarray(data.warning).dtype))


def check_state(model: Model, data: Data, function: str) -> None:
    """Refuses a state whose fields do not have the shapes of one world of the model.

    Raises:
      ValueError: names the fields, their shapes and what to do.
    """
    expected = state_shapes(model.static)
    wrong = [name for name, shape in expected.items() if jnp.shape(getattr(data, name)) != shape]
    if not wrong:
        return
    found = {name: jnp.shape(getattr(data, name)) for name in expected}
    batches = {shape[: len(shape) - len(expected[name])] for name, shape in found.items()}
    tails = all(shape[len(shape) - len(expected[name]) :] == expected[name] for name, shape in found.items())
    if tails and len(batches) == 1:
        (batch,) = batches
        raise ValueError(
            f"{function}: data holds {'x'.join(map(str, batch))} worlds (qpos has shape {found['qpos']}, one world has "
            f"{expected['qpos']}); use jax.vmap({function}, (None, 0))(model, data)"
        )
    lines = [f"data.{name} has shape {found[name]}, the model needs {expected[name]}" for name in wrong]
    raise ValueError(f"{function}: {'; '.join(lines)}")


@functools.lru_cache(maxsize=64)
def state_shapes(static: Any) -> dict[str, tuple[int, ...]]:
    """Shapes of the fields of the state of one world."""
    dims = dimensions(static)
    fields = {f.name: f.metadata["shape"].split() for f in Data.leaf_fields() if f.name in STATE_FIELDS}
    return {name: tuple(int(d) if d.isdigit() else dims[d] for d in shape) for name, shape in fields.items()}
