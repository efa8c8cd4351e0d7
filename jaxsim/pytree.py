"""Records: frozen dataclasses that are pytrees, whose fields declare what a compiled program makes of them.

A subclass of `Record` is made a frozen keyword-only dataclass and registered with JAX as it is defined. Each field is
declared by one of

- `leaf`: an array that is traced: batched by `vmap`, differentiated by `grad`;
- `leaf(inert=True)`: the same, but nothing that jaxsim computes reads it: colours, keyframes, user data;
- `static`: a part of the program that selects code or fixes a shape: integers, tuples, read-only host arrays;
- `label`: host data that no program depends on: names.

All static fields of a record live in one `Static` object that is hashed once, so a jit cache look-up costs one
comparison of digests however large the model is. A subclass may also declare fields in the manner of flax: a field
without a declaration is traced, unless its metadata say `pytree_node=False`.
"""

from __future__ import annotations

import dataclasses
import operator
from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, NoReturn, Self, TypeVar, dataclass_transform

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.core import Tracer

from jaxsim.hints import hint
from jaxsim.keys import Labels, Static, TracedLabel, frozen

__all__ = ["Record", "Static", "bare", "build", "held_record", "index_array", "label", "leaf", "static"]

_R = TypeVar("_R", bound="Record")


def leaf(
    shape: str = "",
    doc: str = "",
    *,
    dtype: Any = float,
    default: Any = dataclasses.MISSING,
    inert: bool = False,
    single: bool = False,
    optional: bool = False,
    least: float | None = None,
) -> Any:
    """Declares a traced field.

    Args:
      shape: space-separated dimension names of one world, e.g. `"nbody 3"`.
      doc: meaning, unit and frame.
      dtype: `float` or `int`, which follow jax_enable_x64, a numpy dtype, or the `Record` that the field holds.
      default: value when the constructor gets none.
      inert: whether no computation of jaxsim's reads it; see `bare`.
      single: whether mjModel stores it in single precision, so that the compiler rounds it.
      optional: whether programs leave out what it drives while it is all zero; see `Record.has`.
      least: the least number that `replace` takes; numbers that are traced are not looked at.
    """
    kinds = {"inert": inert, "single": single, "optional": optional, "least": least}
    return _declare("leaf", default, shape=shape, doc=doc, dtype=dtype, **kinds)


def static(
    shape: str = "",
    doc: str = "",
    *,
    dtype: Any = int,
    default: Any = dataclasses.MISSING,
    least: int | None = None,
) -> Any:
    """Declares a field that is part of the compiled program.

    Args:
      shape: dimension names of a host array, as for `leaf`; none: a plain Python value.
      doc: meaning and unit.
      dtype: of the host array, where `int` has 32 bits as in mjModel; else the class of the value.
      default: value when the constructor gets none.
      least: the least integer that it may be.
    """
    return _declare("static", default, shape=shape, doc=doc, dtype=dtype, least=least)


def label(doc: str = "", *, dtype: Any = str, default: Any) -> Any:
    """Declares plain Python data that rides along: no program depends on it unless it reads it while it is traced.

    Args:
      doc: meaning.
      dtype: the class of the value.
      default: value when the constructor gets none, and inside of native functions.
    """
    return _declare("label", default, shape="", doc=doc, dtype=dtype)


def _declare(kind: str, default: Any, **metadata: Any) -> Any:
    metadata |= {"kind": kind, "pytree_node": kind == "leaf"}
    return dataclasses.field(default=default, metadata=metadata)


def index_array(x: Any) -> np.ndarray:
    """Indices that a cached layout keeps: of 32 bits, so that they mean the same with `jax_enable_x64` on and off.

    JAX remembers its copy of an array of 64 bits by the array's identity, whatever the mode was.
    """
    return np.asarray(x, np.int32)


