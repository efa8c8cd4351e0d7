"""What a compiled program is looked up by beside the types of its arguments: static parts, and labels it has read."""

from __future__ import annotations

import dataclasses
import enum
import hashlib
import weakref
from collections.abc import Mapping
from typing import Any, ClassVar, NamedTuple

import jax
import numpy as np

__all__ = ["Labels", "Static", "TracedLabel", "digest", "frozen"]


class Static:
    """The static fields of one record, hashed once by content.

    Fields read as attributes; use an instance as the key of `functools.lru_cache` to derive per-model constants. Two
    are equal if their digests of 256 bits are.
    """

    __slots__ = ("_digest", "_hash", "fields")

    def __init__(self, fields: Mapping[str, Any]):
        self.fields = {name: frozen(value) for name, value in fields.items()}
        self._digest = digest(self.fields)
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
        return f"Static({self._digest.hex()})"

    def __reduce__(self) -> tuple[Any, ...]:
        return Static, (self.fields,)


class Labels:
    """The labels of one record; there is one object for each content.

    A program does not depend on labels, unless it read them while it was traced, or returned them. From then on they
    differ from all others, so that it is traced again for a record with other labels.
    """

    __slots__ = ("__weakref__", "_used", "fields")

    _known: ClassVar[weakref.WeakValueDictionary[bytes, Labels]] = weakref.WeakValueDictionary()

    def __init__(self, fields: Mapping[str, Any]):
        self.fields = dict(fields)
        self._used = False

    @classmethod
    def of(cls, fields: Mapping[str, Any]) -> Labels:
        """The labels of this content."""
        key = digest(fields)
        found = cls._known.get(key)
        if found is None:
            found = cls._known.setdefault(key, cls(fields))
        return found

    def traced(self) -> dict[str, TracedLabel]:
        """The labels as a record in a trace holds them."""
        return {name: TracedLabel(self, name) for name in self.fields}

    def read(self, name: str) -> Any:
        """A label that a program depends on."""
        self._used = True
        return self.fields[name]

    def __hash__(self) -> int:
        return 0

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, Labels) and not (self._used or other._used))

    def __reduce__(self) -> tuple[Any, ...]:
        return Labels.of, (self.fields,)


class TracedLabel(NamedTuple):
    """A label in a record that is being traced."""

    labels: Labels
    name: str

    def read(self) -> Any:
        """Its value, which the program depends on from now on."""
        return self.labels.read(self.name)


def frozen(value: Any) -> Any:
    """A static value that cannot be changed: arrays are on the host and read-only, lists are tuples."""
    if isinstance(value, jax.Array):
        value = np.asarray(value)
    if isinstance(value, np.ndarray):
        shared = value.base is not None and not isinstance(value.base, bytes)
        if value.flags.writeable or (shared and getattr(value.base, "flags", value.flags).writeable):
            value = value.copy()
            value.setflags(write=False)
        return value
    if type(value) in (list, tuple):
        return tuple(frozen(item) for item in value)
    return value


def digest(value: Any) -> bytes:
    """256 bits that stand for the content of a mapping, a sequence or an array of the host's."""
    found = hashlib.blake2b(digest_size=32)
    _update(found, value)
    return found.digest()


def _update(digest: Any, value: Any) -> None:
    """Feeds one value to the digest: arrays by dtype, shape and bytes, objects of unknown classes by identity."""
    digest.update(type(value).__qualname__.encode())
    if isinstance(value, (np.ndarray, np.generic)):
        digest.update(f"{value.dtype}{value.shape}".encode())
        digest.update(np.ascontiguousarray(value).tobytes())
    elif isinstance(value, (tuple, list)):
        digest.update(f"({len(value)}".encode())
        for item in value:
            _update(digest, item)
    elif isinstance(value, Mapping):
        digest.update(f"{{{len(value)}".encode())
        for key in value:
            _update(digest, key)
            _update(digest, value[key])
    elif isinstance(value, Static):
        digest.update(value._digest)
    elif isinstance(value, (bytes, str)):
        data = value.encode() if isinstance(value, str) else value
        digest.update(f"{len(data)}:".encode())
        digest.update(data)
    elif value is None or isinstance(value, (bool, int, float, complex, enum.Enum, type, np.dtype)):
        digest.update(f":{value!r};".encode())
    elif dataclasses.is_dataclass(value) and value.__dataclass_params__.frozen:  # pyright: ignore
        for field in dataclasses.fields(value):
            _update(digest, getattr(value, field.name))
    else:
        digest.update(f"@{id(value)}".encode())
