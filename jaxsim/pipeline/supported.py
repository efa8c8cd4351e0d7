"""What jaxsim does not compute yet, by element and name; delete a rule when its feature lands."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from jax.core import Tracer

from jaxsim.enums import (
    BiasType,
    DynType,
    EnableBit,
    EqType,
    GainType,
    IntegratorType,
    ObjType,
    SensorType,
    SolverType,
    TrnType,
)
from jaxsim.model import Model
from jaxsim.pipeline.actuation import BIASES, DYNAMICS, GAINS
from jaxsim.pipeline.integrators import INTEGRATORS
from jaxsim.pipeline.sensors.table import SENSORS
from jaxsim.pipeline.transmission import TRANSMISSIONS
from jaxsim.pytree import Static
from jaxsim.results import UnsupportedError
from jaxsim.structure.slots import unsupported_pairs

__all__ = ["check_constants", "check_supported"]

_EQUALITIES = (EqType.CONNECT, EqType.WELD, EqType.JOINT, EqType.TENDON)
_SOLVERS = (SolverType.NEWTON,)
_FLAGS = (EnableBit.SLEEP, EnableBit.DIAGEXACT, EnableBit.IPC)


def _not_in(values: np.ndarray, known: Iterable[int]) -> np.ndarray:
    return ~np.isin(values, [int(k) for k in known])


_Rule = tuple[ObjType, Callable[[Model], np.ndarray], Callable[[Model, int], str]]

_LENGTHS: tuple[_Rule, ...] = (
    (
        ObjType.ACTUATOR,
        lambda m: _not_in(m.actuator_trntype, TRANSMISSIONS),
        lambda m, i: f"transmission {TrnType(m.actuator_trntype[i]).name.lower()}",
    ),
)
"""(kind of element, which of them are refused, what about them is refused): those whose length is not computed."""

_ELEMENTS: tuple[_Rule, ...] = (
    (
        ObjType.EQUALITY,
        lambda m: _not_in(m.eq_type, _EQUALITIES),
        lambda m, i: f"type {EqType(m.eq_type[i]).name.lower()}",
    ),
    *_LENGTHS,
    (
        ObjType.ACTUATOR,
        lambda m: _not_in(m.actuator_dyntype, DYNAMICS),
        lambda m, i: f"dyntype {DynType(m.actuator_dyntype[i]).name.lower()}",
    ),
    (
        ObjType.ACTUATOR,
        lambda m: _not_in(m.actuator_gaintype, GAINS),
        lambda m, i: f"gaintype {GainType(m.actuator_gaintype[i]).name.lower()}",
    ),
    (
        ObjType.ACTUATOR,
        lambda m: _not_in(m.actuator_biastype, BIASES),
        lambda m, i: f"biastype {BiasType(m.actuator_biastype[i]).name.lower()}",
    ),
    (ObjType.ACTUATOR, lambda m: m.actuator_history[:, 0] > 0, lambda m, i: "delay or history of controls"),
    (ObjType.SENSOR, lambda m: m.sensor_history[:, 0] > 0, lambda m, i: "delay, interval or history"),
    (
        ObjType.SENSOR,
        lambda m: _not_in(m.sensor_type, SENSORS),
        lambda m, i: f"type {SensorType(m.sensor_type[i]).name.lower()}",
    ),
)
"""The same of all that is refused by static fields."""

_OPTIONS: tuple[tuple[Callable[[Static], bool], Callable[[Static], str]], ...] = (
    (
        lambda o: o.integrator not in INTEGRATORS,
        lambda o: f"integrator {IntegratorType(o.integrator).name.lower()}",
    ),
    (lambda o: o.solver not in _SOLVERS, lambda o: f"solver {SolverType(o.solver).name}"),
    (
        lambda o: any(o.enableflags & f for f in _FLAGS),
        lambda o: "flag " + ", ".join(str(f.name).lower() for f in _FLAGS if o.enableflags & f),
    ),
)
"""(is it refused, what) by static options."""

_VALUES: tuple[tuple[Callable[[Model], Any], str], ...] = (
    (lambda m: m.opt.noslip_iterations, "option noslip_iterations: the no-slip solver"),
    (lambda m: m.geom_surfacevel, "geom surfacevel: moving surfaces"),
    (lambda m: m.geom_adhesion, "geom adhesion"),
    (lambda m: m.pair_adhesion, "pair adhesion"),
)
"""(numbers that must be zero, what they mean otherwise); not checked while they are traced."""


def check_supported(model: Model) -> None:
    """Refuses models that ask for physics jaxsim does not compute yet.

    Raises:
      UnsupportedError: lists every such element by type, name and feature.
    """
    found = list(_static_refusals(_Key(model.without_leaves())))
    if found:  # equal keys may differ in names
        found = list(_static_refusals.__wrapped__(_Key(model)))
    for value, meaning in _VALUES:
        x = value(model)
        if not isinstance(x, Tracer) and np.any(np.asarray(x) != 0):
            found.append(meaning)
    _raise(found)


def check_constants(model: Model) -> None:
    """Refuses models with tendons or actuators whose length jaxsim does not compute yet.

    Raises:
      UnsupportedError: lists them by type, name and feature.
    """
    _raise(_elements(_LENGTHS, model))


def _raise(found: list[str]) -> None:
    if found:
        shown = found[:20] + ([f"and {len(found) - 20} more"] if len(found) > 20 else [])
        raise UnsupportedError("jaxsim does not compute yet:\n  " + "\n  ".join(shown))


class _Key:
    """A model without its leaves, compared by its static parts, so that the check runs once per structure."""

    def __init__(self, model: Model):
        self.model = model
        self.parts = (model.static, model.opt.static)

    def __hash__(self) -> int:
        return hash(self.parts)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Key) and self.parts == other.parts


@functools.lru_cache(maxsize=16)
def _static_refusals(key: _Key) -> tuple[str, ...]:
    model = key.model
    found = [f"option: {what(model.opt.static)}" for refused, what in _OPTIONS if refused(model.opt.static)]
    return (*found, *_elements(_ELEMENTS, model), *unsupported_pairs(model))


def _elements(rules: tuple[_Rule, ...], model: Model) -> list[str]:
    """The elements that rules refuse, one a line."""
    found = []
    for kind, refused, what in rules:
        for i in np.flatnonzero(refused(model)):
            name = model.name(kind, int(i))
            label = repr(name) if name else f"number {i}"
            found.append(f"{kind.name.lower()} {label}: {what(model, int(i))}")
    return found
