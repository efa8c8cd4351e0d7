"""Functions that scripts take from MJX's inner math module: the same numbers, also where MJX has a convention."""

import inspect

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxsim.mjx import math

real = pytest.importorskip("mujoco.mjx._src.math")

RNG = np.random.default_rng(3)
A, B = RNG.normal(size=(2, 3))
Q, P = (q / np.linalg.norm(q) for q in RNG.normal(size=(2, 4)))
ONE, ZERO = np.array([1.0, 0, 0, 0]), np.zeros(3)
V, F = RNG.normal(size=(2, 6))
ROTATION = np.asarray(real.quat_to_mat(jnp.asarray(P)))

CASES = {
    "norm": [(A,), (ZERO,), (RNG.normal(size=(2, 3)), 1), (RNG.normal(size=(2, 3, 2)), (0, 2))],
    "normalize": [(A,), (ZERO,), (Q,)],
    "normalize_with_norm": [(A,), (ZERO,)],
    "safe_div": [(1.0, 2.0), (0.0, 0.0)],
    "matmul_unroll": [(RNG.normal(size=(2, 3)), RNG.normal(size=(3, 4)))],
    "rotate": [(A, Q), (ZERO, P)],
    "quat_inv": [(Q,)],
    "quat_mul": [(Q, P)],
    "quat_mul_axis": [(Q, A)],
    "quat_sub": [(Q, P), (Q, Q), (-Q, P)],
    "quat_to_mat": [(Q,)],
    "quat_to_axis_angle": [(Q,), (-P,), (ONE,)],
    "axis_angle_to_quat": [(A / np.linalg.norm(A), 0.7), (A, np.array([0.3])), (ZERO, 0.0)],
    "quat_integrate": [(Q, A, 0.1), (Q, ZERO, 0.1)],
    "inert_mul": [(RNG.normal(size=10), V)],
    "sign": [(np.array([-1.0, 0, 2]),)],
    "transform_motion": [(V, A, ROTATION)],
    "motion_cross": [(V, F)],
    "motion_cross_force": [(V, F)],
    "orthogonals": [(A / np.linalg.norm(A),), (np.array([0, 1.0, 0]),), (ZERO,)],
    "make_frame": [(A,), (np.array([0, 0.6, 0.8]),)],
    "closest_segment_point": [(A, B, F[:3]), (A, A, B)],
    "closest_segment_point_and_dist": [(A, B, F[:3])],
    "closest_segment_to_segment_points": [
        (A, B, V[:3], F[3:]),
        (A, B, A + 1, B + 1),
        (ZERO, A, 2 * A, 3 * A),
    ],
}
"""Arguments by function."""

ROUGH = {"closest_segment_point", "closest_segment_point_and_dist", "closest_segment_to_segment_points"}
"""MJX adds 1e-6 to squared lengths, and looks at lines before segments: ours is the nearer point or the same."""


@pytest.mark.parametrize("name", sorted(CASES))
def test_as_mjx(name):
    ours, theirs = getattr(math, name), getattr(real, name)
    for args in CASES[name]:
        arrays = [jnp.asarray(x) if isinstance(x, np.ndarray) else x for x in args]
        found, expected = (jax.tree.leaves(f(*arrays)) for f in (ours, theirs))
        for x, y in zip(found, expected, strict=True):
            assert x.shape == jnp.shape(y)
            tolerance = 1e-5 if name in ROUGH else 1e-12
            if name == "closest_segment_to_segment_points":
                gap = [np.linalg.norm(pair[0] - pair[1]) for pair in (found, expected)]
                assert gap[0] <= gap[1] + tolerance
            else:
                np.testing.assert_allclose(x, y, rtol=tolerance, atol=tolerance)


def test_every_function_of_theirs():
    theirs = {
        name for name, x in vars(real).items() if inspect.isfunction(x) and x.__module__ == real.__name__
    }
    assert theirs == set(CASES) == set(math.__all__)


def test_gradients_where_there_is_no_direction():
    for f in (
        math.norm,
        lambda x: jnp.sum(math.normalize(x)),
        lambda x: math.quat_sub(jnp.append(1.0, x), ONE)[0],
    ):
        assert np.isfinite(jax.grad(f)(jnp.zeros(3))).all()
