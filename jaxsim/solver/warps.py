"""Kernels for GPUs whose lanes are worlds: a program is a warp of 32, so that 4,096 keep all multiprocessors busy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array

__all__ = ["in_warps"]

_LANES = 32
"""Worlds of one program."""


def in_warps(
    kernel: Callable[..., None],
    name: str,
    given: Sequence[Array],
    results: Sequence[jax.ShapeDtypeStruct],
    tables: Sequence[Array] = (),
    interpret: bool = False,
) -> list[Array]:
    """Runs a Pallas kernel on 32 worlds at a time.

    Args:
      kernel: takes references to the tables, what is given, and the results.
      name: of the kernel in the program.
      given: arrays (..., W); those of one world are shared by all.
      results: shapes of what the kernel writes, (..., W).
      tables: arrays without worlds, (n,).
      interpret: whether to run the kernel without compiling it, for tests.
    """
    from jax.experimental import pallas as pl  # a second to import, and only programs for GPUs need it
    from jax.experimental.pallas import triton

    width = results[0].shape[-1]
    more = -width % _LANES

    def whole(x: Array) -> Array:
        """For whole warps; a world that is not there has the numbers of the last."""
        padding = [(0, 0)] * (x.ndim - 1) + [(0, more)]
        return jnp.pad(x, padding, mode="edge") if more and x.shape[-1] > 1 else x

    def spec(x: Any) -> Any:
        wide, rest = x.shape[-1] > 1, (0,) * (len(x.shape) - 1)
        return pl.BlockSpec(
            (*x.shape[:-1], _LANES if wide else 1), lambda i: (*rest, i) if wide else (*rest, 0)
        )

    found = pl.pallas_call(
        kernel,
        out_shape=[jax.ShapeDtypeStruct((*x.shape[:-1], width + more), x.dtype) for x in results],
        grid=((width + more) // _LANES,),
        in_specs=[*(pl.BlockSpec(x.shape, lambda i: (0,)) for x in tables), *map(spec, given)],
        out_specs=[spec(x) for x in results],
        interpret=interpret,
        compiler_params=triton.CompilerParams(num_warps=_LANES // 32, num_stages=1),
        name=name,
    )(*tables, *map(whole, given))
    return [x[..., :width] for x in found]
