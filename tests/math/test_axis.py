import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxsim.math.axis import add_rows, concat, contract, mask_product, replace_rows, stitch, take

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


def test_rows_are_put_together():
    x = jnp.arange(12.0).reshape(4, 3)
    parts, rows = [x[:1], x[1:]], [np.array([2]), np.array([3, 0, 1])]
    np.testing.assert_array_equal(stitch(parts, rows), x[np.array([2, 3, 0, 1])])
    np.testing.assert_array_equal(
        replace_rows(x, np.array([3, 1]), -x[:2, :1]), [x[0], [-3, -3, -3], x[2], [0, 0, 0]]
    )


def test_mask_product_is_exact_for_ones():
    x = np.random.default_rng(1).standard_normal((4, 2, 3)).astype(np.float32)
    mask = np.eye(4)[[2, 0]]
    np.testing.assert_array_equal(mask_product(mask, jnp.asarray(x)), x[[2, 0]])


def _trees(sizes: list[int], root: int) -> np.ndarray:
    """Blocks of triangles on the diagonal, below a row of zeros and, if asked, one of ones."""
    blocks = [np.tri(k, k + 1) for k in sizes]
    total = np.zeros((sum(sizes), sum(k + 1 for k in sizes)))
    row = column = 0
    for block in blocks:
        total[row : row + block.shape[0], column : column + block.shape[1]] = block
        row, column = row + block.shape[0], column + block.shape[1]
    return np.concatenate([np.zeros((1, total.shape[1])), np.ones((root, total.shape[1])), total])


@pytest.mark.parametrize(
    ("mask", "products"),
    [
        (_trees([16] * 10, root=0), 2),
        (_trees([16] * 10, root=1), 3),
        (_trees([30, *[16] * 8, 7, 7], root=1), 4),
        (np.concatenate([_trees([16] * 8, root=0), _trees([16] * 8, root=0)]), 5),
        (np.random.default_rng(0).integers(0, 2, (128, 128)), 1),
        (np.tri(200), 1),
        (np.zeros((128, 128)), 1),
    ],
)
def test_mask_product_of_many_trees(mask, products):
    rng = np.random.default_rng(1)
    x, y = rng.standard_normal((mask.shape[1], 2, 3)), rng.standard_normal((mask.shape[0], 2, 3))
    value, pull = jax.vjp(lambda x: mask_product(mask, x), jnp.asarray(x))
    np.testing.assert_allclose(value, np.tensordot(mask, x, 1), rtol=1e-13, atol=1e-13)
    np.testing.assert_allclose(pull(jnp.asarray(y))[0], np.tensordot(mask.T, y, 1), rtol=1e-13, atol=1e-13)
    program = str(jax.make_jaxpr(lambda x: mask_product(mask, x))(x))
    assert program.count("dot_general") <= products


def test_concat_widens():
    assert concat([jnp.zeros((2, 1)), jnp.ones((3, 5))]).shape == (5, 5)


@pytest.mark.parametrize("n", [1, 32, 33, 40, 162, 1000])
def test_contractions_of_any_length(n):
    rng = np.random.default_rng(1)
    a, b = rng.normal(size=(n, 3, 4)), rng.normal(size=(n, 1, 4))
    np.testing.assert_allclose(
        contract(jnp.asarray(a), jnp.asarray(b)), (a * b).sum(axis=0), rtol=1e-12, atol=1e-12
    )
