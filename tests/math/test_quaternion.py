import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from jaxsim.math import quaternion as quat

RNG = np.random.default_rng(0)
EXACT = 1e-14  # a few roundings


def random(n):
    q = RNG.standard_normal((n, 4))
    return q / np.linalg.norm(q, axis=1, keepdims=True)


def native(x):
    """(n, k) -> (k, n): worlds last."""
    return jnp.asarray(x.T)


def scipy_of(q):
    return Rotation.from_quat(np.roll(np.asarray(q), -1, axis=-1))


def test_products_and_rotations_equal_scipy():
    p, q, v = random(20), random(20), RNG.standard_normal((20, 3))
    a, b = scipy_of(p), scipy_of(q)
    np.testing.assert_allclose(quat.to_matrix(native(p)), np.moveaxis(a.as_matrix(), 0, -1), atol=EXACT)
    product = quat.mul(native(p), native(q))
    np.testing.assert_allclose(quat.to_matrix(product), np.moveaxis((a * b).as_matrix(), 0, -1), atol=EXACT)
    np.testing.assert_allclose(quat.rotate(native(p), native(v)), a.apply(v).T, atol=EXACT)
    np.testing.assert_allclose(quat.rotate_inverse(native(p), native(v)), a.inv().apply(v).T, atol=EXACT)


@pytest.mark.parametrize("angle", [0.0, 1e-9, 1e-3, 0.063, 0.0633, 1.0, 3.0, np.pi - 1e-9])
def test_exponential_and_logarithm_are_inverse(angle):
    axis = RNG.standard_normal((10, 3))
    v = angle * axis / np.linalg.norm(axis, axis=1, keepdims=True)
    q = quat.exponential(native(v))
    np.testing.assert_allclose(
        quat.to_matrix(q), np.moveaxis(Rotation.from_rotvec(v).as_matrix(), 0, -1), atol=EXACT
    )
    np.testing.assert_allclose(quat.logarithm(q), v.T, atol=1e-13)
    np.testing.assert_allclose(quat.logarithm(-q), v.T, atol=1e-13)


def test_a_zero_quaternion_is_no_rotation():
    """As of C, in states that were never filled in."""
    value, slope = jax.jvp(quat.logarithm, (jnp.zeros((4, 1)),), (jnp.ones((4, 1)),))
    np.testing.assert_array_equal(value, np.zeros((3, 1)))
    assert np.isfinite(slope).all()


def test_series_meets_closed_form():
    """Values and slopes agree on both sides of the switch at half angle squared 1e-3."""
    half = np.sqrt(1e-3)
    for angle in (2 * half * (1 - 1e-9), 2 * half * (1 + 1e-9)):
        v = jnp.array([[angle], [0.0], [0.0]])
        slope = jax.jvp(quat.exponential, (v,), (jnp.array([[1.0], [0.0], [0.0]]),))[1]
        np.testing.assert_allclose(slope[:2, 0], [-np.sin(angle / 2) / 2, np.cos(angle / 2) / 2], atol=1e-13)
        q = quat.exponential(v)
        back = jax.jvp(quat.logarithm, (q,), (slope,))[1]
        np.testing.assert_allclose(back[:, 0], [1, 0, 0], atol=1e-12)


def test_derivative_at_zero_velocity_is_half_the_timestep():
    dt, q = jnp.array([0.01]), jnp.array([[1.0], [0], [0], [0]])
    jac = jax.jit(jax.jacfwd(lambda w: quat.integrate(q, w, dt)[:, 0]))(jnp.zeros((3, 1)))[..., 0]
    np.testing.assert_allclose(jac, np.vstack([np.zeros(3), 0.005 * np.eye(3)]), atol=1e-15)
    jac = jax.jit(jax.jacrev(lambda w: quat.integrate(q, w, dt)[:, 0]))(jnp.zeros((3, 1)))[..., 0]
    np.testing.assert_allclose(jac, np.vstack([np.zeros(3), 0.005 * np.eye(3)]), atol=1e-15)


def test_second_derivative_at_zero():
    """The scalar part is 1 - |v|^2 / 8: a series cut too short would lose its curvature."""
    hessian = jax.jit(jax.hessian(lambda v: quat.exponential(v[:, None])[0, 0]))(jnp.zeros(3))
    np.testing.assert_allclose(hessian, -np.eye(3) / 4, atol=1e-15)


def test_subtract_at_coincidence_is_smooth():
    q = native(random(1))

    def f(v):
        return quat.subtract(quat.mul(q, quat.exponential(v)), q)

    np.testing.assert_allclose(jax.jit(jax.jacfwd(f))(jnp.zeros((3, 1)))[:, 0, :, 0], np.eye(3), atol=1e-14)


def test_zero_quaternion_becomes_identity_with_finite_derivative():
    value, slope = jax.jvp(quat.normalize, (jnp.zeros((4, 1)),), (jnp.ones((4, 1)),))
    np.testing.assert_array_equal(value[:, 0], [1, 0, 0, 0])
    np.testing.assert_array_equal(slope, 0)
