"""What is computed of the pairs that are asked alone equals what is computed of all, with its derivatives."""

import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.test_util import check_grads

from jaxsim.math.asked import derived_of_few, derived_where_asked, where_asked
from jaxsim.math.stage import lowering_for

PAIRS, WORLDS = 7, 90


def _product(asked, table, one):
    return {"sum": jnp.where(asked[:, None], table * one[:, None], 0.0), "number": asked.astype(jnp.int32)}


@pytest.mark.parametrize("platform", ["cpu", "cuda"])
@pytest.mark.parametrize("share", [0.0, 0.02, 0.3, 1.0])
def test_the_few_that_are_asked_give_what_all_give(share, platform):
    rng = np.random.default_rng(0)
    asked = jnp.asarray(rng.uniform(size=(PAIRS, WORLDS)) < share)
    table = jnp.asarray(rng.normal(size=(PAIRS, 3, WORLDS)))
    one = jnp.asarray(rng.normal(size=(PAIRS, 1)))
    with lowering_for(platform):
        few = jax.jit(lambda *x: where_asked(_product, *x))(asked, table, one)
    every = _product(asked, table, one)
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


def _smooth(tables, whole):
    """Of three numbers of each pair and world, one of each pair, one of each world, and a table of all."""
    own, pair, world = tables
    numbers = jnp.sin(own * pair[:, None]) * world[:, None] + whole[None, :, :] * own
    return {"numbers": numbers, "large": numbers > 0.5}


def _case(share, worlds=WORLDS):
    rng = np.random.default_rng(1)
    own, pair, world, whole = (
        jnp.asarray(rng.normal(size=shape)) for shape in ((PAIRS, 3, worlds), (PAIRS, 1), (1, worlds), (3, 1))
    )
    asked = jnp.asarray(rng.uniform(size=(PAIRS, worlds)) < share)
    return asked, (own, pair, world), whole


@pytest.mark.parametrize("worlds", [1, WORLDS])
@pytest.mark.parametrize("share", [0.0, 0.3, 1.0])
def test_derivatives_are_those_of_all_where_it_is_asked(share, worlds):
    asked, tables, whole = _case(share, worlds)

    def few(tables, whole):
        return derived_where_asked(lambda _, *own: _smooth(*own), asked, tables, whole)["numbers"]

    def every(tables, whole):
        return jnp.where(asked[:, None], _smooth(tables, whole)["numbers"], 0)

    np.testing.assert_allclose(jax.jit(few)(tables, whole), every(tables, whole), atol=1e-14)
    change = jax.tree.map(jnp.cos, (tables, whole))

    def along(function):
        return jax.jit(lambda *at: jax.jvp(function, at, change)[1])(tables, whole)

    def against(function):
        return jax.jit(lambda *at: jax.vjp(function, *at)[1](jnp.cos(tables[0])))(tables, whole)

    np.testing.assert_allclose(along(few), along(every), atol=1e-13)
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, atol=1e-13), against(few), against(every))


@pytest.mark.parametrize("platform", ["cuda", "tpu"])
def test_accelerators_take_the_same_types(platform):
    asked, tables, whole = _case(0.3)

    def few(tables):
        return derived_where_asked(lambda _, *own: _smooth(*own), asked, tables, whole)["numbers"]

    with lowering_for(platform):
        found = jax.eval_shape(lambda *at: jax.vjp(few, *at)[1](tables[0]), tables)
    assert jax.tree.map(jnp.shape, found[0]) == jax.tree.map(jnp.shape, tables)


def test_second_derivatives():
    asked, tables, whole = _case(0.3, 5)

    def total(tables, whole):
        found = derived_where_asked(lambda _, *own: _smooth(*own), asked, tables, whole)["numbers"]
        return jnp.sum(found**2)

    check_grads(jax.jit(total), (tables, whole), order=2, modes=("fwd", "rev"), atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("platform", ["cpu", "cuda"])
def test_of_all_with_derivatives_of_few(platform):
    _, tables, whole = _case(0.3)

    def total(tables):
        with lowering_for(platform):
            found = derived_of_few(_smooth, lambda found, _: jnp.any(found["large"], axis=1), tables, whole)
        return jnp.sum(jnp.where(found["large"], found["numbers"], 0)), found["numbers"]

    def every(tables):
        found = _smooth(tables, whole)
        return jnp.sum(jnp.where(found["large"], found["numbers"], 0)), found["numbers"]

    (_, own), found = jax.jit(jax.value_and_grad(total, has_aux=True))(tables)
    (_, all_), expected = jax.value_and_grad(every, has_aux=True)(tables)
    np.testing.assert_array_equal(own, all_)
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, atol=1e-13), found, expected)


def test_a_round_copies_no_more_than_it_finds():
    """What a CPU has found so far stays where it is: a kernel that returned it would copy all of it."""

    def long(asked, x):
        for _ in range(1500):  # more than one kernel holds
            x = jnp.sin(x)
        return jnp.where(asked, x, 0)

    asked, table = jnp.ones((64, 128), bool), jnp.ones((64, 128), jnp.float32)
    program = jax.jit(lambda *x: where_asked(long, *x)).lower(asked, table).compile().as_text()
    bodies = set(re.findall(r"body=%?([\w.\-]+)", program))
    rounds = [text for text in program.split("\n\n") if text.split(" ")[0].lstrip("%") in bodies]
    assert rounds
    assert not re.findall(r"f32\[(?:1,8192|64,128)\]\S* copy\(", "\n".join(rounds))
