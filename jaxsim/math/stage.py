"""Stage boundaries, and the platform that a program is lowered for.

XLA for CPU drops `lax.optimization_barrier` before it fuses, and then computes a producer again in each of its
consumers; in a chain of stages this grows exponentially. There a boundary is a call that must not be inlined. XLA for
GPUs and TPUs does not fuse *inside* such a call at all, so every slice would be a kernel: there a stage is an ordinary
call, which is inlined. The choice goes by the platform that a program is lowered for, which `worlds` knows and which
may be another than that of the machine. Whatever else differs by platform asks `platform` too; `divided` tells whether
XLA divides the program among several devices, `alone` whether it is of one world.

A derivative keeps what goes into such a call and computes the inside again: it is a few operations on each number,
and what would be kept of it instead is a kernel each on the way there. What is long, or has a search inside, is a
`long_stage`, whose derivative keeps what it needs: computed again it would be in each kernel of the derivative.
"""

from __future__ import annotations

import contextlib
import functools
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

import jax
from jax.experimental.xla_metadata import set_xla_metadata

__all__ = [
    "alone",
    "apart",
    "common_platform",
    "divided",
    "is_divided",
    "long_stage",
    "lowering_for",
    "platform",
    "stage",
    "x64",
]

_F = TypeVar("_F", bound=Callable[..., Any])


class _Chosen(threading.local):
    platform: str | None = None
    divided: bool = False
    alone: bool = False


_chosen = _Chosen()


def common_platform(platforms: Sequence[str]) -> str:
    """The platform of a program, `"cpu"`, `"cuda"`, `"tpu"` ...; `"any"` if it is lowered for several."""
    return platforms[0] if len(platforms) == 1 else "any"


def platform() -> str:
    """The platform of what is traced now: as chosen, else the default backend's."""
    if _chosen.platform is not None:
        return _chosen.platform
    backend = jax.default_backend()
    return "cuda" if backend == "gpu" else backend


def is_divided(module_context: Any) -> bool:
    """Whether XLA divides a program, by JAX's context of its lowering; `shard_map` and `pmap` have done so before."""
    return getattr(module_context.axis_context, "num_devices", 1) > 1


def divided() -> bool:
    """Whether XLA divides what is traced now among several devices, and puts their messages between its operations."""
    return _chosen.divided


def alone() -> bool:
    """Whether all of what is traced now is put into few kernels of a CPU, as the program of one world is."""
    return _chosen.alone


def x64() -> bool:
    """Whether what is traced now has numbers of 64 bits where nothing else is said."""
    config: Any = jax.config
    return config.jax_enable_x64


@contextlib.contextmanager
def lowering_for(platform: str, divided: bool = False, alone: bool = False) -> Iterator[None]:
    """Chooses for what is traced inside what `platform`, `divided` and `alone` tell."""
    before = _chosen.platform, _chosen.divided, _chosen.alone
    _chosen.platform, _chosen.divided, _chosen.alone = platform, divided, alone
    try:
        yield
    finally:
        _chosen.platform, _chosen.divided, _chosen.alone = before


def stage(function: _F) -> _F:
    """Makes a function of pytrees of arrays a stage, computed once.

    Keyword arguments are static.
    """
    return _staged(function, again=True)


def long_stage(function: _F) -> _F:
    """As `stage`, for one of hundreds of operations or with loops inside: its derivative does not compute it again."""
    return _staged(function, again=False)


def apart(function: _F) -> _F:
    """Marks what is long and depends on the model alone, a sum over all its vertices say.

    In a program of one world on a CPU it is in no kernel with other things; so XLA takes it out of the user's loop.
    """
    return _staged(function, again=False, mark={"apart": "true"})


_STAGE = {"inlineable": "false"}
"""The mark of a stage on a CPU."""


def _staged(function: _F, again: bool, mark: dict[str, str] = _STAGE) -> _F:
    """Makes a function a stage; `again`: whether a derivative computes it again; `mark`: of its call on a CPU."""

    @functools.lru_cache(maxsize=256)
    def compiled(names: tuple[str, ...], platform: str, divided: bool, alone: bool) -> Callable[..., Any]:
        @functools.wraps(function)
        def body(*args: Any, **static: Any) -> Any:
            run = functools.partial(function, **static)
            if again and platform == "cpu":
                run = jax.checkpoint(run, prevent_cse=False)
            # said again of what is inside: when JAX traces the inside again, to differentiate it, it is inside the mark
            with (
                lowering_for(platform, divided, alone),
                set_xla_metadata(inlineable="true" if platform == "cpu" else None),
            ):
                return run(*args)

        return jax.jit(body, static_argnames=names)

    @functools.wraps(function)
    def call(*args: Any, **static: Any) -> Any:
        run = compiled(tuple(static), platform(), divided(), alone())
        if platform() != "cpu":
            return run(*args, **static)
        with set_xla_metadata(**mark):
            return run(*args, **static)

    return call  # pyright: ignore
