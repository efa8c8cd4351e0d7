"""Primitives as loops of what is elementary, for kernels that can call no library; and what a loop carries."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import Array, lax

__all__ = ["LOOPS", "scan_sizes"]

_LONG = 1024
"""Most numbers of a sum that is no loop: from 2,049 on XLA gives it to a library."""

_VECTOR = 256
"""Numbers that such a loop adds at a time."""


def _row(x: Array, i: Array) -> Array:
    return lax.dynamic_index_in_dim(x, i, 0, keepdims=False)


def _reduced(combine: Callable[..., Array], reduce: Callable[..., Array]) -> Callable[..., Array]:
    def call(x: Array, *, axes: Sequence[int], **_: Any) -> Array:
        if x.size <= _LONG:
            return reduce(x, axes)
        rest = [i for i in range(x.ndim) if i not in axes]
        shape = [x.shape[i] for i in rest]
        numbers = int(np.prod(shape))
        rows = lax.transpose(x, (*axes, *rest)).reshape(-1, numbers)
        size = max(1, _VECTOR // max(1, numbers))
        blocks = rows[: len(rows) // size * size].reshape(-1, size, numbers)
        some = lax.fori_loop(1, len(blocks), lambda i, total: combine(total, _row(blocks, i)), blocks[0])
        return reduce(jnp.concatenate([some, rows[len(blocks) * size :]]), (0,)).reshape(shape)

    return call


def _scattered(combine: Callable[..., Array]) -> Callable[..., Array]:
    def call(x: Array, index: Array, update: Array, *, dimension_numbers: Any, mode: Any, **_: Any) -> Array:
        """One window after the other."""
        d = dimension_numbers
        several = index.shape[:-1]
        leading = [i for i in range(update.ndim) if i not in d.update_window_dims]
        sizes = [update.shape[i] for i in d.update_window_dims]
        left = iter(sizes)
        single = {*d.inserted_window_dims, *d.operand_batching_dims}
        window = [1 if i in single else next(left) for i in range(x.ndim)]
        count = int(np.prod(several))
        updates = lax.transpose(update, (*leading, *d.update_window_dims)).reshape(count, *window)
        starts: list[Any] = [np.zeros(several, np.int32)] * x.ndim
        for k, axis in enumerate(d.scatter_dims_to_operand_dims):
            starts[axis] = index[..., k].astype(np.int32)
        for axis, k in zip(d.operand_batching_dims, d.scatter_indices_batching_dims, strict=True):
            starts[axis] = lax.broadcasted_iota(np.int32, several, k)
        most = [n - size for n, size in zip(x.shape, window, strict=True)]
        places = jnp.stack([jnp.broadcast_to(s, several).reshape(count) for s in starts], -1)
        if mode == lax.GatherScatterMode.CLIP:
            places = jnp.clip(places, 0, np.array(most, np.int32))

        def put(i: Array, x: Array) -> Array:
            start = list(_row(places, i))
            old = lax.dynamic_slice(x, start, window)
            inside = functools.reduce(
                operator.and_, [(s >= 0) & (s <= n) for s, n in zip(start, most, strict=True)]
            )
            new = combine(old, _row(updates, i).astype(x.dtype))
            return lax.dynamic_update_slice(x, jnp.where(inside, new, old), start)

        return lax.fori_loop(0, count, put, x) if updates.size else x

    return call


def _dot(a: Array, b: Array, *, dimension_numbers: Any, preferred_element_type: Any, **_: Any) -> Array:
    """A sum over the contracted numbers of outer products."""
    (ka, kb), (sa, sb) = dimension_numbers
    ra, rb = ([i for i in range(x.ndim) if i not in (*k, *s)] for x, k, s in ((a, ka, sa), (b, kb, sb)))
    shared, rows, columns = [a.shape[i] for i in sa], [a.shape[i] for i in ra], [b.shape[i] for i in rb]
    n = int(np.prod([a.shape[i] for i in ka]))
    dtype = preferred_element_type or jnp.result_type(a, b)
    left = lax.transpose(a, (*ka, *sa, *ra)).reshape(n, *shared, *rows, *[1] * len(rb)).astype(dtype)
    right = lax.transpose(b, (*kb, *sb, *rb)).reshape(n, *shared, *[1] * len(ra), *columns).astype(dtype)
    total = jnp.zeros((*shared, *rows, *columns), dtype)
    if n * total.size <= _LONG:
        return jnp.sum(left * right, axis=0)
    return lax.fori_loop(0, n, lambda i, total: total + _row(left, i) * _row(right, i), total)


def _cholesky(A: Array, **_: Any) -> Array:
    """Column by column; not a number where a pivot is negative."""
    n = A.shape[-1]

    def column(k: Array, carry: tuple[Array, Array]) -> tuple[Array, Array]:
        rest, L = carry
        own = lax.dynamic_index_in_dim(rest, k, -1, keepdims=False)
        pivot = lax.dynamic_index_in_dim(own, k, -1)
        own = jnp.where(jnp.arange(n) >= k, own / jnp.sqrt(pivot), 0)
        return rest - own[..., :, None] * own[..., None, :], lax.dynamic_update_index_in_dim(L, own, k, -1)

    return lax.fori_loop(0, n, column, (A, jnp.zeros_like(A)))[1]


def _triangular(A: Array, b: Array, **p: Any) -> Array:
    """Row by row."""
    A, b = (A, b) if p["left_side"] else (jnp.swapaxes(A, -1, -2), jnp.swapaxes(b, -1, -2))
    A = jnp.swapaxes(A, -1, -2) if p["transpose_a"] else A
    down = p["lower"] == (p["transpose_a"] == (not p["left_side"]))
    n = A.shape[-1]

    def row(count: Array, x: Array) -> Array:
        k = count if down else n - 1 - count
        own = lax.dynamic_index_in_dim(A, k, -2, keepdims=False)
        rest = lax.dynamic_index_in_dim(b, k, -2, keepdims=False) - _reduce_rows(own[..., None] * x)
        pivot = 1 if p["unit_diagonal"] else lax.dynamic_index_in_dim(own, k, -1)
        return lax.dynamic_update_index_in_dim(x, rest / pivot, k, -2)

    x = lax.fori_loop(0, n, row, jnp.zeros_like(b))
    return x if p["left_side"] else jnp.swapaxes(x, -1, -2)


def _reduce_rows(x: Array) -> Array:
    return LOOPS["reduce_sum"](x, axes=(x.ndim - 2,))


LOOPS: dict[str, Callable[..., Array]] = {
    "cholesky": _cholesky,
    "dot_general": _dot,
    "reduce_and": _reduced(operator.and_, lax.reduce_and),
    "reduce_max": _reduced(jnp.maximum, lax.reduce_max),
    "reduce_min": _reduced(jnp.minimum, lax.reduce_min),
    "reduce_or": _reduced(operator.or_, lax.reduce_or),
    "reduce_prod": _reduced(operator.mul, lax.reduce_prod),
    "reduce_sum": _reduced(operator.add, lax.reduce_sum),
    "scatter": _scattered(lambda old, new: new),
    "scatter-add": _scattered(operator.add),
    "scatter-max": _scattered(jnp.maximum),
    "scatter-min": _scattered(jnp.minimum),
    "scatter-mul": _scattered(operator.mul),
    "triangular_solve": _triangular,
}
"""Primitives of one result that become loops."""


def scan_sizes(params: dict[str, Any]) -> tuple[int, int]:
    """How many constants a `scan` of these parameters has, and how many arrays it carries."""
    if "ft_in" in params:  # from jax 0.11.2 on
        consts, carried = (len(list(part)) for part in params["ft_in"].unpack()[:2])
        return consts, carried
    return params["num_consts"], params["num_carry"]
