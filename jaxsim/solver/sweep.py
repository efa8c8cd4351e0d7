"""Gauss-Seidel sweeps over blocks of constraint rows: each block of forces is set to its best for those of all others.

Native layout. The dual problem is to minimise `f^T (A + R) f / 2 + f^T (J a0 - aref)` with `A = J M^-1 J^T`
(computation chapter, "Constraint solver"). A itself is not needed: the acceleration `x = a0 + M^-1 J^T f` is kept
up to date, so that the slope of a block's forces is `J x - aref + R f`, and a visit costs two products with the
block's rows, `J` and `M^-1 J^T`. All worlds visit their n-th block together. A world's blocks in use are gathered to
the front, so that visits end with the last block in use of any world, and the program does not grow with their number.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from jaxsim.collision.select import pick_first
from jaxsim.math import safe
from jaxsim.math.axis import contract, take
from jaxsim.math.constants import MINVAL
from jaxsim.math.gather import Index, rows_by_world, widen
from jaxsim.math.stage import alone, stage
from jaxsim.pytree import Record, leaf, static
from jaxsim.solver import linalg
from jaxsim.solver.ball import least_in_ball
from jaxsim.structure.sparsity import TreeStructure

__all__ = ["Arranged", "Blocks", "accelerated", "arrange", "in_slots", "projected", "slopes", "sweep"]

_CHUNK = 8
"""Blocks gathered together."""


class Blocks(Record):
    """Blocks of rows of one size, and what their forces may be."""

    J: Array = leaf("n d nv", "Jacobian")
    R: Array = leaf("n d", "regularisation")
    aref: Array = leaf("n d", "reference acceleration")
    low: Array = leaf("n d", "least forces, if independent")
    high: Array = leaf("n d", "greatest forces; of a ball: its radius, d times")
    y: Array = leaf("n d", "forces at the start")
    used: Array = leaf("n", "whether the block is in use")
    rank: Index = leaf("n", "the order of visits, ascending")
    shape: str = static("", "of what is allowed: a key of SHAPES", dtype=str)


class Arranged(NamedTuple):
    """Blocks in the order of visits, those in use first, `(n, d, ..., W)` as in Blocks.

    Attributes:
      J: Jacobian.
      B: `M^-1 J^T`, `(n, d, nv, W)`.
      A: `J M^-1 J^T` of each block, `(n, d, d, W)`, with R.
      R: regularisation.
      aref: reference acceleration.
      low: least forces.
      high: greatest forces.
      y: forces.
      number: how many blocks are in use, `(W,)`.
      place: where each slot's block went, `(n, W)`; `number` or more: it is not in use.
      shape: a key of SHAPES.
    """

    J: Array
    B: Array
    A: Array
    R: Array
    aref: Array
    low: Array
    high: Array
    y: Array
    number: Array
    place: Array
    shape: str


def arrange(structure: TreeStructure, M: Array, blocks: Blocks, width: int) -> Arranged:
    """Gathers each world's blocks in use, and what the sweeps need to know of them.

    Args:
      structure: of M.
      M: entries of the inertia, `(nM, W)`.
      blocks: the blocks.
      width: number of worlds.
    """
    n, d, nv, _ = blocks.J.shape
    order, place, count = _order(widen(blocks.used, width), blocks.rank)
    chunk = min(n, _CHUNK)
    padded = -(-n // chunk) * chunk
    order = jnp.concatenate([order, jnp.zeros((padded - n, width), order.dtype)])

    def gather(state: tuple[Array, ...]) -> tuple[Array, ...]:
        """Some blocks more."""
        start, J, B, A = state
        rows = lax.dynamic_slice_in_dim(order, start, chunk)
        own = widen(rows_by_world(blocks.J, rows), width)
        flat = jnp.swapaxes(own.reshape(chunk * d, nv, width), 0, 1)
        moved = jnp.swapaxes(linalg.solve_many(structure, M, flat), 0, 1).reshape(chunk, d, nv, width)
        inner = _inner(own, moved)
        J, B, A = (
            lax.dynamic_update_slice_in_dim(x, part, start, 0)
            for x, part in zip((J, B, A), (own, moved, inner), strict=True)
        )
        return start + chunk, J, B, A

    most = jnp.max(count)
    zero = jnp.zeros((padded, d, nv, width), M.dtype)
    empty = (jnp.zeros((), int), zero, zero, jnp.zeros((padded, d, d, width), M.dtype))
    _, J, B, A = lax.while_loop(lambda s: s[0] < most, gather, empty)
    small = (blocks.R, blocks.aref, blocks.low, blocks.high, blocks.y)
    R, aref, low, high, y = (widen(rows_by_world(x, order), width) for x in small)
    A = A + R[:, :, None] * np.eye(d)[..., None]
    return Arranged(J, B, A, R, aref, low, high, y, count, place, blocks.shape)


def _order(used: Array, rank: Index) -> tuple[Array, Array, Array]:
    """The slot at each place and the place of each slot, `(n, W)`, and the number of slots in use, `(W,)`."""
    n = used.shape[0]
    count = jnp.sum(used, axis=0, dtype=int)
    if isinstance(rank, np.ndarray):
        sequence = np.argsort(rank, kind="stable")
        sorted_used = take(used, sequence)
        picked, _, _ = pick_first(sorted_used, slots=n)
        before = jnp.cumsum(sorted_used, axis=0, dtype=int) - sorted_used
        place = take(jnp.where(sorted_used, before, n), np.argsort(sequence))
        return jnp.asarray(sequence.astype(np.int32))[picked], place, count
    key = jnp.where(used, rank, np.iinfo(np.int32).max)
    if alone():
        return *_sorted_by_counting(key), count
    order = jnp.argsort(key, axis=0, stable=True)
    return order, jnp.argsort(order, axis=0), count


def _sorted_by_counting(key: Array) -> tuple[Array, Array]:
    """The index at each place and the place of each index, by keys (n, 1): few kernels of a CPU have no sort."""
    index = jnp.arange(len(key))[:, None]

    def more(k: Array, place: Array) -> Array:
        return place + ((key[k] < key) | ((key[k] == key) & (k < index)))

    place = lax.fori_loop(0, len(key), more, jnp.zeros_like(index))
    return jnp.zeros_like(index).at[place[:, 0]].set(index), place


@stage
def _inner(J: Array, B: Array) -> Array:
    """J B^T of each block, `(n, d, d, W)`."""
    total = J[:, :, None, 0] * B[:, None, :, 0]
    for v in range(1, J.shape[2]):
        total = total + J[:, :, None, v] * B[:, None, :, v]
    return total


def in_slots(blocks: Blocks, arranged: Arranged, y: Array) -> Array:
    """Forces `(n, d, W)` of the blocks as they were before they were arranged."""
    n = blocks.J.shape[0]
    found = rows_by_world(y, jnp.minimum(arranged.place, n - 1))
    return jnp.where((arranged.place < arranged.number)[:, None], found, blocks.y)


def sweep(blocks: Arranged, x: Array, y: Array, live: Array) -> tuple[Array, Array, Array]:
    """One sweep.

    Args:
      blocks: the blocks.
      x: acceleration, `(nv, W)`.
      y: forces, `(n, d, W)`.
      live: worlds that take part, `(W,)`.

    Returns:
      x, y, and by how much the sweep lowered the cost of each world, `(W,)`.
    """
    update = SHAPES[blocks.shape]

    def visit(i: Array, state: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
        """Sets the forces of block i."""
        x, y, gain = state
        old = lax.dynamic_index_in_dim(y, i, keepdims=False)
        slope = _slope(blocks.J, blocks.R, blocks.aref, x, old, i)
        A, low, high = (
            lax.dynamic_index_in_dim(a, i, keepdims=False) for a in (blocks.A, blocks.low, blocks.high)
        )
        new = update(A, slope, old, low, high)
        change = jnp.where(live & (i < blocks.number), new - old, 0)
        gain = gain - _cost_change(A, slope, change)
        return _moved(blocks.B, x, change, i), lax.dynamic_update_index_in_dim(y, old + change, i, 0), gain

    return lax.fori_loop(0, jnp.max(blocks.number), visit, (x, y, jnp.zeros_like(x[0])))


def accelerated(blocks: Arranged, x: Array, y: Array) -> Array:
    """The acceleration `x (nv, W)` and what the forces `y (n, d, W)` add to it."""

    def add(i: Array, x: Array) -> Array:
        """Adds that of block i."""
        own = lax.dynamic_index_in_dim(y, i, keepdims=False)
        return _moved(blocks.B, x, jnp.where(i < blocks.number, own, 0), i)

    return lax.fori_loop(0, jnp.max(blocks.number), add, x)


def slopes(blocks: Arranged, x: Array) -> Array:
    """Slopes of the cost by the forces `(n, d, W)`, where these are zero and the acceleration is x; 0 out of use."""
    none = jnp.zeros_like(blocks.y)

    def add(i: Array, found: Array) -> Array:
        """Puts in that of block i."""
        own = _slope(blocks.J, blocks.R, blocks.aref, x, none[0], i)
        return lax.dynamic_update_index_in_dim(found, jnp.where(i < blocks.number, own, 0), i, 0)

    return lax.fori_loop(0, jnp.max(blocks.number), add, none)


def projected(blocks: Arranged, y: Array) -> Array:
    """Forces `(n, d, W)` that are allowed, near y."""
    if blocks.shape == "box":
        return jnp.clip(y, blocks.low, blocks.high)
    normal = jnp.maximum(y[:, :1], 0)
    length = safe.norm(y[:, 1:])[:, None]
    return jnp.concatenate([normal, y[:, 1:] * jnp.minimum(safe.divide(normal, length), 1)], axis=1)


@stage
def _slope(J: Array, R: Array, aref: Array, x: Array, y: Array, i: Array) -> Array:
    """Slope of the cost by the forces of block i, `(d, W)`."""
    own, R, aref = (lax.dynamic_index_in_dim(a, i, keepdims=False) for a in (J, R, aref))
    return contract(jnp.swapaxes(own, 0, 1), x[:, None]) - aref + R * y


@stage
def _moved(B: Array, x: Array, change: Array, i: Array) -> Array:
    """The acceleration after a change of the forces of block i."""
    own = lax.dynamic_index_in_dim(B, i, keepdims=False)
    for k in range(change.shape[0]):
        x = x + own[k] * change[k]
    return x


@stage
def _cost_change(A: Array, slope: Array, change: Array) -> Array:
    half = contract(A, 0.5 * change[:, None]) + slope
    return contract(half, change)


@stage
def _in_box(A: Array, slope: Array, y: Array, low: Array, high: Array) -> Array:
    """Each force between bounds of its own, one after the other."""
    found = []
    for k in range(y.shape[0]):
        step = slope[k] / jnp.maximum(A[k, k], MINVAL)
        new = jnp.where(A[k, k] > 0, jnp.clip(y[k] - step, low[k], high[k]), jnp.clip(0, low[k], high[k]))
        slope = slope + A[:, k] * (new - y[k])
        found.append(new)
    return jnp.stack(found)


def _in_ball(A: Array, slope: Array, y: Array, low: Array, high: Array) -> Array:
    """All forces of a block together, their length at most `high`."""
    del low
    return least_in_ball(A, slope - contract(A, y[:, None]), high[0])


def _in_cone(A: Array, slope: Array, y: Array, low: Array, high: Array) -> Array:
    """The first force at least as large as the length of the others: along the ray of y, then across it."""
    del low, high
    normal = _along_ray(A, slope, y)
    linear = slope[1:] - contract(A[1:, 1:], y[1:, None]) + A[1:, 0] * (normal - y[0])
    return jnp.concatenate([normal[None], least_in_ball(A[1:, 1:], linear, normal)])


@stage
def _along_ray(A: Array, slope: Array, y: Array) -> Array:
    """The normal force that is best along the ray from the tip of the cone through y; at the tip see `_from_tip`."""
    curvature = contract(contract(A, y[:, None]), y)
    ray = jnp.maximum(1 - safe.divide(contract(y, slope), curvature), 0) * y[0]
    return jnp.where((y[0] < MINVAL) | (curvature < MINVAL), _from_tip(A, slope, y), ray)


def _from_tip(A: Array, slope: Array, y: Array) -> Array:
    """The normal force that is best by itself or, if none is, along the steepest ray.

    The C engine tries the former alone, and so stays at the tip where friction would do the work.
    """
    alone = jnp.maximum(y[0] - safe.divide(slope[0], A[0, 0]), 0)
    length = safe.norm(slope[1:])
    ray = jnp.concatenate([jnp.ones_like(slope[:1]), -safe.divide(slope[1:], length)])
    curvature = contract(contract(A, ray[:, None]), ray)
    return jnp.where(alone > 0, alone, jnp.maximum(safe.divide(length - slope[0], curvature), 0))


SHAPES: dict[str, Callable[[Array, Array, Array, Array, Array], Array]] = {
    "box": _in_box,
    "ball": _in_ball,
    "cone": _in_cone,
}
"""By the shape of what is allowed: the best forces `(d, W)` of a block from (A, slope, forces, low, high)."""
