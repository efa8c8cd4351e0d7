"""Model, Option, Data and Contact of the engine, with the attributes that scripts for MJX use besides."""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Mapping
from typing import Any, Self, get_args

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.core import Tracer

from jaxsim import data as engine_data
from jaxsim import model as engine_model
from jaxsim import options as engine_options
from jaxsim.enums import ConstraintType
from jaxsim.keys import Static
from jaxsim.mjx.bind import BoundData, BoundModel
from jaxsim.pytree import Record, label, leaf

__all__ = [
    "ENGINE_CONTACT",
    "ENGINE_DATA",
    "ON_REQUEST",
    "Contact",
    "Data",
    "Impl",
    "Model",
    "Option",
    "PyTreeNode",
    "Statistic",
    "with_type",
]


class Impl(enum.Enum):
    """Implementations of MJX; jaxsim has one, which it calls JAX, and takes the others for it."""

    CPP = "cpp"
    C = "cpp"
    JAX = "jax"
    WARP = "warp"

    @classmethod
    def _missing_(cls, value: object) -> Impl | None:
        """Names in capitals."""
        text = value.lower() if isinstance(value, str) else value
        return next((member for member in cls if member.value == text), None)


class PyTreeNode:
    """What all of MJX's records can do; a script's own subclass becomes a frozen dataclass and a pytree, as in MJX."""

    def __init_subclass__(cls, register_as_pytree: bool = True, **kwargs: Any) -> None:
        """Keeps `replace` that of records where another base brings its own, as brax's State does."""
        super().__init_subclass__(**kwargs)
        if not issubclass(cls, Record):
            _make_node(cls, register_as_pytree)
            return
        if "replace" not in cls.__dict__:
            ours = (base for base in cls.__mro__ if issubclass(base, PyTreeNode) and "replace" in vars(base))
            type.__setattr__(cls, "replace", next(ours).replace)

    def replace(self, **fields: Any) -> Self:
        """A copy with some fields replaced; `_impl` stands for the record itself.

        Raises:
          TypeError: a name is not a field, or a static field gets a value that it cannot have.
        """
        inner = fields.pop("_impl", None)
        base: Any = self if inner is None else inner
        new: Any = Record.replace(base, **fields)
        # an optional leaf of which there is one for each world is present, zeros or not, as the record of in_axes says
        mapped = {n for n in base._optional_names.intersection(fields) if _is_mapped(base, n, fields[n])}
        if mapped:
            new._make_key(mapped.union(name for name in base._optional_names if new.has(name)))
        return new

    @classmethod
    def fields(cls) -> tuple[dataclasses.Field[Any], ...]:
        """The fields of the dataclass."""
        return dataclasses.fields(cls)  # pyright: ignore

    def tree_replace(self, params: Mapping[str, Any]) -> Self:
        """A copy with fields replaced by dotted names, as in `{"opt.timestep": 0.002}`."""
        new = self
        for name, value in params.items():
            new = _replaced(new, name.split("."), value)
        return new

    @property
    def impl(self) -> Impl:
        """The implementation."""
        return Impl.JAX

    @property
    def _impl(self) -> Self:
        """MJX keeps some fields in a record inside; here they are all in one."""
        return self


def _is_mapped(record: Record, name: str, value: Any) -> bool:
    """Whether a leaf's new value is an axis, in a record of in_axes, or has more axes than that of one world."""
    if record.__dict__[name] is None:
        return value is not None
    (field,) = (f for f in record.leaf_fields() if f.name == name)
    return np.ndim(value) > len(field.metadata["shape"].split())


def _make_node(cls: type[Any], register: bool) -> None:
    """Makes a class a dataclass, whose children as a pytree are the fields that are declared to hold arrays."""
    dataclasses.dataclass(frozen=True)(cls)
    if "replace" not in cls.__dict__:
        type.__setattr__(cls, "replace", dataclasses.replace)
    if not register:
        return
    children = [field.name for field in dataclasses.fields(cls) if _holds_arrays(field.type)]
    others = [field.name for field in dataclasses.fields(cls) if field.name not in children]

    def flatten(node: Any) -> tuple[tuple[Any, ...], Static]:
        values = tuple((jax.tree_util.GetAttrKey(name), getattr(node, name)) for name in children)
        return values, Static({name: getattr(node, name) for name in others})

    def unflatten(static: Static, values: Any) -> Any:
        return cls(**static.fields, **dict(zip(children, values, strict=True)))

    jax.tree_util.register_pytree_with_keys(cls, flatten, unflatten)


