"""Settings of environments: frozen dataclasses, and changing them by dotted names."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, TypeVar

from jaxsim.hints import hint

__all__ = ["Config", "override"]

_C = TypeVar("_C")


@dataclasses.dataclass(frozen=True, kw_only=True)
class Config:
    """What every environment can be told.

    Attributes:
      ctrl_dt: seconds between two actions, a multiple of the model's timestep.
      episode_length: steps after which an episode is cut off.
      action_scale: share of half an actuator's range that an action of 1 goes.
    """

    ctrl_dt: float = 0.02
    episode_length: int = 500
    action_scale: float = 1.0


def override(config: _C, changes: Mapping[str, Any]) -> _C:
    """A copy of a config with some settings changed.

    Args:
      config: a frozen dataclass.
      changes: new values by name; `"weights.upright"` reaches into the config that `weights` holds.

    Raises:
      KeyError: there is no such setting; the message names the nearest that there is.
      TypeError: a value has another type than the one it replaces.
    """
    for name, value in changes.items():
        config = _changed(config, name, name.split("."), value)
    return config


def _changed(config: Any, whole: str, path: list[str], value: Any) -> Any:
    head, *rest = path
    known = list(getattr(config, "__dataclass_fields__", ()))
    if head not in known:
        raise KeyError(f"no setting {whole!r}{hint(head, known)}; there are {', '.join(known) or 'none'}")
    before = getattr(config, head)
    if rest:
        return dataclasses.replace(config, **{head: _changed(before, whole, rest, value)})
    kind = type(before)
    whole_number = type(value) is int or (type(value) is float and value.is_integer())  # 1e6 is YAML's float
    if kind in (int, float) and whole_number:
        value = kind(value)
    if type(value) is not kind:
        raise TypeError(f"{whole} is of type {kind.__name__}, not {value!r}")
    return dataclasses.replace(config, **{head: value})
