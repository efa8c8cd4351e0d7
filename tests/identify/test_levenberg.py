"""Levenberg-Marquardt: linear problems, curved valleys, bounds."""

import numpy as np
import pytest
from scipy import optimize, sparse

from jaxsim.identify import least_squares

NONE = np.full(2, np.inf)


def rosenbrock(x):
    return np.array([10 * (x[1] - x[0] ** 2), 1 - x[0]]), np.array([[-20 * x[0], 10], [-1, 0]])


def test_a_linear_problem_is_solved():
    rng = np.random.default_rng(0)
    A, b = rng.standard_normal((30, 6)), rng.standard_normal(30)
    free = np.full(6, np.inf)
    found = least_squares(
        lambda x: (A @ x - b, sparse.csr_array(A)), np.zeros(6), -free, free, ftol=0, xtol=1e-12
    )
    np.testing.assert_allclose(found.x, np.linalg.lstsq(A, b)[0], rtol=0, atol=1e-10)
    assert found.converged


def test_a_curved_valley():
    seen = []
    found = least_squares(
        rosenbrock, np.array([-1.2, 1.0]), -NONE, NONE, progress=lambda *now: seen.append(now)
    )
    assert [n for n, _ in seen] == list(range(1, found.evaluations + 1))
    assert seen[-1][1] == found.cost[-1]
    np.testing.assert_allclose(found.x, 1, rtol=0, atol=1e-8)
    assert np.all(np.diff(found.cost) < 0)
    assert found.evaluations < 40


def test_bounds_hold_and_are_optimal():
    """Beside scipy's solver, where a bound is active at the end."""
    low, high = np.array([-2.0, -2.0]), np.array([0.5, 2.0])
    found = least_squares(rosenbrock, np.array([-1.2, 1.0]), low, high)
    theirs = optimize.least_squares(
        lambda x: rosenbrock(x)[0], [-1.2, 1.0], bounds=(low, high), xtol=1e-14, gtol=1e-14
    )
    assert found.x[0] == 0.5
    np.testing.assert_allclose(found.x, theirs.x, rtol=0, atol=1e-5)  # theirs stays inside


@pytest.mark.parametrize("start", [0.0, 1e-3])
def test_what_changes_nothing_stays(start):
    """Beside an unknown that begins at 0 too, as an offset does: a column of zeros is no singular matrix."""

    def one_of_two(x):
        return np.array([x[0] - 1, 0.5 * (x[0] - 1)]), np.array([[1.0, 0.0], [0.5, 0.0]])

    found = least_squares(one_of_two, np.array([start, 5.0]), np.full(2, -np.inf), np.full(2, np.inf))
    assert found.converged
    np.testing.assert_allclose(found.x, [1, 5], atol=1e-8)


def test_units_do_not_matter():
    """Steps are relative to the diagonal of J^T J: unknowns in other units take the same path."""
    unit = np.array([1e6, 1e-4])

    def scaled(x):
        r, J = rosenbrock(x * unit)
        return r, J * unit

    ours = least_squares(rosenbrock, np.array([-1.2, 1.0]), -NONE, NONE, xtol=0)
    theirs = least_squares(scaled, np.array([-1.2, 1.0]) / unit, -NONE, NONE, xtol=0)
    np.testing.assert_allclose(theirs.x * unit, ours.x, rtol=1e-8)


def test_what_has_no_effect_stays():
    found = least_squares(lambda x: (x[:1] - 3, np.array([[1.0, 0.0]])), np.array([1.0, 7.0]), -NONE, NONE)
    np.testing.assert_allclose(found.x, [3, 7], rtol=1e-6)


def test_what_has_an_effect_by_rounding_alone_stays_near():
    def residual(x):
        return x[0] - np.array([3.0, 5.0]), np.array([[1.0, 1e-12, 0.0], [1.0, -1e-12, 1e-60]])

    none = np.full(3, np.inf)
    found = least_squares(residual, np.array([1.0, 7.0, 2.0]), -none, none)
    np.testing.assert_allclose(found.x[0], 4, rtol=1e-9)
    assert np.abs(found.x[1:] - [7, 2]).max() < 5  # Newton's step is 1e12


def test_a_step_too_far_is_taken_back():
    def root(x):
        with np.errstate(invalid="ignore"):
            return np.log(x), np.diag(1 / x)

    start = np.array([5.0, 5.0])  # Newton's step leads to negative numbers
    np.testing.assert_allclose(least_squares(root, start, -NONE, NONE, damping=1e-9).x, 1, rtol=1e-6)


def test_errors():
    with pytest.raises(ValueError, match="not within the bounds"):
        least_squares(rosenbrock, np.array([-1.2, 1.0]), np.zeros(2), NONE)
    with pytest.raises(ValueError, match="not finite at the start"):
        least_squares(lambda x: (x * np.nan, np.eye(2)), np.zeros(2), -NONE, NONE)
