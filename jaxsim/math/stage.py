"""Stage boundaries that XLA keeps.

XLA for CPU drops `lax.optimization_barrier` before it fuses, and then computes a producer again in each of its
consumers; in a chain of stages this grows exponentially. A call that must not be inlined is a boundary on every
backend: its results are computed once.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

import jax
from jax.experimental.xla_metadata import set_xla_metadata

__all__ = ["stage"]

_F = TypeVar("_F", bound=Callable[..., Any])


def stage(function: _F) -> _F:
    """Makes a function of pytrees of arrays one call in the compiled program, computed once.

    Keyword arguments are static.
    """

    @functools.wraps(function)
    def body(*args: Any, **static: Any) -> Any:
        with set_xla_metadata(inlineable=None):
            return function(*args, **static)

    @functools.lru_cache(maxsize=256)
    def compiled(names: tuple[str, ...]) -> Callable[..., Any]:
        return jax.jit(body, static_argnames=names)

    @functools.wraps(function)
    def call(*args: Any, **static: Any) -> Any:
        with set_xla_metadata(inlineable="false"):
            return compiled(tuple(static))(*args, **static)

    return call  # pyright: ignore