@dataclass_transform(
    frozen_default=True, kw_only_default=True, eq_default=False, field_specifiers=(leaf, static, label)
)
class Record:
    """Base of the frozen pytrees."""

    __slots__ = ("_key",)

    _leaf_names: ClassVar[tuple[str, ...]] = ()
    _inert_names: ClassVar[tuple[str, ...]] = ()
    _optional_names: ClassVar[frozenset[str]] = frozenset()
    _statics: ClassVar[dict[str, dataclasses.Field[Any]]] = {}
    _labels: ClassVar[dict[str, dataclasses.Field[Any]]] = {}

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Makes the subclass a dataclass and a pytree."""
        super().__init_subclass__(**kwargs)
        dataclasses.dataclass(frozen=True, kw_only=True, eq=False, repr=False)(cls)
        cls.__setattr__ = _refuse  # pyright: ignore
        fields = {f.name: f for f in dataclasses.fields(cls)}  # pyright: ignore
        kinds = {name: _kind(field) for name, field in fields.items()}
        cls._leaf_names = tuple(name for name, kind in kinds.items() if kind == "leaf")
        cls._inert_names = tuple(name for name in cls._leaf_names if fields[name].metadata.get("inert"))
        cls._optional_names = frozenset(n for n in cls._leaf_names if fields[n].metadata.get("optional"))
        cls._statics = {name: fields[name] for name, kind in kinds.items() if kind == "static"}
        cls._labels = {name: fields[name] for name, kind in kinds.items() if kind == "label"}
        for name in cls._labels:
            setattr(cls, name, _LabelAccess(name))
        _register(cls)

    def __post_init__(self) -> None:
        self.__dict__.update(self._settled(self.__dict__))

    def __repr__(self) -> str:
        names = [n for n in type(self).__dataclass_fields__ if n not in self._labels]  # pyright: ignore
        shown = [f"{name}={_brief(self.__dict__[name])}" for name in names[:_SHOWN]]
        return f"{type(self).__name__}({', '.join(shown)}{', ...' if len(names) > _SHOWN else ''})"

    @classmethod
    def _settled(cls, fields: dict[str, Any]) -> dict[str, Any]:
        """The static ones of the fields, as they are kept."""
        return {name: _settle(cls, f, fields[name]) for name, f in cls._statics.items() if name in fields}

    def replace(self, **fields: Any) -> Self:
        """Returns a copy with some fields replaced; integers and Python's numbers become numbers of the field's type.

        Raises:
          TypeError: a name is not a field, a static field gets a value that it cannot have, or an array None.
          ValueError: a number is less than its field may be.
        """
        known = type(self).__dataclass_fields__  # pyright: ignore
        for name in fields:
            if name not in known:
                raise TypeError(f"{type(self).__name__} has no field {name!r}{self._hint(name)}")
        for name in [n for n in self._leaf_names if n in fields]:
            before = self.__dict__[name]
            fields[name] = _number_for(known[name], before, fields[name])
            if _has_arrays(before):  # else it says which axes are of worlds
                self._check_leaf(known[name], fields[name])
        new = object.__new__(type(self))
        new.__dict__.update(self.__dict__)
        new.__dict__.update(fields)
        new.__dict__.update(self._settled(fields))
        unchanged = self._statics.keys().isdisjoint(fields) and self._labels.keys().isdisjoint(fields)
        if self._optional_names:
            before = set(self.static.fields[_PRESENT])
            present = before.difference(fields) | _nonzero(self._optional_names.intersection(fields), fields)
            unchanged &= present == before
            if not unchanged:
                new._make_key(present)
        if unchanged:
            _keep_key(new, self._program_key())
        return new

    def _unread(self) -> tuple[str, ...]:
        """Names of the leaves that no computation reads."""
        return self._inert_names

    def _check_leaf(self, field: dataclasses.Field[Any], value: Any) -> None:
        """Refuses a value that a traced field cannot have, as far as that is known.

        Raises:
          TypeError: it is None where arrays are, or no record where one is.
          ValueError: a number is too small.
        """
        what, least = f"{type(self).__name__}.replace: {field.name}", field.metadata.get("least")
        before = self.__dict__[field.name]
        if value is None and field.default is None:
            return
        if isinstance(before, Record) and not isinstance(value, Record):
            raise TypeError(f"{what}: expected {type(before).__name__}, got {value!r}")
        if value is None:
            raise TypeError(
                f"{what} cannot be None, it is an array; axes for vmap begin with jax.tree.map(lambda x: None, record)"
            )
        if least is None or not _is_known(value):
            return
        numbers = np.asarray(value)
        for index in np.argwhere(~(numbers >= least))[:1]:
            place, number = tuple(index.tolist()), numbers[tuple(index)]
            dims = len(field.metadata["shape"].split())
            whose = self._whose(field.name, place[len(place) - dims] if dims else 0)
            raise ValueError(f"{what}{whose} is {number:g}, and must be at least {least:g}")

    def _whose(self, name: str, row: int) -> str:
        """In words, whose number is in a row of a field."""
        return f"[{row}]" if type(self).__dataclass_fields__[name].metadata["shape"] else ""  # pyright: ignore

    def _hint(self, name: str) -> str:
        """Where a field that there is not may be instead."""
        for own in self._leaf_names:
            held = self.__dict__[own]
            if isinstance(held, Record) and name in type(held).__dataclass_fields__:  # pyright: ignore
                return f", {own} has: replace({own}=x.{own}.replace({name}=...))"
        return hint(name, type(self).__dataclass_fields__)  # pyright: ignore

    def has(self, name: str) -> bool:
        """Whether an optional leaf may be other than zero: code for it is needed.

        False only if it was a concrete array of zeros when the record was made, or when the leaf was replaced. So what
        is zero at first is given its value by `replace`, not by `jax.tree.map`.
        """
        return name in self.static.fields[_PRESENT]

    @property
    def static(self) -> Static:
        """The hashable static part; the key for per-model constants."""
        return self._program_key()[0]

    def _program_key(self) -> tuple[Static, Labels]:
        """What the pytree's structure holds beside the leaves."""
        try:
            return self._key
        except AttributeError:
            return self._make_key(_nonzero(self._optional_names, self.__dict__))

    def _make_key(self, present: Iterable[str]) -> tuple[Static, Labels]:
        values = {name: self.__dict__[name] for name in self._statics}
        if self._optional_names:
            values[_PRESENT] = tuple(sorted(present))
        key = Static(values), Labels.of({name: getattr(self, name) for name in self._labels})
        _keep_key(self, key)
        return key

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.__dict__.update(self._settled(state))

    def without_leaves(self) -> Self:
        """The record with None for every array, inside of records too: what is known of it on the host."""
        new = object.__new__(type(self))
        new.__dict__.update(self.__dict__)
        for name in self._leaf_names:
            value = self.__dict__[name]
            new.__dict__[name] = value.without_leaves() if isinstance(value, Record) else None
        _keep_key(new, self._program_key())
        return new

    @classmethod
    def leaf_fields(cls) -> tuple[dataclasses.Field[Any], ...]:
        """Dataclass fields that are traced, in flattening order."""
        return tuple(f for f in dataclasses.fields(cls) if f.name in cls._leaf_names)  # pyright: ignore


