"""Environments by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from jaxsim.envs.base import Env
from jaxsim.envs.config import Config, override
from jaxsim.envs.tasks import TASKS
from jaxsim.hints import hint

__all__ = ["default_config", "load", "names", "register"]

_known: dict[str, tuple[Callable[[Any], Env], Config]] = dict(TASKS)


def names() -> tuple[str, ...]:
    """Names of all environments."""
    return tuple(sorted(_known))


def default_config(name: str) -> Config:
    """Settings of an environment where nothing is changed.

    Raises:
      KeyError: there is no such environment; the message names the nearest that there is.
    """
    return _find(name)[1]


def load(name: str, config: Config | None = None, overrides: Mapping[str, Any] | None = None) -> Env:
    """Makes an environment.

    Args:
      name: one of `names()`.
      config: its settings; default: `default_config(name)`.
      overrides: settings that differ, by dotted name: `{"weights.action": 0.1}`.

    Raises:
      KeyError: there is no such environment or setting; the message names the nearest that there is.
      TypeError: a setting has another type.
    """
    make, usual = _find(name)
    return make(override(usual if config is None else config, overrides or {}))


def register(name: str, make: Callable[[Any], Env], config: Config) -> None:
    """Adds an environment of your own, or replaces one.

    Args:
      name: what to load it by.
      make: makes it from a config.
      config: its usual settings.
    """
    _known[name] = (make, config)


def _find(name: str) -> tuple[Callable[[Any], Env], Config]:
    if name not in _known:
        raise KeyError(f"no environment {name!r}{hint(name, _known)}; there are {', '.join(names())}")
    return _known[name]
