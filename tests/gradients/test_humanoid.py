"""Ten steps of the bundled humanoid, feet on the floor: against differences of jaxsim and of the C engine."""

import functools

import mujoco
import numpy as np
import pytest

from jaxsim import models
from tests.gradients.jacobians import Jacobians, Scene

pytestmark = pytest.mark.slow

STEPS = 10


def model(cone: str) -> str:
    options = f'<option timestep="0.005" cone="{cone}" tolerance="1e-14" iterations="50"/>'
    xml = models.path("humanoid").read_text()
    assert '<option timestep="0.005"/>' in xml
    return xml.replace('<option timestep="0.005"/>', options)


def standing(m: mujoco.MjModel) -> mujoco.MjData:
    """A quarter of a second after the keyframe, in motion."""
    d = mujoco.MjData(m)
    mujoco.mj_resetDataKeyframe(m, d, 0)
    low, high = m.actuator_ctrlrange.T
    d.ctrl[:] = np.clip(d.ctrl, low + 0.05, high - 0.05)  # off the corner of the clamp
    d.qvel[:] = 0.2 * np.random.default_rng(0).standard_normal(m.nv)
    mujoco.mj_step(m, d, nstep=50)
    assert d.ncon >= 4
    return d


@functools.cache
def jacobians(cone: str) -> Jacobians:
    scene = Scene(model(cone), ("body_mass", "geom_friction", "dof_damping"), STEPS)
    return scene.at(standing(scene.mj_model))


def tangent(m: mujoco.MjModel, q: np.ndarray, jacobian: np.ndarray) -> np.ndarray:
    """Rows of a Jacobian for displacements in the tangent space at q, instead of coordinates of q; the root is free."""
    w, x, y, z = q[3:7]
    half = 2 * np.array([[-x, w, z, -y], [-y, -z, w, x], [-z, y, -x, w]])
    return np.concatenate([jacobian[:3], half @ jacobian[3:7], jacobian[7:]])


def chained(m: mujoco.MjModel) -> np.ndarray:
    """The C engine's derivative of the velocities and displacements after ten steps, by mjd_transitionFD."""
    d = standing(m)
    n = 2 * m.nv
    A, B = np.zeros((n, n)), np.zeros((n, m.nu))
    to_state, to_control = np.eye(n), np.zeros((n, m.nu))
    for _ in range(STEPS):
        mujoco.mjd_transitionFD(m, d, 1e-6, True, A, B, None, None)
        to_state, to_control = A @ to_state, A @ to_control + B
        mujoco.mj_step(m, d)
    return np.concatenate([to_state, to_control], axis=1)


@pytest.mark.parametrize("cone", ["pyramidal", "elliptic"])
def test_against_differences(cone):
    found = jacobians(cone)
    for quantity in found.scene.columns:
        for step in (0, 1):
            assert found.error("pelvis", quantity, step) < 1e-5, (quantity, step)
    assert found.duality_error() < 1e-10


@pytest.mark.parametrize("cone", ["pyramidal", "elliptic"])
def test_against_the_c_engine(cone):
    found = jacobians(cone)
    m = found.scene.mj_model
    expected = chained(m)
    last = found.forward[1]
    state = np.concatenate([tangent(m, found.value[1, : m.nq], last[: m.nq]), last[m.nq : m.nq + m.nv]])
    ours = state[:, : 2 * m.nv + m.nu]
    for rows in (slice(0, m.nv), slice(m.nv, 2 * m.nv)):
        # mjd_transitionFD differentiates one step at a time: its errors of 1e-7 add up
        assert np.abs(ours[rows] - expected[rows]).max() < 1e-5 * np.abs(expected[rows]).max()