def _has_arrays(x: Any) -> bool:
    """Whether it is an array, or a record that holds some."""
    return any(hasattr(leaf, "dtype") for leaf in jax.tree.leaves(x))


def _is_known(x: Any) -> bool:
    """Whether it is a number or an array of this host's, not traced."""
    if isinstance(x, jax.Array):
        return not isinstance(x, Tracer) and x.is_fully_addressable and x.dtype.kind in "iuf"
    return isinstance(x, int | float | np.generic) or (isinstance(x, np.ndarray) and x.dtype.kind in "iuf")


def _number_for(field: dataclasses.Field[Any], before: Any, x: Any) -> Any:
    """A value for a field, of the type that it has: Python's numbers too, so that no program is compiled for those."""
    if _is_listed(x):
        x = np.asarray(x)
    if isinstance(x, int | float) or (isinstance(x, jax.Array) and jax.typeof(x).weak_type):
        if not hasattr(before, "dtype"):  # which axes are of worlds
            return x
        own, fitting = jnp.result_type(x), before.dtype
        dtype = fitting if own.kind == fitting.kind or own.kind + fitting.kind in ("if", "bf") else own
        return lax.convert_element_type(x, dtype) if isinstance(x, jax.Array) else np.asarray(x, dtype)
    whole = field.metadata.get("dtype") is float and hasattr(x, "astype") and x.dtype.kind in "iub"
    return x.astype(_float_of(before)) if whole else x


