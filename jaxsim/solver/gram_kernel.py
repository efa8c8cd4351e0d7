"""Sums of outer products in one kernel of a GPU, whose lanes are worlds.

What many rows add to the Hessian, XLA sums along an axis that it makes the innermost one: neighbouring lanes then read
numbers that lie far apart. Here a program adds up a small square of the matrix in registers, contact by contact, and
reads each number for several products; contacts that touch come first, and it ends with the last of them.
`jacobian.gram_of` has the sums in XLA's own words.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from jaxsim.math.gather import width_of
from jaxsim.math.lanes import in_lanes, rows_in_use
from jaxsim.solver.curvature import Curvature, by_rows

__all__ = ["gram_in_kernel"]

_SIDE = 4
"""Rows and columns of a square."""

_ROWS = 16
"""Most contacts of which it is looked up together whether they have any."""

_LARGE = 3
"""Dimension of contacts above which C J is computed before: written out for each square it takes long to compile."""


class _Factor(NamedTuple):
    """A sum over contacts, or over their rows.

    Attributes:
      J: `(n, dim, nv, W)`.
      CJ: the same of C J; None: it is computed from C.
      C: its first entry, and what else there is of its upper triangle, `(n or less, W)`, by row and column.
    """

    J: Array
    CJ: Array | None
    C: dict[tuple[int, int], Array]


def _factor(J: Array, C: Curvature) -> _Factor:
    if J.shape[1] > _LARGE:
        # known before it is multiplied: XLA would compute the curvature again for each dof
        C = lax.optimization_barrier(C)
        first = C[0][0]
        assert first is not None
        rows, products = by_rows(J, C)
        return _Factor(rows[:, None], products[:, None], {(0, 0): first})
    upper = {(i, j): c for i, row in enumerate(C) for j, c in enumerate(row) if j >= i and c is not None}
    return _Factor(J, None, upper)


def gram_in_kernel(factors: Sequence[tuple[Array, Curvature]], interpret: bool = False) -> Array:
    """The sum of `J^T C J`, in `(m, m, W)`, m >= nv, of which only the lower triangle is set.

    Args:
      factors: J `(n, dim, nv, W)` and C, which is symmetric; where its first entry is zero all are.
      interpret: whether to run the kernel without compiling it, for tests.
    """
    given, tree = jax.tree.flatten([_factor(*pair) for pair in factors])
    squares = -(-given[0].shape[2] // _SIDE)
    corners = [jnp.asarray(_SIDE * x.astype(np.int32)) for x in np.tril_indices(squares)]
    shape = (_SIDE * squares, _SIDE * squares, width_of(given))
    results = [jax.ShapeDtypeStruct(shape, given[0].dtype)]
    kernel = functools.partial(_kernel, tree)
    return in_lanes(kernel, "gram", given, results, corners, parts=len(corners[0]), interpret=interpret)[0]


def _kernel(tree: Any, tops: Any, lefts: Any, *refs: Any) -> None:
    """A square of the sum.

    Args:
      tree: structure of the list of factors.
      tops: first row of each square.
      lefts: first column of each.
      refs: the factors' arrays, lanes last, and the sum `(m, m, lanes)`.
    """
    from jax.experimental import pallas as pl

    *given, total = refs
    square = pl.program_id(1)
    top, left, last = tops[square], lefts[square], given[0].shape[2] - 1
    side = range(_SIDE)
    sums = [jnp.zeros(total.shape[2:], total.dtype)] * _SIDE**2
    for J, CJ, C in jax.tree.unflatten(tree, given):
        dims = range(J.shape[1])

        def add(k: Array, sums: list[Array], J: Any = J, CJ: Any = CJ, C: Any = C, dims: Any = dims) -> Any:
            """Adds what one contact does."""

            def of(table: Any, start: Array) -> list[list[Array]]:
                return [[table[k, d, jnp.minimum(start + i, last)] for i in side] for d in dims]

            a, b = of(J if CJ is None else CJ, top), of(J, left)
            if CJ is None:
                weights = {place: c[k] for place, c in C.items()}
                weights |= {(j, i): c for (i, j), c in weights.items()}
                terms = [[(c, a[j]) for (i, j), c in weights.items() if i == d] for d in dims]
                a = [[functools.reduce(jnp.add, [c * x[i] for c, x in own]) for i in side] for own in terms]
            for d in dims:
                products = (x * y for x in a[d] for y in b[d])
                sums = [s + product for s, product in zip(sums, products, strict=True)]
            return sums

        first = C[0, 0]
        count = rows_in_use(first, total.shape[2:], _ROWS) * (J.shape[0] // first.shape[0])
        sums = lax.fori_loop(0, count, add, sums)
    for i in side:
        for j in side:
            total[top + i, left + j] = sums[_SIDE * i + j]
