"""Derivatives of steps and of inverse dynamics: against finite differences of the C engine, and its own."""

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


@functools.cache
def found(integrator):
    _, model, _, data = problem(integrator)
    return jitted(model, data)


def close(found, expected, tolerance, name):
    assert found.shape == expected.shape
    scale = 1 + np.abs(expected).max(initial=0)
    np.testing.assert_allclose(found, expected, rtol=0, atol=tolerance * scale, err_msg=name)


def differences(m, d):
    """Central differences of `mj_step`: rows are next states and sensordata, columns are states and controls."""

    def after(column, amount):
        e = mujoco.MjData(m)
        mujoco.mj_copyData(e, m, d)
        x = np.zeros(2 * m.nv + m.na + m.nu)
        x[column] = amount
        dq, dv, da, du = np.split(x, np.cumsum([m.nv, m.nv, m.na]))
        mujoco.mj_integratePos(m, e.qpos, dq, 1.0)
        e.qvel += dv
        e.act += da
        e.ctrl += du
        mujoco.mj_step(m, e)
        return e

    def column(k):
        left, right = after(k, -EPS), after(k, EPS)
        dq = np.zeros(m.nv)
        mujoco.mj_differentiatePos(m, dq, 2 * EPS, left.qpos, right.qpos)
        rest = [(getattr(right, x) - getattr(left, x)) / (2 * EPS) for x in ("qvel", "act", "sensordata")]
        return np.concatenate([dq, *rest])

    return np.stack([column(k) for k in range(2 * m.nv + m.na + m.nu)], axis=1)


@pytest.mark.parametrize(
    "integrator",
    [
        IntegratorType.IMPLICITFAST,
        pytest.param(IntegratorType.EULER, marks=pytest.mark.slow),
        pytest.param(IntegratorType.IMPLICIT, marks=pytest.mark.slow),
        pytest.param(IntegratorType.RK4, marks=pytest.mark.slow),
    ],
)
def test_transition(integrator):
    m, _, d, _ = problem(integrator)
    A, B, C, D = (np.asarray(x) for x in found(integrator))
    close(np.block([[A, B], [C, D]]), differences(m, d), TOLERANCE, "A B C D")


def test_transition_beside_the_c_routine():
    """Not of Euler's method: `mjd_transitionFD` factorises the damped inertia once, for all velocities.

    That is inexact where damping is polynomial (0.743 for 0.796 in the hinge's dv/dv, where differences of `mj_step`
    itself give 0.796).
    """
    m, _, d, _ = problem(IntegratorType.IMPLICITFAST)
    n = 2 * m.nv + m.na
    shapes = {"A": (n, n), "B": (n, m.nu), "C": (m.nsensordata, n), "D": (m.nsensordata, m.nu)}
    theirs = {name: np.zeros(shape) for name, shape in shapes.items()}
    mujoco.mjd_transitionFD(m, d, EPS, True, *theirs.values())
    for name, expected in theirs.items():
        close(np.asarray(getattr(found(IntegratorType.IMPLICITFAST), name)), expected, TOLERANCE, name)


def test_a_transition_has_derivatives():
    """Displacements are from where the step leads, which moves with the velocity before it."""
    model = jaxsim.load_model("""
    <mujoco>
      <option timestep=".01"/>
      <worldbody><body><freejoint/><geom type="box" size=".1 .2 .3"/></body></worldbody>
    </mujoco>""")
    data = jaxsim.make_data(model).replace(qvel=jnp.array([0.1, 0.2, 0.3, 1, 2, 3]))

    @jax.jit
    def state(faster):
        return transition(model, data.replace(qvel=data.qvel + faster)).A

    slope = (state(1e-4) - state(-1e-4)) / 2e-4
    for mode in (jax.jacfwd, jax.jacrev):
        np.testing.assert_allclose(jax.jit(mode(state))(0.0), slope, atol=1e-8)


def test_inverse_derivatives():
    m, model, d, data = problem(IntegratorType.EULER)
    ours = jitted_inverse(model, data)
    n = m.nv
    names = {"df_dq": (n, n), "df_dv": (n, n), "df_da": (n, n)}
    names |= {f"ds_d{x}": (n, m.nsensordata) for x in "qva"}
    theirs = {name: np.zeros(shape) for name, shape in names.items()}
    mujoco.mjd_inverseFD(m, d, EPS, False, *theirs.values(), None)
    for name, expected in theirs.items():
        close(np.asarray(getattr(ours, name)).T, expected, 2e-5, name)  # one-sided
