"""Parameters of a model by name, with bounds and scales."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import Array
from numpy.typing import ArrayLike

from jaxsim.model import Model
from jaxsim.pipeline.set_const import set_const

__all__ = ["Parameter", "apply", "coordinates", "parameter", "position_gain", "values_of"]

Modifier = Callable[[Model, Array], Model]
Scale = Literal["log", "linear"]


@dataclasses.dataclass(frozen=True)
class Parameter:
    """Numbers of a model that are not known.

    Attributes:
      name: what a report calls it.
      nominal: where a fit starts, (size,), in the unit of the field.
      min_value: lower bounds, (size,).
      max_value: upper bounds, (size,).
      modifier: `(model, value (size,)) -> model`, differentiable.
      scale: in which coordinates it is searched: `"log"` for what is positive, so that a step is relative.
      constants: whether `set_const` has to run after a change.
      labels: the names of its numbers, if they are several.
    """

    name: str
    nominal: np.ndarray
    min_value: np.ndarray
    max_value: np.ndarray
    modifier: Modifier
    scale: Scale = "linear"
    constants: bool = True
    labels: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        nominal = np.atleast_1d(np.asarray(self.nominal, float))
        low, high = (
            np.broadcast_to(np.asarray(x, float), nominal.shape) for x in (self.min_value, self.max_value)
        )
        for name, value in (("nominal", nominal), ("min_value", low), ("max_value", high)):
            object.__setattr__(self, name, value)
        if self.scale not in ("log", "linear"):
            raise ValueError(f"parameter {self.name}: scale={self.scale!r}; expected 'log' or 'linear'")
        if np.any(low > high):
            raise ValueError(f"parameter {self.name}: min_value {low} is above max_value {high}")
        if not (np.all(low <= nominal) and np.all(nominal <= high)):
            raise ValueError(f"parameter {self.name}: nominal {nominal} is not within [{low}, {high}]")
        if self.scale == "log" and np.any(nominal <= 0):
            raise ValueError(
                f"parameter {self.name}: nominal {nominal} has no logarithm; give a positive nominal or scale='linear'"
            )

    @property
    def names(self) -> tuple[str, ...]:
        """The name of each of its numbers."""
        if self.nominal.size == 1:
            return (self.name,)
        return tuple(f"{self.name}.{x}" for x in self.labels or map(str, range(self.nominal.size)))


class _Habit(NamedTuple):
    """What is usual of a field: scale, bounds, whether constants follow from it."""

    scale: Scale = "linear"
    low: float = -np.inf
    high: float = np.inf
    constants: bool = True


_LEAST = 1e-3
"""Share of the nominal value to which what is searched in its logarithm may fall."""

_POSITIVE = _Habit("log", 0.0)
_PASSIVE = _Habit("log", 0.0, constants=False)
_FREE = _Habit(constants=False)

_HABITS: dict[str, _Habit] = {
    "body_mass": _POSITIVE,
    "body_inertia": _POSITIVE,
    "dof_armature": _POSITIVE,
    "geom_size": _POSITIVE,
    "dof_damping": _PASSIVE,
    "dof_frictionloss": _PASSIVE,
    "jnt_stiffness": _PASSIVE,
    "tendon_damping": _PASSIVE,
    "tendon_frictionloss": _PASSIVE,
    "tendon_stiffness": _PASSIVE,
    "geom_friction": _PASSIVE,
    "pair_friction": _PASSIVE,
    "geom_solref": _FREE,
    "geom_solimp": _Habit(low=0.0, constants=False),
    "pair_solref": _FREE,
    "pair_solimp": _Habit(low=0.0, constants=False),
    "actuator_gainprm": _FREE,
    "actuator_biasprm": _FREE,
    "actuator_dynprm": _FREE,
}
"""Fields whose habits differ from `_Habit()`."""

_KINDS = {
    "body": "body",
    "jnt": "joint",
    "dof": "joint",
    "geom": "geom",
    "site": "site",
    "actuator": "actuator",
    "tendon": "tendon",
    "eq": "equality",
    "pair": "pair",
    "sensor": "sensor",
}
"""What kind of object a field belongs to, by the beginning of its name."""


def parameter(
    model: Model,
    field: str,
    name: str | int,
    index: int | Sequence[int] | None = None,
    *,
    nominal: ArrayLike | None = None,
    min_value: ArrayLike | None = None,
    max_value: ArrayLike | None = None,
    scale: Scale | None = None,
) -> Parameter:
    """Numbers of one object in a field of the model, as a parameter.

    Masses, sizes, frictions, damping and armatures are searched in logarithms, from 0 up, all else as it is, without
    bounds, unless told. As with `set_const`, masses do not follow from sizes. Of two geoms in contact the larger
    friction counts, or that of the higher priority: the other one cannot be identified, and a fit will say so.

    Args:
      model: the model.
      field: a real-valued field, `"body_mass"`, `"geom_friction"`, `"dof_damping"`, ...
      name: the object, by name or id; a joint for `"dof_..."`.
      index: which of the object's numbers; all by default.
      nominal: where to start; the model's own value by default.
      min_value: lower bound, a number or one each; by default a thousandth of the nominal value of what is positive
        by nature and searched in its logarithm.
      max_value: upper bound, likewise.
      scale: `"log"` or `"linear"`.

    Raises:
      ValueError: the field is not one of real numbers that an object has, the index is none of them, or bounds
        do not hold the nominal value.
      KeyError: there is no object of this name.
    """
    kind = _KINDS.get(field.split("_")[0])
    whole = getattr(model, field, None)
    if kind is None or whole is None or not jnp.issubdtype(jnp.asarray(whole).dtype, jnp.floating):
        raise ValueError(
            f"parameter: {field!r} is no field of real numbers that an object has (of {', '.join(_KINDS)})"
        )
    numbers = model.replace(**{field: jnp.arange(whole.size, dtype=whole.dtype).reshape(whole.shape)})
    view = getattr(numbers, kind)(name)
    where = np.ravel(np.asarray(getattr(view, field.split("_", 1)[1]))).astype(int)
    try:
        chosen = np.arange(where.size) if index is None else np.arange(where.size)[np.atleast_1d(index)]
    except IndexError:
        raise ValueError(
            f"parameter: {field} of {name!r} has {where.size} numbers, none is {index}"
        ) from None
    where = where[chosen]
    habit = _HABITS.get(field, _Habit())
    label = f"{view.name or name}.{field.split('_', 1)[1]}"
    if index is not None and chosen.size == 1:
        label += f"[{chosen[0]}]"

    def modifier(model: Model, value: Array) -> Model:
        old = jnp.asarray(getattr(model, field))
        new = old.ravel().at[where].set(value.astype(old.dtype)).reshape(old.shape)
        return model.replace(**{field: new})

    start = np.ravel(np.asarray(whole))[where] if nominal is None else _sized(nominal, where.size, label)
    low = habit.low
    if (scale or habit.scale) == "log" and low == 0:
        # near zero the logarithm has no slope: what gets there in one stage of a fit never comes back
        low = _LEAST * start
    return Parameter(
        name=label,
        nominal=start,
        min_value=np.asarray(low if min_value is None else min_value),
        max_value=np.asarray(habit.high if max_value is None else max_value),
        modifier=modifier,
        scale=scale or habit.scale,
        constants=habit.constants,
        labels=tuple(str(k) for k in chosen),
    )


def position_gain(
    model: Model,
    name: str | int,
    *,
    nominal: float | None = None,
    min_value: float = 0.0,
    max_value: float = np.inf,
) -> Parameter:
    """The stiffness kp, N/m or N m/rad, of a position servo: `gainprm[0]` and `-biasprm[1]` at once.

    Args:
      model: the model.
      name: the actuator, by name or id.
      nominal: where to start; the model's own value by default.
      min_value: lower bound.
      max_value: upper bound.

    Raises:
      ValueError: the actuator is no position servo.
      KeyError: there is no actuator of this name.
    """
    view = model.actuator(name)
    own = float(view.gainprm[0])
    if not np.isclose(own, -float(view.biasprm[1])):
        raise ValueError(
            f"position_gain: actuator {view.name or name!r} is no position servo, biasprm[1] != -gainprm[0]"
        )
    row = view.id

    def modifier(model: Model, value: Array) -> Model:
        return model.replace(
            actuator_gainprm=model.actuator_gainprm.at[row, 0].set(value[0]),
            actuator_biasprm=model.actuator_biasprm.at[row, 1].set(-value[0]),
        )

    return Parameter(
        name=f"{view.name or name}.kp",
        nominal=np.asarray(own if nominal is None else nominal),
        min_value=np.asarray(min_value),
        max_value=np.asarray(max_value),
        modifier=modifier,
        scale="log",
        constants=False,
    )


def _sized(nominal: ArrayLike, size: int, name: str) -> np.ndarray:
    """Nominal values as an array of their size."""
    found = np.asarray(nominal, float)
    if found.ndim and found.size != size:
        raise ValueError(f"parameter {name}: {found.size} nominal values for {size} numbers")
    return np.broadcast_to(found.ravel() if found.ndim else found, (size,))


def apply(model: Model, parameters: Sequence[Parameter], z: Array) -> Model:
    """The model with parameters at coordinates `z` (p,), derived constants recomputed where they follow."""
    start = 0
    for p in parameters:
        part = z[start : start + p.nominal.size]
        model = p.modifier(model, jnp.exp(part) if p.scale == "log" else part)
        start += p.nominal.size
    return set_const(model) if any(p.constants for p in parameters) else model


def coordinates(parameters: Sequence[Parameter], values: str) -> np.ndarray:
    """Coordinates (p,) of `"nominal"` values or of bounds, `"min_value"` and `"max_value"`."""
    parts = []
    for p in parameters:
        value = getattr(p, values)
        with np.errstate(divide="ignore"):
            parts.append(np.log(np.maximum(value, 0)) if p.scale == "log" else value)
    return np.concatenate(parts)


def values_of(parameters: Sequence[Parameter], z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Values (p,) at coordinates `z`, in the units of the fields, and their slopes dvalue/dz (p,)."""
    log = np.concatenate([np.full(p.nominal.size, p.scale == "log") for p in parameters])
    value = np.where(log, np.exp(np.where(log, z, 0)), z)
    return value, np.where(log, value, 1.0)