def _is_listed(x: Any) -> bool:
    """Whether it is numbers in a list, or lists of such."""
    return (
        isinstance(x, list | tuple)
        and len(x) > 0
        and all(isinstance(y, int | float) or _is_listed(y) for y in x)
    )


def _float_of(x: Any) -> Any:
    """The type of x, if it is a floating-point number's, else JAX's."""
    dtype = getattr(x, "dtype", None)
    return dtype if dtype is not None and dtype.kind == "f" else jax.dtypes.canonicalize_dtype(float)


_SHOWN = 16
"""Fields that are shown of a record."""


def _brief(x: Any) -> str:
    """A value in few characters: an array by type and shape."""
    if isinstance(x, Record):
        return f"{type(x).__name__}(...)"
    if hasattr(x, "dtype") and hasattr(x, "shape"):
        return f"{x.dtype}[{','.join(map(str, x.shape))}]"
    text = repr(x)
    return text if len(text) <= 40 else f"{text[:40]}..."


def _refuse(self: Record, name: str, value: Any) -> NoReturn:
    """Assignment to a field of a record."""
    del value
    kind = type(self).__name__
    raise dataclasses.FrozenInstanceError(
        f"cannot assign to field {name!r} of {kind}, which does not change; make another one: "
        f"{kind.lower()} = {kind.lower()}.replace({name}=...)"
    )


_PRESENT = "_present"
"""Static entry: the optional leaves that may be other than zero."""


def _nonzero(names: Iterable[str], values: Mapping[str, Any]) -> set[str]:
    """Those of the fields that are not known to be zero."""
    return {name for name in names if not _is_zero(values[name])}


def _is_zero(x: Any) -> bool:
    """Whether x is known to be all zero: a number or an array of this host's, not traced, or without entries."""
    if isinstance(x, jax.Array) and not x.size:
        return True
    return _is_known(x) and not np.any(np.asarray(x))


_keep_key = Record._key.__set__  # pyright: ignore  # a frozen record refuses assignment


def bare(tree: Any) -> Any:
    """The records of a tree as native functions get them: None in leaves that nothing reads, defaults in labels.

    What no computation reads then costs nothing: it is neither broadcast over worlds nor kept for a derivative, and a
    program does not depend on it.
    """
    return jax.tree.map(_bare, tree, is_leaf=lambda x: isinstance(x, Record))


def _bare(x: Any) -> Any:
    if not isinstance(x, Record) or not (x._inert_names or x._labels):
        return x
    new = object.__new__(type(x))
    new.__dict__.update(x.__dict__)
    new.__dict__.update(dict.fromkeys(x._unread()))
    defaults = {name: field.default for name, field in x._labels.items()}
    new.__dict__.update(defaults)
    _keep_key(new, (x.static, Labels.of(defaults)))
    return new


def _kind(field: dataclasses.Field[Any]) -> str:
    """`leaf`, `static` or `label`."""
    declared = field.metadata.get("kind")
    return declared or ("leaf" if field.metadata.get("pytree_node", True) else "static")


def _settle(cls: type[Record], field: dataclasses.Field[Any], value: Any) -> Any:
    """A static value of the declared type that nobody can change.

    Raises:
      TypeError: the value is traced, or has another type or number of dimensions.
      ValueError: it is less than it may be.
    """
    what = f"{cls.__name__}.{field.name}"
    if any(isinstance(x, Tracer) for x in jax.tree.leaves(value)):
        raise TypeError(
            f"{what} is static: it selects code or fixes a shape, so it cannot be traced. Replace it outside of jit, "
            f"vmap and grad, by a concrete value; of the fields of {cls.__name__}, those declared by leaf() are traced"
        )
    dims, dtype = field.metadata.get("shape", "").split(), field.metadata.get("dtype")
    try:
        if dims:
            return frozen(_array(value, np.dtype(np.int32 if dtype is int else dtype), len(dims)))
        if dtype is int:
            return _integer(value, field.metadata)
    except (TypeError, ValueError) as error:
        raise type(error)(f"{what}: {error}") from None
    if isinstance(dtype, type) and not isinstance(value, dtype):
        raise TypeError(f"{what}: expected {dtype.__name__}, got {type(value).__name__}")
    return frozen(value)


