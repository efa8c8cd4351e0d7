import jax
import jax.numpy as jnp
import numpy as np

from jaxsim.math.invariant import invariant_results


def test_what_does_not_depend_on_arguments_is_computed_from_constants():
    table = jnp.arange(3.0)

    def body(x, y):
        del y
        return jnp.sin(table), x * table, jnp.zeros(2), 1.0, x, table

    sine, product, zero, one, same, held = invariant_results(jax.make_jaxpr(body)(2.0, jnp.ones(4)))
    assert product is None
    assert same is None
    np.testing.assert_array_equal(sine, jnp.sin(table))
    np.testing.assert_array_equal(zero, [0, 0])
    assert one == 1
    np.testing.assert_array_equal(held, table)


def test_constants_may_be_traced_and_differentiated():
    def outer(scale):
        found = invariant_results(jax.make_jaxpr(lambda x: (x, jnp.exp(scale) * 2))(0.0))
        assert found[0] is None
        return found[1]

    np.testing.assert_allclose(jax.jit(jax.grad(outer))(0.5), 2 * np.exp(0.5), rtol=1e-12)
    np.testing.assert_allclose(jax.vmap(outer)(jnp.arange(2.0)), 2 * np.exp([0, 1]), rtol=1e-12)


def test_nothing_may_change_or_everything():
    assert invariant_results(jax.make_jaxpr(lambda x: x + 1)(0.0)) == [None]
    assert invariant_results(jax.make_jaxpr(lambda: ())()) == []
    (held,) = invariant_results(jax.make_jaxpr(lambda x: 3)(0.0))
    assert held == 3
