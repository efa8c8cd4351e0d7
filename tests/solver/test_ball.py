"""Quadratics in a ball: the conditions of the minimum, also of singular and badly scaled matrices."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxsim.solver.ball import least_in_ball

least = jax.jit(least_in_ball)


@pytest.mark.parametrize("d", [2, 3, 5])
@pytest.mark.parametrize("spread", [1, 1e-3])
def test_minimum_is_stationary(d, spread):
    rng = np.random.default_rng(d)
    width = 64
    root = rng.standard_normal((width, d, d)) * np.where(np.arange(d) < 2, 1, spread)
    A = np.einsum("wki,wkj->wij", root, root)
    A[::8] = A[::8, :, :1] * A[::8, :1] / A[::8, :1, :1]  # of rank one
    b = np.einsum("wij,wj->wi", A, rng.standard_normal((width, d)))
    radius = rng.uniform(0.01, 3, width)
    y = np.asarray(least(*(jnp.asarray(np.moveaxis(x, 0, -1)) for x in (A, b, radius)))).T
    length = np.linalg.norm(y, axis=1)
    assert (length <= radius * (1 + 1e-12)).all()
    slope = np.einsum("wij,wj->wi", A, y) + b
    inside = length < radius * (1 - 1e-9)
    scale = np.linalg.norm(b, axis=1)
    assert inside.any()
    assert (~inside).any()
    np.testing.assert_array_less(np.linalg.norm(slope[inside], axis=1), 1e-9 * scale[inside])
    along = np.sum(slope * y, axis=1) / length**2
    rest = np.linalg.norm(slope - along[:, None] * y, axis=1)
    assert (along[~inside] < 0).all()
    # what a singular matrix cannot tell is a hundredth of y at most, and has no effect
    tolerance = np.where(np.arange(width) % 8 == 0, 1e-3, 1e-7)
    np.testing.assert_array_less(rest[~inside], (tolerance * scale)[~inside])


def test_a_ball_of_no_size_is_a_point():
    one = jnp.ones((2, 1))
    assert not np.asarray(least(jnp.eye(2)[..., None], one, jnp.zeros(1))).any()
    assert not np.asarray(least(jnp.zeros((2, 2, 1)), 0 * one, jnp.ones(1))).any()
