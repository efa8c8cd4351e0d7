"""Stage boundaries: what is computed once, and not again in each of its consumers.

XLA for CPU drops `lax.optimization_barrier` before it fuses, and then computes a producer again in each of its
consumers; in a chain of stages this grows exponentially. There a boundary is a call that must not be inlined. XLA for
GPUs and TPUs does not fuse *inside* such a call at all, so every slice would be a kernel: there a stage is an ordinary
call, which is inlined. The choice goes by the platform that a program is lowered for, which `worlds` knows.
"""

from __future__ import annotations

import contextlib
import functools
import threading
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import jax
from jax.experimental.xla_metadata import set_xla_metadata

__all__ = ["calls_for", "kept_calls", "lowering_calls", "stage"]

_F = TypeVar("_F", bound=Callable[..., Any])


class _Chosen(threading.local):
    calls: bool | None = None


_chosen = _Chosen()


def calls_for(platforms: Any) -> bool:
    """Whether boundaries are calls in a program for these platforms."""
    return all(platform == "cpu" for platform in platforms)


def kept_calls() -> bool:
    """Whether boundaries are calls in what is traced now: as chosen, else as the default backend wants it."""
    return calls_for([jax.default_backend()]) if _chosen.calls is None else _chosen.calls


@contextlib.contextmanager
def lowering_calls(calls: bool) -> Iterator[None]:
    """Chooses whether boundaries are calls in what is traced inside."""
    before, _chosen.calls = _chosen.calls, calls
    try:
        yield
    finally:
        _chosen.calls = before


def stage(function: _F) -> _F:
    """Makes a function of pytrees of arrays a stage, computed once.

    Keyword arguments are static.
    """

    @functools.lru_cache(maxsize=256)
    def compiled(names: tuple[str, ...], calls: bool) -> Callable[..., Any]:
        @functools.wraps(function)
        def body(*args: Any, **static: Any) -> Any:
            with lowering_calls(calls), set_xla_metadata(inlineable=None):
                return function(*args, **static)

        return jax.jit(body, static_argnames=names)

    @functools.wraps(function)
    def call(*args: Any, **static: Any) -> Any:
        if not kept_calls():
            return compiled(tuple(static), False)(*args, **static)
        with set_xla_metadata(inlineable="false"):
            return compiled(tuple(static), True)(*args, **static)

    return call  # pyright: ignore
