"""From and to the C engine's structs, and states as vectors, with MJX's signatures."""

from __future__ import annotations

import importlib
import weakref
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array

from jaxsim import data as engine_data
from jaxsim import model as engine_model
from jaxsim.hints import hint
from jaxsim.interop import mujoco as interop
from jaxsim.mjx.records import Contact, Data, Impl, Model, Option, Statistic, with_type
from jaxsim.pipeline import state as vectors
from jaxsim.pipeline.make_data import make_data as native_make_data
from jaxsim.pytree import Record

__all__ = [
    "get_data",
    "get_data_into",
    "get_state",
    "make_data",
    "own_data",
    "put_data",
    "put_model",
    "set_state",
    "state_size",
]

_sizes: weakref.WeakKeyDictionary[Any, dict[str, int]] = weakref.WeakKeyDictionary()
"""Buffer sizes that `put_model` was given for a model of the C engine: `make_data` follows them."""


def put_model(
    m: Any,
    device: Any = None,
    impl: str | Impl | None = None,
    nconmax: int | None = None,
    njmax: int | None = None,
    **others: Any,
) -> Model:
    """Converts a `mujoco.MjModel`, or a `jaxsim.Model`.

    Args:
      m: the model.
      device: where its arrays go; none: JAX's default.
      impl: a name of MJX's implementations; all mean jaxsim's.
      nconmax: contact slots of a world; none: what the model asks for, or what can collide.
      njmax: constraint rows of a world; none: as many as it may have.
      **others: MJX's options for other implementations, without a meaning here.

    Raises:
      TypeError: there is no argument of this name.
      ValueError: `impl` is no implementation of MJX.
    """
    _checked("put_model", impl, others)
    sizes = {name: size for name, size in (("nconmax", nconmax), ("njmax", njmax)) if size is not None}
    if isinstance(m, engine_model.Model):
        return _put(_own_model(m.replace(**sizes) if sizes else m), device)
    model = interop.as_model(m)
    if sizes:
        _sizes[m] = sizes
    else:
        _sizes.pop(m, None)
    return _put(_own_model(model.replace(**sizes) if sizes else model, source=m), device)


_OTHERS = {"graph_mode", "keepalive_refs", "naconmax", "_full_compat", "dummy_arg_for_batching"}
"""MJX's options for other implementations."""


def _checked(function: str, impl: str | Impl | None, others: dict[str, Any]) -> None:
    if impl is not None and not isinstance(impl, Impl):
        Impl(getattr(impl, "value", impl))  # MJX's own enumeration has these values
    if others.pop("batch_sizes", None):
        raise TypeError(
            f"{function}: batch_sizes is not there; give a model leaves of many worlds by `tree_replace`, and "
            "`jax.vmap` their axes"
        )
    for name in others.keys() - _OTHERS:
        raise TypeError(
            f"{function} has no argument {name!r}{hint(name, _OTHERS | {'nconmax', 'njmax', 'impl'})}"
        )


def _put(record: Any, device: Any) -> Any:
    return record if device is None else jax.device_put(record, device)


def _converted(m: Any) -> engine_model.Model:
    """The engine's model of an MjModel, with the sizes that `put_model` was given; the conversion is cached."""
    model = interop.as_model(m)
    sizes = {} if isinstance(m, engine_model.Model) else _sizes.get(m, {})
    return model.replace(**sizes) if sizes else model


def _own_model(model: engine_model.Model, **more: Any) -> Model:
    return with_type(Model, model, **more).replace(
        opt=with_type(Option, model.opt), stat=with_type(Statistic, model.stat)
    )


def own_data(data: engine_data.Data) -> Data:
    """A Data of the engine as one of this module."""
    return with_type(Data, data).replace(contact=with_type(Contact, data.contact))


