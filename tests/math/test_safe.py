import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxsim.math import safe


@pytest.mark.parametrize(
    "function",
    [
        lambda x: safe.sqrt(jnp.sum(x * x)),
        lambda x: jnp.sum(safe.norm(x)),
        lambda x: jnp.sum(safe.normalize(x)[0]),
        lambda x: jnp.sum(safe.normalize(x)[1]),
        lambda x: jnp.sum(safe.divide(x, x)),
        lambda x: jnp.sum(safe.absolute(x)),
    ],
)
def test_finite_derivatives_at_zero(function):
    zero = jnp.zeros((3, 2))
    np.testing.assert_array_equal(jax.grad(function)(zero), 0)
    np.testing.assert_array_equal(jax.jvp(function, (zero,), (jnp.ones((3, 2)),))[1], 0)
    assert np.isfinite(jax.jit(jax.hessian(function))(zero)).all()


def test_no_absolute_tolerance():
    """Tiny vectors keep their direction and their derivative."""
    x = jnp.array([[3e-100], [4e-100]])
    unit, length = safe.normalize(x)
    np.testing.assert_allclose(unit[:, 0], [0.6, 0.8], rtol=1e-15)
    np.testing.assert_allclose(length[0], 5e-100, rtol=1e-15)
    np.testing.assert_allclose(jax.grad(lambda x: safe.norm(x)[0])(x)[:, 0], [0.6, 0.8], rtol=1e-15)


def test_zero_vector_points_along_the_first_axis():
    unit, length = safe.normalize(jnp.zeros((3, 1)))
    np.testing.assert_array_equal(unit[:, 0], [1, 0, 0])
    np.testing.assert_array_equal(length, 0)


@pytest.mark.parametrize("size", [1e-18, 1e-14, 1e-7, 1.0, 1e15])
def test_norms_have_finite_second_derivatives_in_single_precision(size):
    x = jnp.array([[size], [-0.5 * size], [0.0]], jnp.float32)
    for function in (lambda x: safe.norm(x)[0], lambda x: safe.normalize(x)[0][0, 0]):
        value = function(x)
        assert np.isfinite(value)
        H = np.asarray(jax.hessian(function)(x)).reshape(3, 3) * np.float64(size) ** 2
        assert np.isfinite(H).all()
        assert np.abs(H).max() < 1e2 * max(size, 1)
    assert abs(float(safe.norm(x)[0]) / (size * np.sqrt(1.25)) - 1) < 1e-6
