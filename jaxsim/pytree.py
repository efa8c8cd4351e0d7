"""Frozen dataclass pytrees whose fields declare themselves traced (`leaf`) or hashed (`static`).

A static field never depends on a tracer: it selects code or fixes a shape. All static fields of a record live in
one `Static` object that is hashed once, so a jit cache look-up costs one comparison of digests however large the
model is.
"""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Iterable
from typing import Any, Self, TypeVar, dataclass_transform

import jax
import numpy as np

__all__ = ["Record", "Static", "index_array", "leaf", "record", "static"]

_T = TypeVar("_T")


def leaf(shape: str = "", doc: str = "", *, dtype: type = float, default: Any = dataclasses.MISSING) -> Any:
    """Declares a traced field.

    Args:
      shape: space-separated dimension names of one world, e.g. `"nbody 3"`.
      doc: meaning, unit and frame.
      dtype: `float` (follows jax_enable_x64), `int` or `bool`.
      default: value when the constructor gets none.
    """
    return dataclasses.field(
        default=default, metadata={"kind": "leaf", "shape": shape, "doc": doc, "dtype": dtype}
    )


def static(doc: str = "", *, default: Any = dataclasses.MISSING) -> Any:
    """Declares a field that is part of the compiled program: an int, a string, a tuple or a numpy array."""
    return dataclasses.field(default=default, metadata={"kind": "static", "doc": doc})


class Static:
    """The static fields of one record, hashed once by content.

    Fields read as attributes; use an instance as the key of `functools.lru_cache` to derive per-model constants.
    """

    __slots__ = ("_digest", "_hash", "fields")

    def __init__(self, fields: dict[str, Any]):
        self.fields = fields
        digest = hashlib.blake2b(digest_size=16)
        for name, value in fields.items():
            digest.update(name.encode())
            _update(digest, value)
        self._digest = digest.digest()
        self._hash = hash(self._digest)

    def __getattr__(self, name: str) -> Any:
        try:
            return self.fields[name]
        except KeyError:
            raise AttributeError(f"no static field {name!r}; there are {', '.join(self.fields)}") from None

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, Static) and self._digest == other._digest)

    def __repr__(self) -> str:
        return f"Static({self._digest.hex()[:8]})"

    def __reduce__(self) -> tuple[Any, ...]:
        return Static, (self.fields,)


def index_array(x: Any) -> np.ndarray:
    """Indices that a cached layout keeps: of 32 bits, so that they mean the same with `jax_enable_x64` on and off.

    JAX remembers its copy of an array of 64 bits by the array's identity, whatever the mode was.
    """
    return np.asarray(x, np.int32)


def _update(digest: Any, value: Any) -> None:
    """Feeds one static value to the digest, arrays by dtype, shape and bytes."""
    if isinstance(value, np.ndarray):
        digest.update(f"{value.dtype}{value.shape}".encode())
        digest.update(np.ascontiguousarray(value).tobytes())
    elif isinstance(value, (tuple, list)):
        digest.update(f"({len(value)}".encode())
        for item in value:
            _update(digest, item)
    elif isinstance(value, dict):
        digest.update(f"{{{len(value)}".encode())
        for key in value:
            _update(digest, key)
            _update(digest, value[key])
    elif isinstance(value, bytes):
        digest.update(value)
    else:
        digest.update(f"{type(value).__name__}:{value!r};".encode())


class Record:
    """Base of the frozen pytrees; see `record`."""

    _leaf_names: tuple[str, ...] = ()
    _static_names: tuple[str, ...] = ()

    def replace(self, **fields: Any) -> Self:
        """Returns a copy with some fields replaced.

        Raises:
          TypeError: a name is not a field.
        """
        for name in fields:
            if name not in self._leaf_names and name not in self._static_names:
                raise TypeError(f"{type(self).__name__} has no field {name!r}")
        new = object.__new__(type(self))
        new.__dict__.update(self.__dict__)
        new.__dict__.update(fields)
        if any(name in self._static_names for name in fields):
            new.__dict__.pop("_static", None)
        return new

    @property
    def static(self) -> Static:
        """The hashable static part; the key for per-model constants."""
        found = self.__dict__.get("_static")
        if found is None:
            found = Static({name: self.__dict__[name] for name in self._static_names})
            self.__dict__["_static"] = found
        return found

    @classmethod
    def leaf_fields(cls) -> tuple[dataclasses.Field[Any], ...]:
        """Dataclass fields that are traced, in flattening order."""
        return tuple(f for f in dataclasses.fields(cls) if f.name in cls._leaf_names)  # pyright: ignore


@dataclass_transform(frozen_default=True, kw_only_default=True, field_specifiers=(leaf, static))
def record(cls: type[_T]) -> type[_T]:
    """Makes `cls` a frozen keyword-only dataclass and registers it as a pytree."""
    cls = dataclasses.dataclass(frozen=True, kw_only=True, eq=False, repr=False)(cls)
    fields = dataclasses.fields(cls)  # pyright: ignore
    for field in fields:
        if "kind" not in field.metadata:
            raise TypeError(f"{cls.__name__}.{field.name}: declare it with leaf() or static()")
    leaves = tuple(f.name for f in fields if f.metadata["kind"] == "leaf")
    statics = tuple(f.name for f in fields if f.metadata["kind"] == "static")
    cls._leaf_names, cls._static_names = leaves, statics  # pyright: ignore
    keys = tuple(jax.tree_util.GetAttrKey(name) for name in leaves)

    def flatten(x: Any) -> tuple[tuple[Any, ...], Static]:
        values = x.__dict__
        return tuple(values[name] for name in leaves), x.static

    def flatten_with_keys(x: Any) -> tuple[tuple[Any, ...], Static]:
        values = x.__dict__
        return tuple((key, values[name]) for key, name in zip(keys, leaves, strict=True)), x.static

    def unflatten(aux: Static, children: Iterable[Any]) -> Any:
        x = object.__new__(cls)
        x.__dict__.update(aux.fields)
        x.__dict__.update(zip(leaves, children, strict=True))
        x.__dict__["_static"] = aux
        return x

    jax.tree_util.register_pytree_with_keys(cls, flatten_with_keys, unflatten, flatten)
    return cls
