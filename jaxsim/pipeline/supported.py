"""What jaxsim does not compute yet, by element and name; delete a rule when its feature lands."""

from __future__ import annotations

import functools
import operator
import weakref
from collections import OrderedDict
from collections.abc import Callable, Iterable
from enum import IntEnum
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax
from jax.core import Tracer

from jaxsim.enums import (
    BiasType,
    ConeType,
    DynType,
    EnableBit,
    EqType,
    GainType,
    IntegratorType,
    ObjType,
    SolverType,
    TrnType,
)
from jaxsim.model import Model
from jaxsim.pipeline.actuation import BIASES, DYNAMICS, GAINS
from jaxsim.pipeline.integrators import INTEGRATORS
from jaxsim.pipeline.sensors.table import refusal
from jaxsim.pipeline.transmission import TRANSMISSIONS
from jaxsim.pytree import Static
from jaxsim.results import UnsupportedError
from jaxsim.solver.solve import SOLVERS
from jaxsim.structure.shaped import may_collide, without_hull
from jaxsim.structure.slots import unsupported_pairs

__all__ = ["EQUALITIES", "REFUSED_FLAGS", "asks_for_more", "check_supported"]

EQUALITIES = (EqType.CONNECT, EqType.WELD, EqType.JOINT, EqType.TENDON)
"""Types of equalities that are computed."""
REFUSED_FLAGS = {
    EnableBit.SLEEP: "trees at rest would save nothing, as all worlds run one program; without the flag they move on",
    EnableBit.DIAGEXACT: "constraints are regularised by the approximate diagonal, as without the flag",
    EnableBit.IPC: "it needs the integrator 'discrete', as in the C engine, which is not built",
}
"""Flags that are refused, and why."""


def _not_in(values: np.ndarray, known: Iterable[int]) -> np.ndarray:
    return ~np.isin(values, [int(k) for k in known])


_CONDIM = (1, 3, 4, 6)
"""Dimensions of contacts."""

_Rule = tuple[ObjType, Callable[[Model], np.ndarray], Callable[[Model, int], str]]


def _typed(kind: ObjType, what: str, field: str, types: type[IntEnum], known: Iterable[int]) -> _Rule:
    """Elements of a kind whose type, which a field of the model holds, must be among those known."""
    return (
        kind,
        lambda m: _not_in(getattr(m, field), known),
        lambda m, i: f"{what} {types(getattr(m, field)[i]).name.lower()}",
    )


_ELEMENTS: tuple[_Rule, ...] = (
    (
        ObjType.GEOM,
        lambda m: may_collide(m) & without_hull(m),
        lambda m, i: "a mesh without a hull: it collided with nothing, or has no volume",
    ),
    (ObjType.GEOM, lambda m: _not_in(m.geom_condim, _CONDIM), lambda m, i: f"condim {m.geom_condim[i]}"),
    (ObjType.PAIR, lambda m: _not_in(m.pair_dim, _CONDIM), lambda m, i: f"condim {m.pair_dim[i]}"),
    _typed(ObjType.EQUALITY, "type", "eq_type", EqType, EQUALITIES),
    _typed(ObjType.ACTUATOR, "transmission", "actuator_trntype", TrnType, TRANSMISSIONS),
    _typed(ObjType.ACTUATOR, "dyntype", "actuator_dyntype", DynType, DYNAMICS),
    _typed(ObjType.ACTUATOR, "gaintype", "actuator_gaintype", GainType, GAINS),
    _typed(ObjType.ACTUATOR, "biastype", "actuator_biastype", BiasType, BIASES),
    (ObjType.SENSOR, lambda m: np.array([refusal(m, i) != "" for i in range(m.nsensor)], bool), refusal),
)
"""(kind of element, which of them are refused, what about them is refused) by static fields."""

