"""What is computed of the pairs that are asked alone equals what is computed of all, with its derivatives."""

import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.test_util import check_grads

from jaxsim.math.asked import derived_of_few, derived_where_asked, rounds_if_any, where_asked
from jaxsim.math.stage import lowering_for

PAIRS, WORLDS = 7, 90


def _product(asked, table, one):
    return {"sum": jnp.where(asked[:, None], table * one[:, None], 0.0), "number": asked.astype(jnp.int32)}


@pytest.mark.parametrize("platform", ["cpu", "cuda"])
@pytest.mark.parametrize("share", [0.0, 0.02, 0.3, 1.0])
@pytest.mark.parametrize(
    ("pairs", "worlds", "rare"), [(PAIRS, WORLDS, False), (PAIRS, WORLDS, True), (1, 1, True)]
)
def test_the_few_that_are_asked_give_what_all_give(share, platform, pairs, worlds, rare):
    rng = np.random.default_rng(0)
    asked = jnp.asarray(rng.uniform(size=(pairs, worlds)) < share)
    table = jnp.asarray(rng.normal(size=(pairs, 3, worlds)))
    one = jnp.asarray(rng.normal(size=(pairs, 1)))
    with lowering_for(platform):
        few = jax.jit(lambda *x: where_asked(_product, *x, rare=rare))(asked, table, one)
    every = _product(asked, table, one)
    assert few["sum"].shape == (pairs, 3, worlds)
    np.testing.assert_array_equal(few["sum"], every["sum"])
    np.testing.assert_array_equal(few["number"], every["number"])
    assert int(few["number"].sum()) == int(asked.sum())


def test_on_a_cpu_what_is_rare_is_computed_one_by_one():
    """However few pairs there are: where none is asked nothing is computed."""
    rounds = []

    def counted(asked, table):
        rounds.append(asked.shape)
        return table

    asked, table = jnp.zeros((1, 5), bool), jnp.ones((1, 3, 5))
    loops = {}
    for platform in ("cpu", "cuda"):
        with lowering_for(platform):
            program = jax.make_jaxpr(lambda *x: where_asked(counted, *x, rare=True))(asked, table)
        loops[platform] = "while" in str(program)
    assert rounds == [(1, 1), (1, 5)]
    assert loops == {"cpu": True, "cuda": False}


@pytest.mark.parametrize("platform", ["cpu", "cuda"])
def test_a_loop_that_nothing_needs_has_no_rounds_on_a_cpu(platform):
    with lowering_for(platform):
        some, none = (int(rounds_if_any(jnp.asarray([False, needed]), 3)) for needed in (True, False))
    assert some == 3
    assert none == (0 if platform == "cpu" else 3)


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
