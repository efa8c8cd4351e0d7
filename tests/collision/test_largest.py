"""The first of the largest, by the ways of different platforms."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
import pytest

from jaxsim.collision.convex.meeting import _most
from jaxsim.collision.largest import first_largest
from jaxsim.math.stage import lowering_for


@pytest.mark.parametrize("kind", ["cpu", "cuda"])
@pytest.mark.parametrize("n", [1, 5, 8, 30, 200])
def test_first_largest(n: int, kind: str) -> None:
    values = np.random.default_rng(n).integers(0, 6, (3, n, 50)).astype(float)
    with lowering_for(kind):
        found = first_largest(jnp.asarray(values))
    np.testing.assert_array_equal(found, np.argmax(values, axis=1))


@pytest.mark.parametrize("kind", ["cpu", "cuda"])
def test_most_of_a_table(kind: str) -> None:
    """Of those that count, row by row; where none does it is said."""
    rng = np.random.default_rng(0)
    values, marks = rng.integers(0, 4, (3, 7, 9, 60)).astype(float), rng.random((3, 7, 9, 60)) < 0.05
    with lowering_for(kind):
        value, row, column = _most(jnp.asarray(values), jnp.asarray(marks))
    flat = np.where(marks, values, -np.inf).reshape(3, -1, 60)
    np.testing.assert_array_equal(value, flat.max(axis=1))
    found = np.isfinite(value)
    assert found.any()
    assert not found.all()
    number = np.where(found, row * 9 + column, 0)
    np.testing.assert_array_equal(number, np.where(found, np.argmax(flat, axis=1), 0))