def make_data(
    m: Any,
    device: Any = None,
    impl: str | Impl | None = None,
    nconmax: int | None = None,
    naconmax: int | None = None,
    naccdmax: int | None = None,
    njmax: int | None = None,
    nvmax: int | None = None,
    **others: Any,
) -> Data:
    """The state at qpos0, at rest, with all results zero; one world.

    Buffers have the model's sizes: give those to `put_model`. As in MJX's JAX implementation the sizes here have no
    effect.

    Args:
      m: the model, this module's or the C engine's, whose conversion is cached.
      device: where the arrays go; none: JAX's default.
      impl: a name of MJX's implementations; all mean jaxsim's.
      nconmax: not used.
      naconmax: not used.
      naccdmax: not used.
      njmax: not used.
      nvmax: not used.
      **others: MJX's options for other implementations, without a meaning here.

    Raises:
      TypeError: there is no argument of this name.
      UnsupportedError: the model asks for physics that jaxsim does not compute yet.
      ValueError: `impl` is no implementation of MJX.
    """
    _checked("make_data", impl, others)
    return _put(own_data(native_make_data(_converted(m))), device)


def put_data(
    m: Any,
    d: Any,
    device: Any = None,
    impl: str | Impl | None = None,
    nconmax: int | None = None,
    naconmax: int | None = None,
    naccdmax: int | None = None,
    njmax: int | None = None,
    nvmax: int | None = None,
    **others: Any,
) -> Data:
    """Copies a `mujoco.MjData`: state, results, contacts and constraint forces.

    Args:
      m: the MjModel, or this module's Model of it.
      d: the MjData.
      device: where the arrays go; none: JAX's default.
      impl: a name of MJX's implementations; all mean jaxsim's.
      nconmax: not used; see `make_data`.
      naconmax: not used.
      naccdmax: not used.
      njmax: not used.
      nvmax: not used.
      **others: MJX's options for other implementations, without a meaning here.
    """
    _checked("put_data", impl, others)
    return _put(own_data(_exchange("put_data").put_data(_converted(m), d)), device)


def get_data(m: Any, d: engine_data.Data, **others: Any) -> Any:
    """A `mujoco.MjData`, or a list of them where `d` has a batch axis; see `jaxsim.get_data`."""
    _checked("get_data", None, others)
    return _exchange("get_data").get_data(m, _typed(engine_data.plain(d)))


def get_data_into(result: Any, m: Any, d: engine_data.Data, **others: Any) -> None:
    """Writes into a `mujoco.MjData` or a list of them: all worlds or none; see `jaxsim.get_data_into`.

    Raises:
      ValueError: one of `result` and `d` is a batch, the other is not, or sizes differ; nothing was written.
    """
    batched = jnp.ndim(d.qpos) > 1
    if isinstance(result, list) != batched:
        held = "a batch of worlds" if batched else "one world"
        raise ValueError(
            f"get_data_into: data holds {held}; give {'a list of MjData' if batched else 'one MjData'}"
        )
    _checked("get_data_into", None, others)
    _exchange("get_data").get_data_into(result, m, _typed(engine_data.plain(d)))


def _typed(record: Any) -> Any:
    """The record with integers and flags where arithmetic on all its leaves (`tree.map`) made them real numbers."""
    fields = {}
    for field in record.leaf_fields():
        value = record.__dict__[field.name]
        if isinstance(value, Record):
            fields[field.name] = _typed(value)
        elif field.metadata["dtype"] is not float and jnp.issubdtype(jnp.result_type(value), jnp.floating):
            fields[field.name] = jnp.round(value).astype(field.metadata["dtype"])
    return record.replace(**fields)


def _exchange(name: str) -> Any:
    """The exchange with the C engine's data, which imports mujoco."""
    return importlib.import_module(f"jaxsim.interop.{name}")


def state_size(m: Model, spec: int) -> int:
    """Length of the vector of `get_state` for bits of `mujoco.mjtState` (mj_stateSize)."""
    return vectors.state_size(m, spec)


def get_state(m: Model, d: Data, spec: int) -> Array:
    """Components of the state of one world as a vector (mj_getState)."""
    return vectors.get_state(m, d, spec)


def set_state(m: Model, d: Data, state: Array, spec: int) -> Data:
    """The data with components of the state of one world from a vector (mj_setState)."""
    found: Any = vectors.set_state(m, d, jnp.asarray(state), spec)
    return found
