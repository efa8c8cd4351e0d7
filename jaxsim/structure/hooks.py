"""Functions of the user's in a model, in place of the C engine's callbacks. They are a static part of the model."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from jaxsim.model import Model
from jaxsim.pytree import Static

__all__ = ["hooked", "hooks_of", "with_hook"]


def with_hook(model: Model, what: str, element: int, function: Callable[..., Any]) -> Model:
    """The model with a function for one element; it takes the place of an earlier one.

    Args:
      model: the model.
      what: what the function computes: `"sensor"`.
      element: of which sensor, ...
      function: pure function of one world; each new one compiles a new program.
    """
    others = tuple(hook for hook in model.hooks if hook[:2] != (what, element))
    return model.replace(hooks=(*others, (what, element, function)))


def hooks_of(model: Model, what: str) -> dict[int, Callable[..., Any]]:
    """The functions that compute something, by element."""
    return {element: function for kind, element, function in model.hooks if kind == what}


def hooked(static: Static, what: str) -> list[int]:
    """The elements that have such a function."""
    return [element for kind, element, _ in static.hooks if kind == what]
