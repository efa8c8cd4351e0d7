"""Operations along the first axis with a pattern known at compile time: picking rows, adding rows, masked sums.

Picking is a gather whose transpose is a gather again wherever possible: XLA's scatter is slow on CPUs.
"""

from __future__ import annotations

from collections.abc import Sequence

import jax.numpy as jnp
import numpy as np
from jax import Array, lax
from jax.custom_derivatives import linear_call

__all__ = ["add_rows", "concat", "mask_product", "take"]

_DENSE_FROM = 5
"""A row picked at least this often is summed by a matrix product in the transpose, else by repeated picking."""


def take(x: Array, index: np.ndarray) -> Array:
    """Rows `x[index]` of (n, ..., W) for a constant index (m,), as (m, ..., W)."""
    index = np.asarray(index, np.int32)
    m, n = len(index), x.shape[0]
    if m == 0:
        return lax.slice_in_dim(x, 0, 0)
    if np.array_equal(index, np.arange(index[0], index[0] + m)):
        return x if m == n else lax.slice_in_dim(x, int(index[0]), int(index[0]) + m)
    if (index == index[0]).all():
        row = lax.index_in_dim(x, int(index[0]), 0, keepdims=True)
        return jnp.broadcast_to(row, (m, *x.shape[1:]))
    if not jnp.issubdtype(x.dtype, jnp.inexact):
        return _pick(x, index)
    return linear_call(lambda _, rows: _pick(rows, index), lambda _, y: _add(y, index, n), (), x)


def add_rows(x: Array, index: np.ndarray, n: int) -> Array:
    """Sums the rows of x (m, ..., W) into n rows: row i goes to `index[i]`. The transpose of `take`."""
    index = np.asarray(index, np.int32)
    if len(index) == n and np.array_equal(index, np.arange(n)):
        return x
    if n == 0 or len(index) == 0:
        return jnp.zeros((n, *x.shape[1:]), x.dtype)
    return linear_call(lambda _, rows: _add(rows, index, n), lambda _, y: _pick(y, index), (), x)


def _pick(x: Array, index: np.ndarray) -> Array:
    dims = lax.GatherDimensionNumbers(
        offset_dims=tuple(range(1, x.ndim)), collapsed_slice_dims=(0,), start_index_map=(0,)
    )
    return lax.gather(
        x,
        jnp.asarray(np.asarray(index, np.int32)[:, None]),
        dims,
        (1, *x.shape[1:]),
        mode=lax.GatherScatterMode.PROMISE_IN_BOUNDS,
    )


def _add(y: Array, index: np.ndarray, n: int) -> Array:
    sources: list[list[int]] = [[] for _ in range(n)]
    for i, target in enumerate(index):
        sources[target].append(i)
    most = max(len(s) for s in sources)
    if most >= _DENSE_FROM:
        mask = np.zeros((n, len(index)))
        mask[index, np.arange(len(index))] = 1
        return mask_product(mask, y)
    padded = jnp.concatenate([y, jnp.zeros((1, *y.shape[1:]), y.dtype)])
    total = None
    for k in range(most):
        picked = _pick(padded, np.array([s[k] if len(s) > k else len(index) for s in sources]))
        total = picked if total is None else total + picked
    assert total is not None
    return total


def mask_product(mask: np.ndarray, x: Array) -> Array:
    """`mask @ x` over the first axis: a constant (m, n) matrix times x (n, ..., W), as one matrix product."""
    m, n = mask.shape
    if m == 0 or n == 0:
        return jnp.zeros((m, *x.shape[1:]), x.dtype)
    flat = lax.dot(jnp.asarray(mask, x.dtype), x.reshape(n, -1), precision=lax.Precision.HIGHEST)
    return flat.reshape(m, *x.shape[1:])


def concat(parts: Sequence[Array], axis: int = 0) -> Array:
    """Concatenates arrays whose world widths are equal or 1."""
    if len(parts) == 1:
        return parts[0]
    width = max(p.shape[-1] for p in parts)
    return jnp.concatenate(
        [p if p.shape[-1] == width else jnp.broadcast_to(p, (*p.shape[:-1], width)) for p in parts], axis=axis
    )
