"""Line search: the zero of a slope that rises, in as many worlds, for every platform's program."""

import jax.numpy as jnp
import numpy as np
import pytest

from jaxsim.math.axis import sum_rows
from jaxsim.math.stage import lowering_for
from jaxsim.solver.linesearch import search, slope_function
from jaxsim.solver.rows import Rows, RowValues

ROWS, WORLDS = 45, 6


def problem(rng):
    """Slope of a cost with one-sided rows along a random direction, and the same by numpy."""
    D, r = rng.uniform(0.1, 2, (ROWS, WORLDS)), rng.standard_normal((ROWS, WORLDS))
    row_p = rng.standard_normal((ROWS, WORLDS))
    p = rng.standard_normal((3, WORLDS))
    uphill = np.maximum(np.sum(np.where(r < 0, D * r, 0) * row_p, 0), 0)
    balance = -p * (1 + uphill / np.sum(p * p, 0))  # downhill at the start
    none = jnp.zeros((ROWS, 1))
    rows = Rows(D=jnp.asarray(D), aref=none, low=none, high=none + jnp.inf)
    values = [RowValues(jnp.asarray(x), ()) for x in (r, row_p)]
    ours = slope_function(rows, jnp.asarray(balance), jnp.asarray(p), jnp.asarray(p), *values)

    def slope(t):
        at = r + t * row_p
        return np.sum((balance + t * p) * p, 0) + np.sum(np.where(at < 0, D * at, 0) * row_p, 0)

    return ours, slope


@pytest.mark.parametrize("platform", ["cpu", "cuda"])
def test_finds_the_zero(platform):
    ours, slope = problem(np.random.default_rng(0))
    with lowering_for(platform):
        t = search(ours, jnp.full(WORLDS, 1e-10), jnp.asarray(50), WORLDS, jnp.dtype(float))
        np.testing.assert_allclose(ours(t)[0], slope(np.asarray(t)), rtol=0, atol=1e-10)
    np.testing.assert_allclose(slope(np.asarray(t)), 0, atol=1e-9)
    assert (slope(np.asarray(t) - 1e-6) < 0).all()


@pytest.mark.parametrize("platform", ["cpu", "cuda"])
def test_a_full_step_that_fits_is_exactly_one(platform):
    ours, _ = problem(np.random.default_rng(1))
    with lowering_for(platform):
        t = search(ours, jnp.full(WORLDS, 1e6), jnp.asarray(50), WORLDS, jnp.dtype(float))
    np.testing.assert_array_equal(t, 1)


@pytest.mark.parametrize("platform", ["cpu", "cuda"])
@pytest.mark.parametrize("rows", [1, 15, 17, 300])
def test_sums_of_many_rows(platform, rows):
    x = np.random.default_rng(rows).standard_normal((rows, 2, WORLDS))
    with lowering_for(platform):
        np.testing.assert_allclose(sum_rows(jnp.asarray(x)), x.sum(0), rtol=0, atol=1e-12)


@pytest.mark.parametrize("evaluations", [2, 4, 5])
@pytest.mark.parametrize("offset", [-2e-8, 2e-8, 3e-7])
def test_few_evaluations_do_not_leave_a_zero_within_rounding(evaluations, offset):
    """A slope of 32 bits is never below a tolerance of zero; the search then bisected up to a step of 1.25."""
    stiffness = jnp.asarray([3.0, 70.0], jnp.float32)

    def slope(t):
        return stiffness * (t - 1) - stiffness * jnp.float32(offset), stiffness

    found = search(slope, jnp.zeros(2), jnp.asarray(evaluations), 2, jnp.float32)
    np.testing.assert_allclose(found, 1, atol=1e-6)


def test_a_zero_behind_a_kink():
    """Soft up to 0.4, then hard: the zero at 0.5 needs a bracket where Newton's steps overshoot."""

    def slope(t):
        hard = jnp.maximum(t - 0.4, 0)
        return t - 0.5 + 50 * (hard - 0.1), 1 + 50 * (t > 0.4)

    found = search(slope, jnp.zeros(1), jnp.asarray(30), 1, jnp.float32)
    np.testing.assert_allclose(found, 0.5, rtol=1e-6)
