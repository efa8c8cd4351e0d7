"""Small quadratic programs with limits: optimality, and beside scipy."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.optimize import lsq_linear

from jaxsim.optimise import box_qp

solve = jax.jit(box_qp)


@pytest.mark.parametrize("seed", range(20))
def test_minimises_within_limits(seed):
    rng = np.random.default_rng(seed)
    n = 6
    root, g = rng.standard_normal((n + 2, n)), 3 * rng.standard_normal(n)
    low, high = -rng.uniform(0.1, 1, n), rng.uniform(0.1, 1, n)
    low[0], high[1] = -np.inf, np.inf
    H = root.T @ root
    x, free = (
        np.asarray(a) for a in solve(jnp.asarray(H), jnp.asarray(g), jnp.asarray(low), jnp.asarray(high))
    )
    assert np.all((low <= x) & (x <= high))
    slope = H @ x + g
    np.testing.assert_allclose(slope[free], 0, atol=1e-10)
    assert np.all(slope[~free & (x == low)] > 0)
    assert np.all(slope[~free & (x == high)] < 0)
    assert np.all((x == low) | (x == high) | free)
    target = np.linalg.lstsq(root.T, -g)[0]  # |root x - target|^2 differs by a constant
    np.testing.assert_allclose(x, lsq_linear(root, target, (low, high), tol=1e-14).x, atol=1e-6)


def test_limits_that_meet():
    x, free = solve(jnp.eye(3), jnp.asarray([1.0, -2.0, 0.5]), jnp.zeros(3), jnp.zeros(3))
    np.testing.assert_array_equal(x, 0)
    assert not np.any(free)


def test_many_at_once():
    rng = np.random.default_rng(0)
    root, g = rng.standard_normal((7, 5, 3)), rng.standard_normal((7, 3))
    H = np.swapaxes(root, 1, 2) @ root
    many = jax.vmap(box_qp, in_axes=(0, 0, None, None))(
        jnp.asarray(H), jnp.asarray(g), -0.2 * jnp.ones(3), jnp.ones(3)
    )
    for k in range(7):
        one = solve(jnp.asarray(H[k]), jnp.asarray(g[k]), -0.2 * jnp.ones(3), jnp.ones(3))
        np.testing.assert_allclose(many[0][k], one[0], atol=1e-12)
