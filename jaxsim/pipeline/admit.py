"""What every public function of a model and its data checks first: on the host, in microseconds, on tracers too."""

from __future__ import annotations

import functools
from typing import Any

import jax.numpy as jnp

from jaxsim.data import STATE_FIELDS, Data
from jaxsim.model import Model
from jaxsim.pipeline.blank import dimensions, shape_of
from jaxsim.pipeline.supported import asks_for_more, check_supported
from jaxsim.pytree import Record
from jaxsim.results import WarningBit

__all__ = ["admit", "check_model", "check_state", "state_shapes"]


def admit(model: Model, data: Data, function: str) -> Data:
    """The data, once model and state are what a function can work with.

    Args:
      model: the model.
      data: one world.
      function: name of the function, for the error message.

    Returns:
      The data, all of whose state has the model's precision; `warning` has `WarningBit.UNSUPPORTED` where traced
      numbers of the model ask for physics that jaxsim does not compute.

    Raises:
      TypeError: they are not a Model and a Data, or of different precision.
      UnsupportedError: the model asks for physics that jaxsim does not compute yet.
      ValueError: a field of the model or the state has the wrong shape, as when they hold several worlds.
    """
    _check_types(model, data, function)
    check_supported(model)
    check_model(model, function)
    check_state(model, data, function)
    data = _of_one_type(model, data, function)
    more = asks_for_more(model)
    if more is None:
        return data
    bit = jnp.where(more, int(WarningBit.UNSUPPORTED), 0)
    return data.replace(warning=data.warning | bit.astype(jnp.asarray(data.warning).dtype))


def _check_types(model: Model, data: Data, function: str) -> None:
    """Refuses what is not a model and its data, as the C engine's structs.

    Raises:
      TypeError: says what they are and what to do.
    """
    for what, given, cls, put in (("model", model, Model, "put_model"), ("data", data, Data, "put_data")):
        if not isinstance(given, cls):
            remedy = f"; jaxsim.{put} copies the C engine's" if type(given).__name__.startswith("Mj") else ""
            raise TypeError(
                f"{function}: {what} is of type {type(given).__name__}, not {cls.__name__}{remedy}"
            )


def check_model(model: Model, function: str) -> None:
    """Refuses a model whose leaves do not have the shapes of one world.

    Raises:
      ValueError: names the fields, their shapes and what to do.
    """
    wrong = []
    for prefix, record in (("", model), ("opt.", model.opt), ("stat.", model.stat)):
        for name, shape in _leaf_shapes(type(record), model.static).items():
            value = getattr(record, name)
            found = shape if value is None else jnp.shape(value)
            if len(found) != len(shape) or any(n not in (None, m) for n, m in zip(shape, found, strict=True)):
                wrong.append((prefix + name, found, shape))
    if not wrong:
        return
    lines = [f"model.{name} has shape {found}, one world has {_words(shape)}" for name, found, shape in wrong]
    batched = all(len(found) == len(shape) + 1 for _, found, shape in wrong)
    remedy = (
        "; use jax.vmap with in_axes by field (record: model_axes), 0 where worlds differ" if batched else ""
    )
    raise ValueError(f"{function}: {'; '.join(lines)}{remedy}")


_REAL = tuple(f.name for f in Data.leaf_fields() if f.name in STATE_FIELDS and f.metadata["dtype"] is float)
"""Fields of the state that hold real numbers."""


def _of_one_type(model: Model, data: Data, function: str) -> Data:
    """The data with numbers of one type in its state, so that integers for controls compile nothing anew in a loop.

    Raises:
      TypeError: the model's numbers are of another.
    """
    dtype = jnp.result_type(model.body_mass)
    given = jnp.result_type(data.qpos if jnp.size(data.qpos) else data.time)
    if given != dtype and jnp.issubdtype(given, jnp.floating):
        raise TypeError(
            f"{function}: the model's numbers are {dtype}, the state's {given}; set jax_enable_x64 before the model is "
            "loaded, or convert it: jax.tree.map(lambda x: x.astype(dtype) if x.dtype.kind == 'f' else x, model)"
        )
    other = {name: getattr(data, name) for name in _REAL if jnp.result_type(getattr(data, name)) != dtype}
    return data.replace(**{name: jnp.asarray(x, dtype) for name, x in other.items()}) if other else data


def _words(shape: tuple[int | None, ...]) -> str:
    """A shape, of which some sizes may be any."""
    sizes = ["any" if n is None else str(n) for n in shape]
    return f"({', '.join(sizes)}{',' if len(sizes) == 1 else ''})"


@functools.lru_cache(maxsize=256)
def _leaf_shapes(cls: type[Record], static: Any) -> dict[str, tuple[int | None, ...]]:
    """Shapes of the arrays of a record of a model, None for sizes that no field of it holds."""
    dims = dimensions(static)
    fields = {f.name: f.metadata for f in cls.leaf_fields()}
    return {
        name: shape_of(kind["shape"], dims.get)
        for name, kind in fields.items()
        if kind.get("dtype") in (int, float)
    }


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
    fields = {f.name: f.metadata["shape"] for f in Data.leaf_fields() if f.name in STATE_FIELDS}
    return {name: shape_of(shape, dims.__getitem__) for name, shape in fields.items()}
