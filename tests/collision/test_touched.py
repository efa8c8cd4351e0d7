"""What is computed of the pairs that touch alone equals what is computed of all."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxsim.collision.convex.touched import where_asked
from jaxsim.math.stage import lowering_for

PAIRS, WORLDS = 7, 90


def _product(asked, table, one):
    return {"sum": jnp.where(asked[:, None], table * one[:, None], 0.0), "number": asked.astype(jnp.int32)}


@pytest.mark.parametrize("share", [0.0, 0.02, 0.3, 1.0])
def test_the_few_that_are_asked_give_what_all_give(share):
    rng = np.random.default_rng(0)
    asked = jnp.asarray(rng.uniform(size=(PAIRS, WORLDS)) < share)
    table = jnp.asarray(rng.normal(size=(PAIRS, 3, WORLDS)))
    one = jnp.asarray(rng.normal(size=(PAIRS, 1)))
    few = jax.jit(lambda *x: where_asked(_product, *x))(asked, table, one)
    with lowering_for("cuda"):
        every = where_asked(_product, asked, table, one)
    assert few["sum"].shape == (PAIRS, 3, WORLDS)
    np.testing.assert_array_equal(few["sum"], every["sum"])
    np.testing.assert_array_equal(few["number"], every["number"])
    assert int(few["number"].sum()) == int(asked.sum())


def test_it_has_no_derivative_and_may_be_differentiated_through():
    rng = np.random.default_rng(0)
    asked = jnp.ones((PAIRS, WORLDS), bool)
    table, one = jnp.asarray(rng.normal(size=(PAIRS, 3, WORLDS))), jnp.ones((PAIRS, 1))

    def total(table):
        return jnp.sum(where_asked(_product, asked, table, one)["sum"]) + jnp.sum(table)

    np.testing.assert_array_equal(jax.grad(total)(table), np.ones_like(table))
