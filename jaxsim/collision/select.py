"""Picking a few of many for each world, in a fixed order, without scatter or sorting."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from jaxsim.math.axis import concat
from jaxsim.math.gather import rows_by_world
from jaxsim.math.in_use import each_block
from jaxsim.math.some import in_some_worlds
from jaxsim.math.stage import platform, stage

__all__ = ["pick_first", "pick_least", "pick_nearest", "rank"]

_WORD = 32
"""Rows whose activity is kept in one word: what is counted and searched is that much shorter."""

_SLOTS = 32
"""Slots that a CPU fills together: after those that are filled in some world it stops."""

_T = TypeVar("_T")

_COMPARISONS = 1 << 28
"""Comparisons up to which an accelerator compares each row with each: one kernel instead of 160 in turn."""


def pick_least(key: Array, *, slots: int) -> tuple[Array, Array, Array]:
    """Chooses up to `slots` rows whose key is not positive, in row order; if there are more, those of least key.

    Args:
      key: (n, W), not differentiated.
      slots: number of rows to choose.

    Returns:
      rows (slots, W), whether a slot is filled (slots, W), whether rows were left out (W,).
    """
    key = lax.stop_gradient(key)
    return _picked(_pack(key), len(key), lambda key: key, key, slots)


def pick_nearest(
    numbers: Sequence[np.ndarray],
    marks: Sequence[Array],
    keys: Callable[[_T], Sequence[Array]],
    tables: _T,
    *,
    slots: int,
) -> tuple[Array, Array, Array]:
    """The same of rows in parts, whose keys are only computed in worlds that have more than `slots`.

    Args:
      numbers: of the rows, (n,) for each part.
      marks: of which rows the key is not positive, (n, W) each.
      keys: a function of the tables, gives the keys (n, W) of each part.
      tables: a tree of arrays (..., 1 or W), not differentiated.
      slots: number of rows to choose.

    Returns:
      as `pick_least`, with the rows' numbers.
    """

    def key(tables: _T) -> Array:
        return concat([_whole(x, 1.0) for x in keys(tables)])

    number = np.concatenate([np.pad(x, (0, -len(x) % _WORD)) for x in numbers])
    words = concat([_marked(x) for x in marks])
    rows, filled, overflow = _picked(words, len(number), key, lax.stop_gradient(tables), slots)
    return rows_by_world(jnp.asarray(number)[:, None], rows), filled, overflow


def _picked(
    words: Array, n: int, key: Callable[[Any], Array], tables: Any, slots: int
) -> tuple[Array, Array, Array]:
    """See `pick_least`; of n rows, from the bits of those with a key that is not positive."""
    overflow = _total(words) > slots
    if slots < n:
        words = in_some_worlds(lambda tables, _: _least(key(tables), slots), overflow, tables, words)
    rows, filled = _unpack(words, slots=slots)
    return jnp.minimum(rows, n - 1), filled, overflow


@stage
def pick_first(active: Array, *, slots: int) -> tuple[Array, Array, Array]:
    """Chooses the first `slots` of the active rows (n, W); the results are those of `pick_least`."""
    words = _words(active)
    rows, filled = _unpack(words, slots=slots)
    return jnp.minimum(rows, active.shape[0] - 1), filled, _total(words) > slots


@stage
def rank(active: Array) -> Array:
    """How many of the active rows (n, W) come before each row, (n, W)."""
    words = _words(active)
    before = _sums_before(lax.population_count(words).astype(jnp.int32))
    number = np.arange(active.shape[0])
    below = ((1 << (number % _WORD)) - 1).astype(np.uint32)
    own = lax.population_count(words[number // _WORD] & below[:, None]).astype(jnp.int32)
    return before[number // _WORD] + own


@stage
def _pack(key: Array) -> Array:
    """Bits of the rows with a key that is not positive, 32 of them a word: (words, W)."""
    return _words(key <= 0)


@stage
def _marked(active: Array) -> Array:
    """The same of rows that are marked."""
    return _words(active)


def _words(active: Array) -> Array:
    n, width = active.shape
    active = _whole(active, False).reshape(-1, _WORD, width)
    # the axis of the bits stays: XLA would move a reshape past one bit in each round of its simplifications
    bits = [active[:, k : k + 1].astype(jnp.uint32) << k for k in range(min(_WORD, n))]
    return functools.reduce(jnp.bitwise_or, bits)[:, 0]


def _whole(x: Array, fill: float) -> Array:
    """Filled up to a multiple of `_WORD` rows."""
    missing = -len(x) % _WORD
    return jnp.pad(x, ((0, missing), (0, 0)), constant_values=fill) if missing else x


def _total(words: Array) -> Array:
    return jnp.sum(lax.population_count(words), axis=0, dtype=jnp.int32)


@stage
def _unpack(words: Array, *, slots: int) -> tuple[Array, Array]:
    """The rows of the first `slots` bits that are set, and whether there are so many; (slots, W)."""
    n, width = words.shape
    before = _sums_before(lax.population_count(words).astype(jnp.int32))

    def place(want: Array) -> Array:
        """Row of the `want`-th bit."""
        if n == 1:
            return _nth_bit(jnp.broadcast_to(words, want.shape), want)
        index = _last_not_above(before[:-1], want)
        skip = want - rows_by_world(before, index)
        return _WORD * index + _nth_bit(rows_by_world(words, index), skip)

    def more(start: Array, places: Array) -> Array:
        """Of some slots more."""
        return lax.dynamic_update_slice_in_dim(places, place(want[:_SLOTS] + start), start, 0)

    want = jnp.broadcast_to(jnp.arange(slots, dtype=jnp.int32)[:, None], (slots, width))
    if platform() != "cpu" or slots <= 2 * _SLOTS:
        return place(want), want < before[-1:]
    places = jnp.zeros((-(-slots // _SLOTS) * _SLOTS, width), jnp.int32)
    return each_block(jnp.minimum(before[-1], slots), _SLOTS, more, places)[:slots], want < before[-1:]


def _sums_before(count: Array) -> Array:
    """Sums of the rows before each row of integers (n, W), and of all, (n + 1, W).

    Rows are added in groups, then the groups before: two kernels, each row of which reads a few.
    """
    n = count.shape[0]
    size = max(1, math.isqrt(n))
    groups = -(-n // size)
    parts = jnp.pad(count, ((0, groups * size - n), (0, 0))).reshape(groups, size, -1)
    inside = _running(parts, axis=1)
    if groups == 1:
        return inside[0]
    before = _running(inside[:, -1], axis=0)
    sums = inside[:, :-1] + before[:-1, None]
    return jnp.concatenate([sums.reshape(groups * size, -1)[:n], before[-1:]])


def _running(x: Array, axis: int) -> Array:
    """Sums of those before each along an axis, and of all, written out."""
    total = jnp.zeros_like(lax.index_in_dim(x, 0, axis))
    sums = [total]
    for k in range(x.shape[axis]):
        total = total + lax.index_in_dim(x, k, axis)
        sums.append(total)
    return jnp.concatenate(sums, axis)


def _last_not_above(ascending: Array, want: Array) -> Array:
    """The last row of (n, W), which ascends from 0, that is not above `want` (slots, W): a binary search."""
    n = ascending.shape[0]
    low = jnp.zeros_like(want)
    step = 1 << (n - 1).bit_length()
    while step > 1:
        step //= 2
        probe = jnp.minimum(low + step, n - 1)
        low = jnp.where(rows_by_world(ascending, probe) <= want, probe, low)
    return low


def _nth_bit(bits: Array, n: Array) -> Array:
    """Place of the n-th bit that is set, from 0, by halving the word."""
    place = jnp.zeros_like(n)
    half = _WORD // 2
    while half:
        low = bits & np.uint32((1 << half) - 1)
        count = lax.population_count(low).astype(jnp.int32)
        beyond = n >= count
        n = jnp.where(beyond, n - count, n)
        bits = jnp.where(beyond, bits >> half, low)
        place = jnp.where(beyond, place + half, place)
        half //= 2
    return place


def _least(key: Array, slots: int) -> Array:
    """Bits of the `slots` rows of least key among those not above zero; of equal keys the first. In float32."""
    key = lax.stop_gradient(key).astype(jnp.float32)
    # integers in the order of the keys that are not positive; all others come last
    order = ~lax.bitcast_convert_type(jnp.where(key < 0, key, -0.0), jnp.uint32)
    order = jnp.where(key <= 0, order, _LAST)
    if platform() != "cpu" and key.shape[0] * key.size <= _COMPARISONS:
        return _least_by_rank(order, slots)
    return _least_by_bound(order, slots)


def _least_by_rank(order: Array, slots: int) -> Array:
    """Of integers (n, W) the rows that fewer than `slots` come before, as bits."""
    mine, its = order[:, None], order[None]
    earlier = np.tri(len(order), k=-1, dtype=bool)[..., None]
    rank = jnp.sum((its < mine) | ((its == mine) & earlier), axis=1, dtype=jnp.int32)
    return _words((rank < slots) & (order < _LAST))


def _least_by_bound(order: Array, slots: int) -> Array:
    """The same rows.

    The integer of the last row to stay is found bit by bit, from the highest: counting rows below a bound takes less
    time than sorting them.
    """

    def narrow(i: Array, bound: Array) -> Array:
        higher = bound | (jnp.uint32(1) << (31 - i).astype(jnp.uint32))
        below = jnp.sum(order < higher, axis=0, dtype=jnp.int32)
        return jnp.where(below < slots, higher, bound)

    bound = lax.fori_loop(0, 32, narrow, jnp.zeros(order.shape[1], jnp.uint32))
    kept = _words(order < bound)
    tied = _words((order == bound) & (order < _LAST))
    room = slots - _total(kept)
    return kept | _first_bits(tied, room)


_LAST = np.uint32(0xFFFFFFFF)


def _first_bits(words: Array, count: Array) -> Array:
    """The first `count` (W,) of the bits that are set."""
    bits = lax.population_count(words).astype(jnp.int32)
    room = count - _sums_before(bits)[:-1]
    place = jnp.where(room < bits, _nth_bit(words, jnp.maximum(room, 0)), _WORD)
    below = jnp.where(place < _WORD, (jnp.uint32(1) << jnp.minimum(place, 31).astype(jnp.uint32)) - 1, _LAST)
    return jnp.where(room > 0, words & below, 0)