_OPTIONS: tuple[tuple[Callable[[Static], bool], Callable[[Static], str]], ...] = (
    (
        lambda o: o.integrator not in INTEGRATORS,
        lambda o: f"integrator {IntegratorType(o.integrator).name.lower()}",
    ),
    (lambda o: o.cone not in tuple(ConeType), lambda o: f"cone {ConeType(o.cone).name}"),
    (lambda o: o.solver not in SOLVERS, lambda o: f"solver {SolverType(o.solver).name}"),
    (
        lambda o: any(o.enableflags & f for f in REFUSED_FLAGS),
        lambda o: "; ".join(
            f"flag {str(f.name).lower()} ({why})" for f, why in REFUSED_FLAGS.items() if o.enableflags & f
        ),
    ),
    (
        lambda o: bool(_unknown_flags(o)),
        lambda o: f"flags {_unknown_flags(o):#x}, of a MuJoCo newer than 3.17, which are not known here",
    ),
)
"""(is it refused, what) by static options."""


def _unknown_flags(option: Static) -> int:
    """Bits of `enableflags` that no flag has."""
    return option.enableflags & ~functools.reduce(operator.or_, EnableBit).value


def check_supported(model: Model) -> None:
    """Refuses models that ask for physics jaxsim does not compute yet.

    Structures and arrays that passed are remembered, so that nothing is read from the device twice. Numbers that are
    traced cannot be judged here: see `asks_for_more`.

    Raises:
      UnsupportedError: lists every such element by type, name and feature.
    """
    found = []
    parts = (model.static, model.opt.static)
    if parts not in _passed:
        found += _static_refusals(model)
        if not found:
            _passed[parts] = None
            if len(_passed) > _PASSED:
                _passed.popitem(last=False)
    found += [what for x, what in _must_be_zero(model) if not isinstance(x, Tracer) and not _is_zero(x)]
    _raise(found)


def _must_be_zero(model: Model) -> list[tuple[Any, str]]:
    """Numbers that must be zero, as programs leave them out, and what they mean otherwise."""
    found = []
    for record in (model, model.opt):
        for name in sorted(record._optional_names):
            if not record.has(name):
                found.append(
                    (getattr(record, name), f"{name} that was zero and was not set with replace({name}=...)")
                )
    return found


def asks_for_more(model: Model) -> Array | None:
    """Whether traced numbers ask for physics that jaxsim does not compute yet, a bool scalar; None: none are traced.

    What cannot be refused while a program is traced, a changed `opt.density` under `jit` say, is judged on the device
    and reported as `WarningBit.UNSUPPORTED`: it is never dropped without a word.
    """
    traced = [x for x, _ in _must_be_zero(model) if isinstance(x, Tracer)]
    if not traced:
        return None
    # numbers of one type together and behind a barrier, else XLA looks at each array by a kernel of its own
    types = dict.fromkeys(x.dtype for x in traced)
    flat = [jnp.concatenate([jnp.ravel(x) for x in traced if x.dtype == dtype]) for dtype in types]
    return functools.reduce(jnp.logical_or, [jnp.any(x != 0) for x in lax.optimization_barrier(flat)])


_PASSED = 64

_passed: OrderedDict[Any, None] = OrderedDict()
"""Static parts of models without refusals, the latest ones."""
_zeros: dict[int, weakref.ref[Any]] = {}
"""Arrays on the device that are known to be zero, by identity, as long as they live."""


def _read_any(x: Any) -> bool:
    return bool(np.any(np.asarray(x) != 0))


def _is_zero(x: Any) -> bool:
    known = _zeros.get(id(x))
    if known is not None and known() is x:
        return True
    if _read_any(x):
        return False
    if isinstance(x, jax.Array):  # they never change
        key = id(x)
        _zeros[key] = weakref.ref(x, lambda _: _zeros.pop(key, None))
    return True


def _raise(found: list[str]) -> None:
    if found:
        shown = found[:20] + ([f"and {len(found) - 20} more"] if len(found) > 20 else [])
        raise UnsupportedError("jaxsim does not compute yet:\n  " + "\n  ".join(shown))


def _static_refusals(model: Model) -> list[str]:
    """What the static part of a model asks for and is refused."""
    found = [f"option: {what(model.opt.static)}" for refused, what in _OPTIONS if refused(model.opt.static)]
    return [*found, *_elements(model), *unsupported_pairs(model)]


def _elements(model: Model) -> list[str]:
    """The elements that are refused, one a line."""
    found = []
    for kind, refused, what in _ELEMENTS:
        for i in np.flatnonzero(refused(model)):
            name = model.name(kind, int(i))
            label = repr(name) if name else f"number {i}"
            found.append(f"{kind.name.lower()} {label}: {what(model, int(i))}")
    return found
