"""Derivatives of steps and of inverse dynamics: against the C engine's finite differences."""

import functools

import jax
import jax.numpy as jnp
import mujoco
import numpy as np
import pytest

import jaxsim
from jaxsim.enums import IntegratorType
from jaxsim.support.transition import inverse_derivatives, transition
from tests.pipeline.oracle import load

SCENE = """
<mujoco>
  <option timestep="0.004" tolerance="0" iterations="100" ls_iterations="100"/>
  <worldbody>
    <geom type="plane" size="5 5 .1" friction="0.5 0.02 0.01"/>
    <body name="puck" pos="0 0 .098"><freejoint/><geom size=".1"/><site name="s" pos="0.05 0 0"/></body>
    <body pos="1 0 1"><joint type="ball" damping="0.1"/><geom type="capsule" fromto="0 0 0 .3 0 0" size=".05"/>
      <body pos=".3 0 0"><joint name="h" axis="0 1 0" damping="0.2 0.3" stiffness="2"/>
        <geom type="capsule" fromto="0 0 0 .3 0 0" size=".04"/></body></body>
  </worldbody>
  <actuator>
    <position joint="h" kp="5" kv="0.5"/>
    <general joint="h" dyntype="filter" dynprm="0.1" gainprm="2"/>
  </actuator>
  <sensor><accelerometer site="s"/><jointpos joint="h"/><framequat objtype="site" objname="s"/></sensor>
</mujoco>
"""
EPS = 1e-6
TOLERANCE = 1e-6  # differences of order eps^2, and rounding of stiff contacts over eps

jitted = jax.jit(transition)
jitted_inverse = jax.jit(inverse_derivatives, static_argnames="actuation")


@functools.cache
def problem(integrator):
    m, model = load(SCENE, integrator=int(integrator))
    d = mujoco.MjData(m)
    rng = np.random.default_rng(0)
    d.qvel[:] = rng.standard_normal(m.nv)
    d.qvel[2] = -0.02
    mujoco.mj_integratePos(m, d.qpos, np.r_[np.zeros(6), 0.3 * rng.standard_normal(m.nv - 6)], 1.0)
    d.ctrl[:], d.act[:] = (0.3, -0.4), 0.2
    d.qacc[:] = rng.standard_normal(m.nv)
    mujoco.mj_forward(m, d)
    assert d.ncon == 1
    fields = {name: jnp.asarray(getattr(d, name)) for name in ("qpos", "qvel", "act", "ctrl", "qacc")}
    return m, model, d, jaxsim.make_data(model).replace(**fields)


@pytest.mark.parametrize(
    "integrator",
    [
        IntegratorType.IMPLICITFAST,
        # the C engine has no derivatives of Runge-Kutta steps
        pytest.param(IntegratorType.EULER, marks=pytest.mark.slow),
        pytest.param(IntegratorType.IMPLICIT, marks=pytest.mark.slow),
    ],
)
def test_transition(integrator):
    m, model, d, data = problem(integrator)
    found = jitted(model, data)
    n = 2 * m.nv + m.na
    shapes = {"A": (n, n), "B": (n, m.nu), "C": (m.nsensordata, n), "D": (m.nsensordata, m.nu)}
    theirs = {name: np.zeros(shape) for name, shape in shapes.items()}
    mujoco.mjd_transitionFD(m, d, EPS, True, *theirs.values())
    for name, expected in theirs.items():
        ours = np.asarray(getattr(found, name))
        assert ours.shape == expected.shape
        scale = 1 + np.abs(expected).max(initial=0)
        np.testing.assert_allclose(ours, expected, rtol=0, atol=TOLERANCE * scale, err_msg=name)


def test_inverse_derivatives():
    m, model, d, data = problem(IntegratorType.EULER)
    found = jitted_inverse(model, data)
    n = m.nv
    names = {"df_dq": (n, n), "df_dv": (n, n), "df_da": (n, n)}
    names |= {f"ds_d{x}": (n, m.nsensordata) for x in "qva"}
    theirs = {name: np.zeros(shape) for name, shape in names.items()}
    mujoco.mjd_inverseFD(m, d, EPS, False, *theirs.values(), None)
    for name, expected in theirs.items():
        ours = np.asarray(getattr(found, name)).T
        scale = 1 + np.abs(expected).max(initial=0)
        np.testing.assert_allclose(ours, expected, rtol=0, atol=2e-5 * scale, err_msg=name)  # one-sided