def _holds_arrays(kind: Any) -> bool:
    """Whether a type is that of arrays, of a record or dataclass with arrays, or of a container of such."""
    if isinstance(kind, type) and issubclass(kind, Record):
        return True
    if dataclasses.is_dataclass(kind):
        return any(_holds_arrays(field.type) for field in dataclasses.fields(kind))
    return kind is Array or any(map(_holds_arrays, get_args(kind)))


def _replaced(record: Any, path: list[str], value: Any) -> Any:
    head, *rest = path
    if head == "_impl":
        return _replaced(record, rest, value)
    return record.replace(**{head: _replaced(getattr(record, head), rest, value) if rest else value})


def with_type(cls: type[Any], record: Any, **more: Any) -> Any:
    """A record of the class with the fields of another, which has them all but those in `more` and defaults."""
    if type(record) is cls and not more:
        return record
    return cls(**(record.__dict__ | more))


ENGINE_DATA = tuple(field.name for field in engine_data.Data.leaf_fields())
ENGINE_CONTACT = tuple(field.name for field in engine_data.Contact.leaf_fields())
"""Fields of the engine's records."""


class Option(PyTreeNode, engine_options.Option):
    """Physics options; see `jaxsim.Option`."""


class Statistic(PyTreeNode, engine_options.Statistic):
    """Sizes of the model at qpos0."""


_HAS_FRICTION = {"dof_hasfrictionloss": "dof_frictionloss", "tendon_hasfrictionloss": "tendon_frictionloss"}


class Model(PyTreeNode, engine_model.Model):
    """The compiled model; see `jaxsim.Model`.

    What mjModel has and jaxsim does not need (`nM`, `body_sameframe`, `M_rowadr`, `name_bodyadr`, `signature`, ...) is
    read from the MjModel that this was made of. `names` is jaxsim's table, not mjModel's bytes.
    """

    source: Any = label("the MjModel that the model was made of", dtype=object, default=None)

    def __getattr__(self, name: str) -> Any:
        source: Any = None if name.startswith("_") else self.__dict__.get("source")
        if hasattr(source, "read"):
            source = source.read()
        if name in _HAS_FRICTION and source is not None:  # MJX's own fields, which mjModel has not
            return np.asarray(getattr(source, _HAS_FRICTION[name])) > 0
        found = getattr(source, name, None)
        if found is None or callable(found):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        return found

    def bind(self, obj: Any) -> BoundModel:
        """The rows of objects of an MjSpec: `model.bind(spec.body("torso")).mass`."""
        return BoundModel(self, obj)


class Contact(PyTreeNode, engine_data.Contact):
    """Buffer of contacts; see `jaxsim.Contact`."""

    @property
    def geom1(self) -> Array:
        """First geom, -1 in slots that are out of use."""
        return self.geom[..., 0]

    @property
    def geom2(self) -> Array:
        """Second geom, -1 in slots that are out of use."""
        return self.geom[..., 1]


ON_REQUEST = {
    "crb": "crb",
    "qLD": "factor_m",
    "ten_J": "tendon",
    "actuator_moment": "transmission",
    "efc_J": "make_constraint",
    "efc_type": "make_constraint",
    "efc_D": "make_constraint",
    "efc_aref": "make_constraint",
    "efc_pos": "make_constraint",
    "efc_margin": "make_constraint",
    "efc_frictionloss": "make_constraint",
}
"""Fields of Data that one stage fills, by its name; they are None else: a step would carry them for nothing."""


