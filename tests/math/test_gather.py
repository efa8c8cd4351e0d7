"""Rows chosen by world, shared or not on either side."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
import pytest

from jaxsim.math.gather import add_by_world, first_marked, gathered, rows_by_world
from jaxsim.math.stage import lowering_for


@pytest.mark.parametrize(("table_width", "rows_width"), [(1, 1), (1, 3), (3, 1), (3, 3)])
def test_rows_by_world(table_width: int, rows_width: int) -> None:
    rng = np.random.default_rng(0)
    table, rows = rng.normal(size=(5, 2, table_width)), rng.integers(0, 5, size=(4, rows_width))
    found = np.asarray(rows_by_world(jnp.asarray(table), jnp.asarray(rows)))
    width = max(table_width, rows_width)
    table, rows = np.broadcast_to(table, (5, 2, width)), np.broadcast_to(rows, (4, width))
    for w in range(width):
        np.testing.assert_array_equal(found[..., w], table[rows[:, w], :, w])


@pytest.mark.parametrize("kind", ["cpu", "cuda"])
def test_rows_of_a_tree_by_world(kind: str) -> None:
    """Arrays of two types, with and without leading axes, shared by the worlds or not."""
    rng = np.random.default_rng(3)
    rows = jnp.asarray(rng.integers(0, 5, size=(3, 4)))
    tree = {
        "shared": jnp.asarray(rng.normal(size=(5, 1))),
        "led": jnp.asarray(rng.normal(size=(2, 5, 4))),
        "number": jnp.arange(20).reshape(5, 4),
    }
    with lowering_for(kind):
        found = gathered(tree, rows)
    for name, x in tree.items():
        wide = np.broadcast_to(x, (*x.shape[:-1], 4))
        np.testing.assert_array_equal(found[name], wide[..., np.asarray(rows), np.arange(4)])


@pytest.mark.parametrize("marked", [[], [3], [0, 2, 5], [0, 1, 2, 3, 4, 5]])
@pytest.mark.parametrize("size", [2, 8])
def test_first_marked(marked: list[int], size: int) -> None:
    """In their order, no more than there is room for, and what fills the rest."""
    marks = np.isin(np.arange(6), marked)
    found = first_marked(jnp.asarray(marks), size, 6)
    np.testing.assert_array_equal(found, ([*marked, *[6] * size])[:size])


@pytest.mark.parametrize("wide_rows", [False, True])
@pytest.mark.parametrize("wide", [False, True])
def test_numbers_are_added_to_what_there_is(wide: bool, wide_rows: bool) -> None:
    rng = np.random.default_rng(0)
    into = rng.standard_normal((5, 3))
    x = rng.standard_normal((4, 2, 3 if wide else 1))
    rows = rng.integers(0, 5, (4, 2, 3 if wide_rows else 1))
    expected = into.copy()
    every = np.broadcast_arrays(x, rows, np.arange(3))
    np.add.at(expected, (every[1], every[2]), every[0])
    found = add_by_world(*map(jnp.asarray, (into, x, rows)))
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)
