"""Operations along one axis with a pattern known at compile time: picking rows, adding rows, splitting, masked sums.

Picking is a gather whose transpose is again a sum of gathers: XLA's scatter is slow on CPUs.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Sequence
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from jaxsim.math.linear import linear
from jaxsim.math.one_kernel import LANE
from jaxsim.math.stage import platform, stage

__all__ = [
    "add_rows",
    "any_row",
    "components",
    "concat",
    "contract",
    "mask_product",
    "replace_rows",
    "split",
    "stack",
    "stitch",
    "sum_rows",
    "take",
    "take_blocks",
]

_FUSED = 8
"""Most operands of a concatenation into which XLA for CPU fuses what computes them."""

_CONTRACTED = 32
"""Most terms of a contraction that programs for CPUs compute in one kernel."""

_WRITTEN_OUT = 256
"""Most terms of a sum that programs for accelerators compute in one kernel."""

_LARGE = 1 << 12
"""Entries of a matrix from which blocks on its diagonal are looked for."""

_SPARSE = 3
"""How many times fewer entries the blocks must have."""

_DENSE_FROM = 5
"""A row picked at least this often is summed by a matrix product in the transpose, else by repeated picking."""


def take(x: Array, index: np.ndarray) -> Array:
    """Rows `x[index]` of (n, ..., W) for a constant index (m,), as (m, ..., W)."""
    index = np.asarray(index, np.int32)
    m, n = len(index), x.shape[0]
    if m == 0:
        return lax.slice_in_dim(x, 0, 0)
    if m == n and np.array_equal(index, np.arange(n)):
        return x
    if not jnp.issubdtype(x.dtype, jnp.inexact):
        return _pick(x, index=index)
    return _take(x, index=tuple(index.tolist()))


def stitch(parts: Sequence[Array], rows: Sequence[np.ndarray]) -> Array:
    """The parts, (m, ..., W) each, as one array (n, ..., W): their rows go where `rows`, a permutation of n, says."""
    return take(concat(parts), np.argsort(np.concatenate(rows)))


def take_blocks(x: Array, start: np.ndarray, size: int) -> Array:
    """Consecutive rows of x (n, W) from constant starts (m,) on, as (m, size, W)."""
    index = start[:, None] + np.arange(size)
    return take(x, index.reshape(-1)).reshape(len(start), size, x.shape[-1])


def replace_rows(x: Array, index: np.ndarray, rows: Array) -> Array:
    """Copy of x (n, ..., W) whose rows `index` (m,) are `rows` (m, ..., W)."""
    where = np.arange(x.shape[0])
    where[index] = x.shape[0] + np.arange(len(index))
    return take(concat([x, rows]), where)


def add_rows(x: Array, index: np.ndarray, n: int) -> Array:
    """Sums the rows of x (m, ..., W) into n rows: row i goes to `index[i]`. The transpose of `take`."""
    index = np.asarray(index, np.int32)
    if len(index) == n and np.array_equal(index, np.arange(n)):
        return x
    if n == 0 or len(index) == 0:
        return jnp.zeros((n, *x.shape[1:]), x.dtype)
    return _add_rows(x, index=tuple(index.tolist()), n=n)


def _pick(x: Array, index: Sequence[int] | np.ndarray) -> Array:
    index = np.asarray(index, np.int32)
    if np.array_equal(index, np.arange(index[0], index[0] + len(index))):
        return lax.slice_in_dim(x, int(index[0]), int(index[0]) + len(index))
    if (index == index[0]).all():
        return jnp.broadcast_to(lax.index_in_dim(x, int(index[0]), 0), (len(index), *x.shape[1:]))
    dims = lax.GatherDimensionNumbers(
        offset_dims=tuple(range(1, x.ndim)), collapsed_slice_dims=(0,), start_index_map=(0,)
    )
    mode = lax.GatherScatterMode.PROMISE_IN_BOUNDS
    return lax.gather(x, jnp.asarray(index[:, None]), dims, (1, *x.shape[1:]), mode=mode)


def _add(y: Array, index: Sequence[int], n: int) -> Array:
    sources: list[list[int]] = [[] for _ in range(n)]
    for i, target in enumerate(index):
        sources[target].append(i)
    most = max(len(s) for s in sources)
    # of numbers that all worlds share XLA for TPUs would make a choice of each row, with a table of its own
    if most >= _DENSE_FROM or (platform() == "tpu" and y.shape[-1] == 1):
        mask = np.zeros((n, len(index)))
        mask[list(index), np.arange(len(index))] = 1
        return mask_product(mask, y)
    padded = jnp.concatenate([y, jnp.zeros((1, *y.shape[1:]), y.dtype)])
    total: Any = 0
    for k in range(most):
        total = total + _pick(padded, [s[k] if len(s) > k else len(index) for s in sources])
    return total


_take = linear("take_rows", _pick, lambda ct, shape, index: add_rows(ct, np.array(index), shape[0]))
_add_rows = linear("add_rows", _add, lambda ct, shape, index, n: take(ct, np.array(index)))


def split(x: Array, sizes: Sequence[int], axis: int = 0) -> list[Array]:
    """Consecutive pieces of x along an axis; their sizes add up to its length."""
    if len(sizes) == 1:
        return [x]
    return _split(x, sizes=tuple(int(s) for s in sizes), axis=axis % x.ndim)


def _pieces(x: Array, sizes: Sequence[int], axis: int) -> list[Array]:
    ends = np.cumsum([0, *sizes]).tolist()
    return [lax.slice_in_dim(x, a, b, axis=axis) for a, b in itertools.pairwise(ends)]


_split = linear(
    "split_axis",
    _pieces,
    lambda cts, shape, sizes, axis: jnp.concatenate(cts, axis=axis),
    multiple_results=True,
)


def components(x: Array, axis: int = -2) -> list[Array]:
    """The n entries along an axis as n arrays without it; by default of vectors (..., n, W)."""
    return _components(x, axis=axis % x.ndim)


_components = linear(
    "components",
    lambda x, axis: [lax.index_in_dim(x, i, axis, keepdims=False) for i in range(x.shape[axis])],
    lambda cts, shape, axis: jnp.stack(cts, axis=axis) if axis != len(shape) - 2 else _stacked(cts),
    multiple_results=True,
)


def mask_product(mask: np.ndarray, x: Array) -> Array:
    """`mask @ x` over the first axis: a constant (m, n) matrix times x (n, ..., W), as one matrix product.

    On a CPU a large matrix of many trees, nearly all zero, is a product for each of a few runs of equal blocks.
    """
    m, n = mask.shape
    if m == 0 or n == 0:
        return jnp.zeros((m, *x.shape[1:]), x.dtype)
    if platform() == LANE:  # of numbers one by one, of which most are zero
        return jnp.tensordot(jnp.asarray(mask, x.dtype), x, 1)
    flat = x.reshape(n, -1)
    runs = [_Run(1, slice(0, m), slice(0, n))]
    if platform() == "cpu" and mask.size >= _LARGE:
        runs = _runs(mask.shape, mask.tobytes(), mask.dtype.str) or runs
    parts = [_run_product(mask, run, flat) for run in runs]
    return concat(parts).reshape(m, *x.shape[1:])


class _Run(NamedTuple):
    """Blocks of a matrix that are equal, one after the other, and the rows and columns of the first."""

    blocks: int
    rows: slice
    columns: slice

    @property
    def stop(self) -> int:
        """The column after the last block."""
        return self.columns.start + self.blocks * (self.columns.stop - self.columns.start)

    def block(self, mask: np.ndarray) -> np.ndarray:
        """What they all are."""
        return mask[self.rows, self.columns]


def _run_product(mask: np.ndarray, run: _Run, x: Array) -> Array:
    """What the rows of a run make of x (n, k)."""
    block, count = run.block(mask), run.blocks
    high, wide = block.shape
    if wide == 0:
        return jnp.zeros((count * high, x.shape[1]), x.dtype)
    own = lax.slice_in_dim(x, run.columns.start, run.stop)
    if count == 1:
        return lax.dot(jnp.asarray(block, x.dtype), own, precision=lax.Precision.HIGHEST)
    blocks = jnp.broadcast_to(jnp.asarray(block, x.dtype), (count, high, wide))
    product = jnp.matmul(blocks, own.reshape(count, wide, -1), precision=lax.Precision.HIGHEST)
    return product.reshape(count * high, -1)


@functools.lru_cache(maxsize=256)
def _runs(shape: tuple[int, int], entries: bytes, dtype: str) -> list[_Run] | None:
    """The runs that make up a matrix; None: it is one, or they are not worth it."""
    mask = np.frombuffer(entries, dtype).reshape(shape) != 0
    some = mask.any(axis=1)
    starts = np.where(some, mask.argmax(axis=1), 0)
    stops = np.where(some, shape[1] - mask[:, ::-1].argmax(axis=1), 0)
    # rows that share columns make a block, with rows of zeros before them; one that has most columns is alone
    blocks: list[tuple[int, int, int]] = []
    for i, (start, stop) in enumerate(zip(starts.tolist(), stops.tolist(), strict=True)):
        row, low, high = blocks[-1] if blocks else (0, 0, 0)
        wide = 2 * max(high - low, stop - start) > shape[1]
        if blocks and (low == high or (not wide and start < high and low < stop)):
            blocks[-1] = (row, start, stop) if low == high else (row, min(low, start), max(high, stop))
        else:
            blocks.append((i, start, stop))
    ends = [row for row, _, _ in blocks[1:]] + [shape[0]]
    nexts = [low for _, low, _ in blocks[1:]] + [shape[1]]
    blocks = [(row, low, max(high, after)) for (row, low, high), after in zip(blocks, nexts, strict=True)]
    runs: list[_Run] = []
    area = 0
    for (row, low, high), end in zip(blocks, ends, strict=True):
        area += (end - row) * (high - low)
        own = _Run(1, slice(row, end), slice(low, high))
        if runs and low == runs[-1].stop and np.array_equal(runs[-1].block(mask), own.block(mask)):
            runs[-1] = runs[-1]._replace(blocks=runs[-1].blocks + 1)
        else:
            runs.append(own)
    return runs if _SPARSE * area < mask.size and len(runs) <= _FUSED else None


def contract(a: Array, b: Array) -> Array:
    """Sum over the first axes of `a (n, ..., W)` and `b (n, ..., W)`, as one elementwise kernel.

    Of many terms partial sums come first on a CPU: a kernel that reads from a hundred places at once misses its caches.
    """
    n = a.shape[0]
    if platform() == "tpu" or (platform() != "cpu" and n > _WRITTEN_OUT):
        return jnp.sum(a * b, axis=0)
    size = 1 if platform() != "cpu" or n <= _CONTRACTED else -(-2 * n // _CONTRACTED)
    whole = n // size * size
    total = a[:size] * b[:size]
    for i in range(size, whole, size):
        total = total + a[i : i + size] * b[i : i + size]
    if size == 1:
        return total[0]
    return _summed(total if whole == n else jnp.concatenate([total, a[whole:] * b[whole:]]))


def sum_rows(x: Array) -> Array:
    """Sum over the first axis of (n, ..., W), written out.

    XLA for CPU neither vectorises a reduction over another axis than the last nor fuses one with what it sums. Here the
    first `_FUSED` terms of each sum are fused, which leaves few rows to read again: half the time at 180 rows.
    """
    n = x.shape[0]
    size = -(-n // _FUSED)
    if x.shape[-1] == 1 or n == 0 or platform() == "tpu":
        return jnp.sum(x, axis=0)
    if n < 2 * _FUSED or (platform() != "cpu" and n <= _WRITTEN_OUT):
        return _added(x)
    whole = n // size * size
    total = x[:size]
    for i in range(size, whole, size):
        total = total + x[i : i + size]
    rest = total if whole == n else jnp.concatenate([total, x[whole:]])
    return _rest(rest) if len(rest) <= _CONTRACTED else _summed(rest)


def any_row(x: Array) -> Array:
    """Whether any along the first axis of (n, ..., W) is true; see `sum_rows`."""
    return sum_rows(x.astype(jnp.int32)) > 0 if platform() == "cpu" else jnp.any(x, axis=0)


def _added(x: Array) -> Array:
    """A sum written out; rows keep their axis: XLA would move a reshape of each through all that follows."""
    total = x[:1]
    for i in range(1, x.shape[0]):
        total = total + x[i : i + 1]
    return total[0]


_rest = stage(_added)
_summed = stage(sum_rows)


def stack(parts: Sequence[Array]) -> Array:
    """Numbers (..., W) as vectors (..., n, W), by one kernel: many numbers are stacked in groups, then the groups."""
    parts = list(jnp.broadcast_arrays(*parts))  # a tuple from jax 0.11 on
    n = len(parts)
    groups = -(-n // _FUSED)
    if groups == 1:
        return jnp.stack(parts, -2)
    size = -(-n // groups)
    parts += [parts[-1]] * (groups * size - n)
    grouped = jnp.stack([jnp.stack(parts[i : i + size], -2) for i in range(0, len(parts), size)], -3)
    flat = grouped.reshape(*grouped.shape[:-3], groups * size, grouped.shape[-1])
    return lax.slice_in_dim(flat, 0, n, axis=flat.ndim - 2) if groups * size > n else flat


def _stacked(parts: Sequence[Array]) -> Array:
    """`stack`; of many parts each is computed before, as XLA for CPU is slow with what it fuses into a long one."""
    return stack(parts) if len(parts) <= _FUSED else stage(stack)(parts)


def concat(parts: Sequence[Array], axis: int = 0) -> Array:
    """Concatenates arrays whose world widths are equal or 1."""
    if len(parts) == 1:
        return parts[0]
    width = max(p.shape[-1] for p in parts)
    return jnp.concatenate(
        [p if p.shape[-1] == width else jnp.broadcast_to(p, (*p.shape[:-1], width)) for p in parts], axis=axis
    )