class Data(PyTreeNode, engine_data.Data):
    """The state and its results; see `jaxsim.Data`.

    `ncon` is the number of contact slots, a Python integer, as in MJX; those in use have `contact.dist` below
    `contact.includemargin`.
    """

    crb: Array | None = leaf("nbody 10", "composite inertia of the body and all below it", default=None)
    qLD: Array | None = leaf("nv nv", "Cholesky factor of M, upper triangle", default=None)
    ten_J: Array | None = leaf("ntendon nv", "Jacobian of tendon lengths", default=None)
    actuator_moment: Array | None = leaf("nout nv", "moment arms of actuators", default=None)
    efc_J: Array | None = leaf("nefcmax nv", "Jacobian of constraint rows", default=None)
    efc_type: Array | None = leaf("nefcmax", "enums.ConstraintType of rows", dtype=int, default=None)
    efc_D: Array | None = leaf("nefcmax", "inverse regularisation; 0: row out of use", default=None)
    efc_aref: Array | None = leaf("nefcmax", "reference acceleration", default=None)
    efc_pos: Array | None = leaf("nefcmax", "what should be zero, m or rad", default=None)
    efc_margin: Array | None = leaf("nefcmax", "where forces begin, m or rad", default=None)
    efc_frictionloss: Array | None = leaf("nefcmax", "friction loss; 0: none", default=None)

    def replace(self, **fields: Any) -> Self:
        """A copy with some fields replaced; integers become real numbers, as a step returns them."""
        for name, value in fields.items():
            if name in _REAL and jnp.issubdtype(getattr(value, "dtype", float), jnp.integer):
                fields[name] = jnp.asarray(value, float)
        new: Any = PyTreeNode.replace(self, **fields)
        return new

    @property
    def _impl(self) -> Self:
        """The data itself, its contacts without what a subclass of Contact adds."""
        contact = self.__dict__["contact"]
        if type(contact) is Contact:
            return self
        names = (field.name for field in Contact.leaf_fields())
        return self.replace(contact=Contact(**{name: contact.__dict__[name] for name in names}))

    def bind(self, model: Model, obj: Any) -> BoundData:
        """The rows of objects of an MjSpec: `data.bind(model, spec.joint("knee")).qpos`; it has `set`."""
        return BoundData(self, model, obj)

    def where(self, done: Array, other: Data) -> Self:
        """`other` where `done`, a boolean or one for each world, else this."""
        return jax.tree.map(lambda x, y: jnp.where(_like(done, x), x, y), other, self)

    def __getitem__(self, key: Any) -> Self:
        return jax.tree.map(lambda x: x[key], self)


_REAL = {field.name for field in Data.leaf_fields() if field.metadata["dtype"] is float}
"""Fields of real numbers."""


def _like(done: Any, x: Any) -> Array:
    """A flag for each world, with axes of length 1 for those of the worlds' arrays."""
    done = jnp.asarray(done)
    return done.reshape(done.shape + (1,) * (jnp.ndim(x) - done.ndim))


class _Slots:
    """`Data.ncon`; what the engine counted stays in the record."""

    def __get__(self, data: Any, owner: Any = None) -> Any:
        if data is None:
            return self
        contact = data.__dict__["contact"]
        return 0 if contact is None else contact.dist.shape[-1]

    def __set__(self, data: Any, value: Any) -> None:
        data.__dict__["ncon"] = value


class _RowCount:
    """`Data.ne` and its like: rows that there may be, once `make_constraint` made them; before, those in use."""

    def __init__(self, name: str, *kinds: ConstraintType):
        self._name, self._kinds = name, [int(kind) for kind in kinds]

    def __get__(self, data: Any, owner: Any = None) -> Any:
        if data is None:
            return self
        kinds = data.__dict__.get("efc_type")
        if kinds is None or isinstance(kinds, Tracer):
            return data.__dict__[self._name]
        of_one_world = np.asarray(kinds)[(0,) * (np.ndim(kinds) - 1)]
        return int(np.isin(of_one_world, self._kinds).sum())

    def __set__(self, data: Any, value: Any) -> None:
        data.__dict__[self._name] = value


_FRICTION = (ConstraintType.FRICTION_DOF, ConstraintType.FRICTION_TENDON)
_LIMITS = (ConstraintType.LIMIT_JOINT, ConstraintType.LIMIT_TENDON)

Data.ncon = _Slots()  # pyright: ignore
Data.ne = _RowCount("ne", ConstraintType.EQUALITY)  # pyright: ignore
Data.nf = _RowCount("nf", *_FRICTION)  # pyright: ignore
Data.nl = _RowCount("nl", *_LIMITS)  # pyright: ignore
Data.nefc = _RowCount("nefc", *ConstraintType)  # pyright: ignore
