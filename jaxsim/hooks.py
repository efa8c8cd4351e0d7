"""Functions of the user's in a model, in place of the C engine's callbacks (programming chapter, "Callbacks")."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

__all__ = ["Hooks"]


@dataclasses.dataclass(frozen=True)
class Hooks:
    """Pure functions of one world that a model calls; `model.replace(hooks=Hooks(...))` installs them.

    They are a static part of the model: compiled, batched and differentiated with the rest, and every new function
    object compiles a new program, so define them once. In them the model has no names: look those up outside. Numbers
    that change, or that something is differentiated by, come from `data.userdata` or a field of the model, such as
    `numeric_data`, not from around the function. What C's callbacks write into mjData, these return.

    Attributes:
      control: `(model, data) -> ctrl (nu,)`, after position, velocity and their sensors, before actuation
        (C: mjcb_control); RK4 calls it at each of its stages. What it returns is in `data.ctrl` from then on.
      passive: `(model, data) -> force (nv,)`, N and N m, that is added to `qfrc_passive` (C: mjcb_passive).
      act_dyn: `(model, data, actuator) -> act_dot` of an actuator of `dyntype="user"`, a number or (actdim,), 1/s
        (C: mjcb_act_dyn). None: 0. `actuator` is a Python int here and below.
      act_gain: `(model, data, actuator) -> gain` of an actuator of `gaintype="user"` (C: mjcb_act_gain). None: 1.
      act_bias: `(model, data, actuator) -> bias` of an actuator of `biastype="user"`, N or N m (C: mjcb_act_bias).
        None: 0.
      contact_filter: `(model, data, geom1, geom2) -> bool` after kinematics, True for a pair that must not collide
        (C: mjcb_contactfilter). It is asked of pairs that pass the model's own filters, and of named pairs; geoms are
        traced ids, the one of lower type first.
      sensors: (number of a user sensor, `(model, data) -> outputs (dim,)`) for each that has a function; see
        `jaxsim.user_sensor` (C: mjcb_sensor).
      colliders: (two geom types, `structure.colliders.Collider`) for each that has a function; see
        `jaxsim.user_collider`.
      sdfs: (number of a mesh, `(point (3,), size (3,)) -> distance`, m) for each mesh whose geoms of type `sdf` have a
        distance function; see `jaxsim.user_sdf`.
    """

    control: Callable[..., Any] | None = None
    passive: Callable[..., Any] | None = None
    act_dyn: Callable[..., Any] | None = None
    act_gain: Callable[..., Any] | None = None
    act_bias: Callable[..., Any] | None = None
    contact_filter: Callable[..., Any] | None = None
    sensors: tuple[tuple[int, Callable[..., Any]], ...] = ()
    colliders: tuple[tuple[tuple[int, int], Any], ...] = ()
    sdfs: tuple[tuple[int, Callable[..., Any]], ...] = ()

    def __post_init__(self) -> None:
        functions = [(name, f) for name in _OF_MODELS if (f := getattr(self, name)) is not None]
        functions += [(f"sensors of {sensor}", function) for sensor, function in self.sensors]
        functions += [(f"sdfs of {mesh}", function) for mesh, function in self.sdfs]
        for name, function in functions:
            if not callable(function):
                raise TypeError(f"Hooks: {name}: expected a function, got {function!r}")

    @property
    def read_models(self) -> bool:
        """Whether any of them gets the model."""
        return bool(self.sensors) or any(getattr(self, name) is not None for name in _OF_MODELS)

    def beside(self, others: Hooks) -> Hooks:
        """These, with those of others' sensors, colliders and distance functions that have none here."""
        kept = {}
        for name in ("sensors", "colliders", "sdfs"):
            own = getattr(self, name)
            taken = {key for key, _ in own}
            kept[name] = (*(entry for entry in getattr(others, name) if entry[0] not in taken), *own)
        return dataclasses.replace(self, **kept)


_OF_MODELS = ("control", "passive", "act_dyn", "act_gain", "act_bias", "contact_filter")
"""Functions of the model, of which there is one each."""
