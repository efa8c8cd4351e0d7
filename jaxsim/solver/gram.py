"""What rows add to the Hessian, `J^T C J`, summed by patches of the matrix. Native layout."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from jaxsim.math.axis import concat, take
from jaxsim.math.gather import widen, width_of
from jaxsim.math.in_use import block_of, each_block
from jaxsim.math.stage import platform, stage
from jaxsim.solver.blocks import block_size
from jaxsim.solver.curvature import (
    Curvature,
    Entries,
    Numbers,
    by_rows,
    curvature_of,
    entries_of,
    weighted_rows,
)
from jaxsim.solver.gram_kernel import gram_in_kernel
from jaxsim.structure.sparsity import Patch, TreeStructure, patches_of

__all__ = ["Factors", "gram_of"]

_TERMS = 32
"""Products summed in one kernel: more take longer to compile than they save in memory traffic."""


class Factors(NamedTuple):
    """What rows add to the Hessian, `J^T C J`.

    Attributes:
      J: `(n, dim, nv, W)`.
      C: the curvature, dim by dim.
      used: as of `ContactJacobian`.
    """

    J: Array
    C: Curvature
    used: Array | None = None


def gram_of(factors: Sequence[Factors], structure: TreeStructure) -> Array:
    """Entries of the sum of `J^T C J`."""
    count = sum(own.J.shape[0] * own.J.shape[1] for own in factors)
    if platform() == "cuda" and width_of(factors) > 1 and count > _TERMS:
        return gram_in_kernel([(own.J, own.C) for own in factors])[structure.rows, structure.cols]
    if platform() != "cpu":
        total = functools.reduce(jnp.add, [_square(*by_rows(own.J, own.C)) for own in factors])
        return total[structure.rows, structure.cols]
    whole = [by_rows(own.J, own.C) for own in factors if own.used is None]
    patches = patches_of(structure)
    totals = _sums(whole, patches) if whole else _no_sums(factors[0].J.dtype, patches)
    for own in factors:
        if own.used is not None:
            totals = _more_sums(own, totals, patches)
    flat = concat([total.reshape(-1, total.shape[-1]) for total in totals])
    return take(flat, _in_patches(patches, structure.n)[structure.rows, structure.cols])


def _no_sums(dtype: Any, patches: tuple[Patch, ...]) -> list[Array]:
    """What sums begin with where no rows are always in use."""
    return [jnp.zeros((bottom - top, right - left, 1), dtype) for top, bottom, left, right in patches]


def _more_sums(own: Factors, totals: list[Array], patches: tuple[Patch, ...]) -> list[Array]:
    """The sums so far of some patches, and those of the contacts that are in use."""
    assert own.used is not None
    dim = own.J.shape[1]
    size, flat = block_size(dim), own.J.reshape(-1, *own.J.shape[2:])
    numbers, entries = entries_of(own.C)

    def add(start: Array, sums: list[Array]) -> list[Array]:
        # cut out before: what computes as it cuts is not vectorised
        block = flat, _weighted(*block_of((numbers, own.J), start, size), entries=entries)
        starts = start * dim, jnp.int32(0)
        return _outer_products([block], sums, [starts], terms=(size * dim,), patches=patches)

    width = width_of((own, totals))
    return each_block(own.used, size, add, [widen(total, width) for total in totals])


@stage
def _weighted(numbers: Numbers, J: Array, *, entries: Entries) -> Array:
    """C J of contacts, `(n dim, nv, W)`."""
    return weighted_rows(curvature_of(numbers, entries, J.shape[1]), J)


def _sums(rows: list[tuple[Array, Array]], patches: tuple[Patch, ...]) -> list[Array]:
    """Patches of the sum of the products of all rows of J and C J."""
    count = sum(len(J) for J, _ in rows)
    trips, terms = zip(*(_loop(len(J), count) for J, _ in rows), strict=True)
    heads = tuple(len(J) - k * t for (J, _), k, t in zip(rows, trips, terms, strict=True))
    none = (jnp.int32(0), jnp.int32(0))
    totals = _outer_products(rows, [], [none] * len(rows), terms=heads, patches=patches)
    for pair, head, trip, size in zip(rows, heads, trips, terms, strict=True):

        def more(
            k: Array, sums: list[Array], pair: Any = pair, head: int = head, size: int = size
        ) -> list[Array]:
            start = head + k * size
            return _outer_products([pair], sums, [(start, start)], terms=(size,), patches=patches)

        if trip:  # a loop, so that many rows take no longer to compile than few
            totals = lax.fori_loop(0, trip, more, totals)
    return totals


def _square(J: Array, CJ: Array) -> Array:
    """`J^T (C J)`; of many rows a reduction, one kernel, where sums that are written out would be split."""
    if len(J) > _TERMS or platform() == "tpu":
        return jnp.sum(CJ[:, :, None] * J[:, None], axis=0)
    return functools.reduce(jnp.add, [CJ[k, :, None] * J[k, None] for k in range(len(J))])


def _loop(rows: int, all_rows: int) -> tuple[int, int]:
    """How many kernels of how many rows each follow a first one, which has the others."""
    if all_rows <= _TERMS + _TERMS // 2:
        return 0, 0
    kernels = -(-rows // _TERMS)
    return kernels - 1, -(-rows // kernels)


@stage
def _outer_products(
    factors: list[tuple[Array, Array]],
    totals: list[Array],
    starts: list[tuple[Array, Array]],
    *,
    terms: tuple[int, ...],
    patches: tuple[Patch, ...],
) -> list[Array]:
    """The sums so far of some patches, and more terms, of rows of J and C J, `(k, nv, W)`, from some rows on.

    Whole arrays go in, so that slices of them are not copied.
    """
    parts = [
        tuple(block_of(x, start, count) for x, start in zip(pair, own, strict=True))
        for pair, own, count in zip(factors, starts, terms, strict=True)
    ]
    found = []
    for p, (top, bottom, left, right) in enumerate(patches):
        products = [
            CJ[k, top:bottom, None] * J[k, None, left:right] for J, CJ in parts for k in range(len(J))
        ]
        found.append(functools.reduce(jnp.add, totals[p : p + 1] + products))
    return found


@functools.lru_cache(maxsize=256)
def _in_patches(patches: tuple[Patch, ...], n: int) -> np.ndarray:
    """Where each element of the matrix is among those of the patches, `(n, n)`; -1: in none."""
    places, end = np.full((n, n), -1), 0
    for top, bottom, left, right in patches:
        area = (bottom - top) * (right - left)
        places[top:bottom, left:right] = (end + np.arange(area)).reshape(bottom - top, right - left)
        end += area
    return places