def _integer(value: Any, declared: Mapping[str, Any]) -> int:
    doc, least = declared.get("doc", ""), declared.get("least")
    try:
        number = operator.index(value)
    except TypeError:
        raise TypeError(f"expected an integer ({doc}), got {type(value).__name__} {value!r}") from None
    if least is not None and number < least:
        raise ValueError(f"expected at least {least} ({doc}), got {number}")
    return number


def _array(value: Any, dtype: np.dtype[Any], ndim: int) -> np.ndarray:
    array = np.asarray(value)
    if array.ndim != ndim:
        raise TypeError(f"expected an array of {ndim} dimensions, got shape {array.shape}")
    if array.size and dtype.kind != "b" and not np.can_cast(array.dtype, dtype, "same_kind"):
        raise TypeError(f"expected {dtype}, got {array.dtype}")
    return array.astype(dtype, copy=False)


def build(cls: type[_R], fields: Mapping[str, Any]) -> _R:
    """A record of host values, each given the type that its field declares; a mapping becomes the record in a field.

    Raises:
      TypeError: a field is missing or unknown, or cannot have its value.
    """
    known = {f.name: f for f in dataclasses.fields(cls)}  # pyright: ignore
    unknown = [name for name in fields if name not in known]
    missing = [name for name, f in known.items() if name not in fields and _is_required(f)]
    if unknown or missing:
        raise TypeError(f"{cls.__name__}: missing fields {missing}, unknown fields {unknown}")
    return cls(**{name: _built(known[name], value) for name, value in fields.items()})


def _is_required(field: dataclasses.Field[Any]) -> bool:
    return field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING


def held_record(field: dataclasses.Field[Any]) -> type[Record] | None:
    """The record that a field holds, by its declaration; None if it holds something else."""
    dtype = field.metadata.get("dtype")
    return dtype if isinstance(dtype, type) and issubclass(dtype, Record) else None


def _built(field: dataclasses.Field[Any], value: Any) -> Any:
    record = held_record(field)
    if record is not None and isinstance(value, Mapping):
        return build(record, value)
    if _kind(field) != "leaf":
        return value
    dtype = jax.dtypes.canonicalize_dtype(field.metadata["dtype"])
    on_device = isinstance(value, jax.Array)  # else numpy converts, which is faster
    return jnp.asarray(value if on_device else np.asarray(value, dtype), dtype)


class _LabelAccess:
    """Attribute of a label; reading it in a trace makes the program depend on it."""

    def __init__(self, name: str):
        self._name = name

    def __get__(self, record: Any, owner: Any = None) -> Any:
        if record is None:
            return self
        value = record.__dict__[self._name]
        return value.read() if type(value) is TracedLabel else value

    def __set__(self, record: Any, value: Any) -> None:
        record.__dict__[self._name] = value


def _register(cls: type[Record]) -> None:
    """Registers the class as a pytree: its leaves are children, the static part and labels are structure."""
    leaves, labels, statics = cls._leaf_names, tuple(cls._labels), tuple(cls._statics)
    keys = tuple(jax.tree_util.GetAttrKey(name) for name in leaves)

    def structure(x: Any) -> tuple[Static, Labels]:
        for name in labels:  # labels that leave a trace, or may
            getattr(x, name)
        return x._program_key()

    def flatten(x: Any) -> tuple[tuple[Any, ...], tuple[Static, Labels]]:
        values = x.__dict__
        return tuple(values[name] for name in leaves), structure(x)

    def flatten_with_keys(x: Any) -> tuple[tuple[Any, ...], tuple[Static, Labels]]:
        values = x.__dict__
        return tuple((key, values[name]) for key, name in zip(keys, leaves, strict=True)), structure(x)

    def unflatten(key: tuple[Static, Labels], children: Iterable[Any]) -> Any:
        x = object.__new__(cls)
        children = tuple(children)
        x.__dict__.update(zip(leaves, children, strict=True))
        x.__dict__.update((name, key[0].fields[name]) for name in statics)
        if labels:
            traced = any(isinstance(child, Tracer) for child in children)
            x.__dict__.update(key[1].traced() if traced else key[1].fields)
        _keep_key(x, key)
        return x

    jax.tree_util.register_pytree_with_keys(cls, flatten_with_keys, unflatten, flatten)
