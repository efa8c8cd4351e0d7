"""Environments by name."""

from __future__ import annotations

import dataclasses
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

    Raises:
      TypeError: the name is no text, `make` cannot be called, or `config` is not a dataclass of settings.
    """
    if not isinstance(name, str):
        raise TypeError(f"register: expected a name, not {name!r}")
    if not callable(make):
        raise TypeError(
            f"register {name!r}: a {type(make).__name__} cannot be called; give what makes the environment"
        )
    if not dataclasses.is_dataclass(config) or isinstance(config, type):
        what = f"the class {config.__name__}" if isinstance(config, type) else f"a {type(config).__name__}"
        raise TypeError(
            f"register {name!r}: {what} is not settings; give an instance of `envs.Config` or a subclass"
        )
    _known[name] = (make, config)


def _find(name: str) -> tuple[Callable[[Any], Env], Config]:
    if name not in _known:
        raise KeyError(f"no environment {name!r}{hint(name, _known)}; there are {', '.join(names())}")
    return _known[name]
