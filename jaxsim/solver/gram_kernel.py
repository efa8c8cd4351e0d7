"""Sums of outer products in one kernel of a GPU, whose lanes are worlds.

What many rows add to the Hessian, XLA sums along an axis that it makes the innermost one: neighbouring lanes then read
numbers that lie far apart. Here a program adds up a small square of the matrix in registers, row by row, and reads each
number for several products. `jacobian.gram_of` has the sums in XLA's own words.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from jaxsim.math.gather import width_of
from jaxsim.math.lanes import in_lanes

__all__ = ["gram_in_kernel"]

_SIDE = 4
"""Rows and columns of a square."""


def gram_in_kernel(factors: Sequence[tuple[Array, Array]], interpret: bool = False) -> Array:
    """The sum of `J^T (C J)`, in `(m, m, W)`, m >= n, of which only the lower triangle is set.

    Args:
      factors: pairs of J and C J, rows `(k, n, W)` each.
      interpret: whether to run the kernel without compiling it, for tests.
    """
    given = [x for pair in factors for x in pair]
    squares = -(-given[0].shape[1] // _SIDE)
    corners = [jnp.asarray(_SIDE * x.astype(np.int32)) for x in np.tril_indices(squares)]
    shape = (_SIDE * squares, _SIDE * squares, width_of(given))
    results = [jax.ShapeDtypeStruct(shape, given[0].dtype)]
    return in_lanes(_kernel, "gram", given, results, corners, parts=len(corners[0]), interpret=interpret)[0]


def _kernel(tops: Any, lefts: Any, *refs: Any) -> None:
    """A square of the sum.

    Args:
      tops: first row of each square.
      lefts: first column of each.
      refs: J and C J of each pair `(k, n, lanes)`, then the sum `(m, m, lanes)`.
    """
    from jax.experimental import pallas as pl

    *given, total = refs
    square = pl.program_id(1)
    top, left, last = tops[square], lefts[square], given[0].shape[1] - 1
    side = range(_SIDE)
    sums = [jnp.zeros(total.shape[2:], total.dtype)] * _SIDE**2
    for J, CJ in zip(given[::2], given[1::2], strict=True):

        def add(k: Array, sums: list[Array], J: Any = J, CJ: Any = CJ) -> list[Array]:
            a = [CJ[k, jnp.minimum(top + i, last)] for i in side]
            b = [J[k, jnp.minimum(left + j, last)] for j in side]
            return [s + x * y for s, (x, y) in zip(sums, ((x, y) for x in a for y in b), strict=True)]

        sums = lax.fori_loop(0, J.shape[0], add, sums)
    for i in side:
        for j in side:
            total[top + i, left + j] = sums[_SIDE * i + j]
