"""Curvatures of contacts, dim by dim, as what their entries are. Native layout."""

from __future__ import annotations

import jax.numpy as jnp
from jax import Array

from jaxsim.math.stage import platform

__all__ = ["Curvature", "Entries", "Numbers", "curvature_of", "entries_of"]

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
