import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxsim.math.axis import add_rows, concat, contract, mask_product, take

INDEX = [
    [0, 1, 2, 3, 4],
    [1, 2],
    [3, 3, 3],
    [4, 0, 2],
    [2, 2, 1, 2, 2, 2, 2],
    [0, 0, 1, 1, 4],
    [],
]


@pytest.mark.parametrize("index", INDEX)
def test_take_and_its_transpose(index):
    rng = np.random.default_rng(0)
    index = np.array(index, int)
    x, y = rng.standard_normal((5, 3, 4)), rng.standard_normal((len(index), 3, 4))
    expected = np.zeros((5, 3, 4))
    np.add.at(expected, index, y)
    np.testing.assert_array_equal(take(jnp.asarray(x), index), x[index])
    value, pull = jax.vjp(lambda x: take(x, index), jnp.asarray(x))
    np.testing.assert_allclose(pull(jnp.asarray(y))[0], expected, atol=1e-15)
    np.testing.assert_allclose(jax.jvp(lambda x: take(x, index), (x,), (x,))[1], value)
    np.testing.assert_allclose(add_rows(jnp.asarray(y), index, 5), expected, atol=1e-15)
    z = rng.standard_normal((5, 3, 4))
    np.testing.assert_allclose(jax.vjp(lambda y: add_rows(y, index, 5), jnp.asarray(y))[1](z)[0], z[index])


def test_take_of_integers():
    np.testing.assert_array_equal(take(jnp.arange(6).reshape(3, 2), np.array([2, 0])), [[4, 5], [0, 1]])


def test_mask_product_is_exact_for_ones():
    x = np.random.default_rng(1).standard_normal((4, 2, 3)).astype(np.float32)
    mask = np.eye(4)[[2, 0]]
    np.testing.assert_array_equal(mask_product(mask, jnp.asarray(x)), x[[2, 0]])


def test_concat_widens():
    assert concat([jnp.zeros((2, 1)), jnp.ones((3, 5))]).shape == (5, 5)


@pytest.mark.parametrize("n", [1, 32, 33, 40, 162, 1000])
def test_contractions_of_any_length(n):
    rng = np.random.default_rng(1)
    a, b = rng.normal(size=(n, 3, 4)), rng.normal(size=(n, 1, 4))
    np.testing.assert_allclose(
        contract(jnp.asarray(a), jnp.asarray(b)), (a * b).sum(axis=0), rtol=1e-12, atol=1e-12
    )
