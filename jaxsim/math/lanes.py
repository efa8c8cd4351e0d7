"""Pallas kernels whose lanes are worlds, or pairs of geoms in worlds, for GPUs and TPUs.

A program of a GPU is 32 worlds, so that 4,096 keep all multiprocessors busy. One of a TPU is 1,024 worlds: a number of
theirs fills a vector register, 8 by 128.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from jaxsim.math.stage import platform

__all__ = ["has_kernels", "in_lanes", "rows_in_use", "rows_together", "wait_for_lanes", "warps_for"]

_LANES = {"cuda": (32,), "tpu": (8, 128)}
"""Worlds of one program, by platform."""

_ROWS = 8
"""Numbers of a vector of rows in each lane of a warp of a GPU."""

_SCRATCH = 16 << 20
"""Bytes of fast memory that a kernel of a TPU may have without asking for more."""


def has_kernels(dtype: Any) -> bool:
    """Whether the platform that is lowered for runs such kernels on numbers of a type; TPUs know no float64."""
    return platform() == "cuda" or (platform() == "tpu" and np.dtype(dtype) != np.float64)


def warps_for(rows: int) -> int:
    """How many warps of a GPU share the work on vectors of so many rows, both powers of two."""
    return max(1, rows // _ROWS)


def rows_together(count: int, most: int) -> int:
    """How many of some rows are looked at together, a power of two."""
    return min(most, 1 << (count.bit_length() - 1))


def rows_in_use(ref: Any, shape: tuple[int, ...], most: int) -> Array:
    """In a kernel: how many rows there are up to the last that is not zero in some lane.

    Args:
      ref: rows `(n, lanes)`, or of components, of which the first counts, `(n, components, lanes)`.
      shape: that of lanes.
      most: of how many it is looked up together, at most.
    """
    from jax.experimental import pallas as pl

    count = ref.shape[0]
    some = rows_together(count, most)
    number = lax.broadcasted_iota(jnp.int32, (some, *shape), 0)

    def look(trip: Array, last: Array) -> Array:
        start = jnp.minimum(trip * some, count - some)
        rows = pl.ds(start, some)
        found = ref[rows] if len(ref.shape) == 1 + len(shape) else ref[rows, 0]
        return jnp.maximum(last, jnp.max(jnp.where(found != 0, start + number + 1, 0)))

    return lax.fori_loop(jnp.int32(0), jnp.int32(-(-count // some)), look, jnp.int32(0))


def wait_for_lanes() -> None:
    """In a kernel: what is written before is read after, by whatever thread of a GPU."""
    if platform() == "cuda":
        from jax.experimental.pallas import triton

        triton.debug_barrier()


def in_lanes(
    kernel: Callable[..., None],
    name: str,
    given: Sequence[Array],
    results: Sequence[jax.ShapeDtypeStruct],
    tables: Sequence[Array] = (),
    warps: int = 1,
    parts: int = 1,
    few: int = 0,
    interpret: bool = False,
) -> list[Array]:
    """Runs a Pallas kernel on as many worlds at a time as the platform's registers hold.

    Args:
      kernel: takes references to the tables, what is given, and the results; their last axis, or two, are worlds.
      name: of the kernel in the program.
      given: arrays (..., W); those of one world are shared by all.
      results: shapes of what the kernel writes, (..., W).
      tables: arrays without worlds.
      warps: of a GPU that share the work of 32 worlds; more than one must wait for each other, `wait_for_lanes`.
      parts: programs for the same worlds, each of which writes a part of the results, `pl.program_id(1)`.
      few: worlds of a program of a GPU, where those that take long should hold up fewer than 32; 0: as many.
      interpret: whether to run the kernel without compiling it, for tests.
    """
    from jax.experimental import pallas as pl  # a second to import, which programs for CPUs do not need

    lanes = (few,) if few and platform() == "cuda" else _LANES[platform()]
    worlds, width = int(np.prod(lanes)), results[0].shape[-1]
    programs = -(-width // worlds)
    whole, shared = (programs * lanes[0], *lanes[1:]), (1,) * len(lanes)

    def by_lanes(x: Array) -> Array:
        """For whole programs; a world that is not there has the numbers of the last."""
        if x.shape[-1] == 1:
            return x.reshape(*x.shape[:-1], *shared)
        more = programs * worlds - width
        padded = jnp.pad(x, [(0, 0)] * (x.ndim - 1) + [(0, more)], mode="edge") if more else x
        return padded.reshape(*x.shape[:-1], *whole)

    def spec(x: Any) -> Any:
        before, after, wide = (0,) * (len(x.shape) - 1), (0,) * (len(lanes) - 1), x.shape[-1] > 1
        block = (*x.shape[:-1], *(lanes if wide else shared))
        return pl.BlockSpec(block, lambda i, _: (*before, i if wide else 0, *after))

    table_specs: list[Any]
    if platform() == "cuda":
        from jax.experimental.pallas import triton

        params: Any = triton.CompilerParams(num_warps=warps, num_stages=1)
        table_specs = [pl.BlockSpec(x.shape, lambda i, _, n=x.ndim: (0,) * n) for x in tables]
    else:
        from jax.experimental.pallas import tpu

        held = 2 * 4 * worlds * sum(int(np.prod(x.shape[:-1])) for x in (*given, *results))
        params = tpu.CompilerParams(vmem_limit_bytes=_SCRATCH + held)
        table_specs = [pl.BlockSpec(memory_space=tpu.SMEM) for _ in tables]
    run = pl.pallas_call(
        kernel,
        out_shape=[jax.ShapeDtypeStruct((*x.shape[:-1], *whole), x.dtype) for x in results],
        grid=(programs, parts),
        in_specs=[*table_specs, *map(spec, given)],
        out_specs=[spec(x) for x in results],
        interpret=interpret,
        compiler_params=params,
        name=name,
    )
    tiled = list(map(by_lanes, given))
    # Mosaic knows no indices of 64 bits either
    plain = platform() == "tpu" and not interpret
    with jax.enable_x64(False) if plain else contextlib.nullcontext():
        found = run(*tables, *tiled)
    return [x.reshape(*x.shape[: x.ndim - len(lanes)], -1)[..., :width] for x in found]
