"""Curvatures C of contacts, dim by dim, their entries, and C J. Native layout."""

from __future__ import annotations

import functools

import jax.numpy as jnp
from jax import Array

from jaxsim.math.stage import platform, stage

__all__ = ["Curvature", "Entries", "Numbers", "by_rows", "curvature_of", "entries_of", "weighted_rows"]

Curvature = list[list[Array | None]]
"""Second derivatives of the cost by the axes of contact frames, `dim x dim` arrays `(n, W)`; None: zero."""

Entries = tuple[tuple[int, int], ...]
"""Rows and columns."""

Numbers = Array | tuple[Array, ...]
"""The entries of a curvature, on a CPU as one array `(n, entries, W)`: a block of all of them is one slice."""


def entries_of(C: Curvature) -> tuple[Numbers, Entries]:
    """The entries of a curvature, and which they are."""
    some = {(i, j): c for i, row in enumerate(C) for j, c in enumerate(row) if c is not None}
    if platform() != "cpu":
        return tuple(some.values()), tuple(some)
    return jnp.stack(jnp.broadcast_arrays(*some.values()), axis=1), tuple(some)


def curvature_of(numbers: Numbers, entries: Entries, dim: int) -> Curvature:
    """A curvature of its entries."""
    C: Curvature = [[None] * dim for _ in range(dim)]
    for k, (i, j) in enumerate(entries):
        C[i][j] = numbers[k] if isinstance(numbers, tuple) else numbers[:, k]
    return C


def by_rows(J: Array, C: Curvature) -> tuple[Array, Array]:
    """J and C J, `(n dim, nv, W)`."""
    if J.shape[1] == 1:
        return J[:, 0], C[0][0][:, None] * J[:, 0]  # pyright: ignore[reportOptionalSubscript]
    return J.reshape(-1, *J.shape[2:]), _weighted(C, J)


@stage
def _weighted(C: Curvature, J: Array) -> Array:
    """C J, `(n dim, nv, W)`, for `J (n, dim, nv, W)`."""
    return weighted_rows(C, J)


def weighted_rows(C: Curvature, J: Array) -> Array:
    """The same, in the stage at hand."""
    rows = []
    for row in C:
        terms = [c[:, None] * J[:, j] for j, c in enumerate(row) if c is not None]
        rows.append(functools.reduce(jnp.add, terms))
    stacked = jnp.stack(rows, axis=1)
    return stacked.reshape(-1, *stacked.shape[2:])
