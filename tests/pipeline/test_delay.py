"""Delays of controls: the history and the force against the C engine over many steps, and their derivatives."""

import jax
import jax.numpy as jnp
import mujoco
import numpy as np
import pytest

import jaxsim
from jaxsim.pipeline.history import later
from tests.pipeline.oracle import error, load

TOLERANCE = 1e-9
XML = """<mujoco><option timestep="0.002"/><worldbody>
  <body><joint name="a" axis="0 1 0"/><geom size="0.1" pos="0.2 0 0" contype="0" conaffinity="0"/></body>
  <body pos="0 1 0"><joint name="b" axis="0 1 0"/><geom size="0.1" pos="0.2 0 0" contype="0" conaffinity="0"/></body>
  </worldbody><actuator>
  <motor joint="a" nsample="5" delay="0.0071"/><motor joint="b" nsample="5" delay="0.006" ctrlrange="-1 1"/>
  <position joint="a" kp="3" nsample="4" interp="linear" delay="0.0051"/>
  <general joint="b" dyntype="filter" dynprm="0.01" nsample="6" interp="cubic" delay="0.0067"/>
  <motor joint="a" nsample="3" interp="cubic" delay="0.02"/>
  <motor joint="b" nsample="2" interp="linear" delay="0.0005"/>
  <motor joint="a" nsample="3"/><motor joint="b"/></actuator></mujoco>"""
SEVERAL = """<mujoco><option timestep="0.002"/><worldbody>
  <body><joint name="a" axis="0 1 0"/><geom size="0.1" pos="0.2 0 0" contype="0" conaffinity="0"/></body>
  <body pos="0 1 0"><joint name="b" type="ball"/><geom size="0.1" pos="0.2 0 0" contype="0" conaffinity="0"/></body>
  </worldbody><actuator><motor joint="a" nsample="3" delay="0.004"/>
  <pid joint="a" kp="3" kv="1" nsample="3" delay="0.0031" interp="linear" input="pos vel"/>
  <orientation joint="b" kp="3" nsample="4" delay="0.005"/>
  <dcmotor joint="a" motorconst=".1" resistance="1" input="pos vel" controller="1 0 .1" nsample="3" delay="0.004"/>
  </actuator></mujoco>"""
"""Actuators with several controls."""


@pytest.mark.parametrize("xml", [XML, SEVERAL])
@pytest.mark.parametrize("integrator", ["Euler", "RK4"])
def test_equals_the_c_engine(xml, integrator):
    m, model = load(xml.replace('timestep="0.002"', f'timestep="0.002" integrator="{integrator}"'))
    assert jaxsim.load_model(xml).nhistory == m.nhistory
    d, ours = mujoco.MjData(m), jaxsim.make_data(model)
    np.testing.assert_array_equal(ours.history, d.history)
    step = jax.jit(jaxsim.step)
    rng = np.random.default_rng(0)
    for k in range(12):
        d.ctrl[:] = rng.uniform(-2, 2, m.nu)
        ours = step(model, ours.replace(ctrl=jnp.asarray(d.ctrl)))
        mujoco.mj_step(m, d)
        for name in ("actuator_force", "act", "qpos", "history"):
            assert error(getattr(ours, name), getattr(d, name)) < TOLERANCE, (k, name)


def test_a_sample_of_the_same_time_is_replaced_and_an_older_one_kept_in_order():
    """After time is set back samples are no longer in the order of the buffer."""
    m, model = load(XML)
    d = mujoco.MjData(m)
    for _ in range(6):
        mujoco.mj_step(m, d)
    ours = jaxsim.make_data(model).replace(
        **{name: jnp.asarray(np.array(getattr(d, name))) for name in ("qpos", "qvel", "act", "history")}
    )
    step = jax.jit(jaxsim.step)
    for k, time in enumerate((0.01, 0.0085, 0.0087, 0.0125)):
        d.time, d.ctrl[:] = time, k + 1
        ours = step(model, ours.replace(time=jnp.asarray(time), ctrl=jnp.asarray(d.ctrl)))
        mujoco.mj_step(m, d)
        assert error(ours.actuator_force, d.actuator_force) < TOLERANCE, k
        assert error(ours.qpos, d.qpos) < TOLERANCE, k


def test_gradient_reaches_back_by_the_delay():
    """The force of a step depends on the control of as many steps before as the delay says, and on no other."""
    xml = (
        XML[: XML.index("<actuator>")]
        + '<actuator><motor joint="a" nsample="5" delay="0.004"/></actuator></mujoco>'
    )
    _, model = load(xml)

    def force(controls):
        def one(data, u):
            data = jaxsim.step(model, data.replace(ctrl=u[None]))
            return data, data.actuator_force[0]

        return jax.lax.scan(one, jaxsim.make_data(model), controls)[1]

    matrix = jax.jit(jax.jacrev(force))(jnp.arange(6.0))
    np.testing.assert_allclose(matrix, np.eye(6, k=-2), atol=1e-12)


@pytest.mark.parametrize("interp", ["linear", "cubic"])
def test_derivative_by_a_delay_of_whole_steps(interp):
    """Samples are read just where they stand: the derivative is the curve's there, of one side if it has a corner."""
    history = f'nsample="6" delay="0.004" interp="{interp}"'
    _, model = load(
        XML[: XML.index("<actuator>")] + f'<actuator><motor joint="a" {history}/></actuator>'
        f'<sensor><jointpos joint="a" {history}/></sensor></mujoco>'
    )
    controls = jnp.sin(jnp.arange(9.0))[:, None]

    def end(more):
        delays = model.replace(
            actuator_delay=model.actuator_delay + more[0], sensor_delay=model.sensor_delay + more[1]
        )
        after, _ = jaxsim.rollout(delays, jaxsim.make_data(model), controls)
        return jnp.array([1e2 * after.qvel[0], 1e5 * after.sensordata[0]])

    x, h, run = jnp.zeros(2), 1e-7, jax.jit(end)
    ahead = np.transpose([(run(h * e) - run(x)) / h for e in jnp.eye(2)])
    assert np.abs(np.diag(ahead)).min() > 0.1
    np.testing.assert_allclose(jax.jit(jax.jacfwd(end))(x), ahead, rtol=1e-3, atol=1e-3)
    np.testing.assert_allclose(jax.jit(jax.jacrev(end))(x), ahead, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("time", [0.0, 20.0, 1500.0])
def test_delays_in_float32(time):
    """They are as many steps late in the run as at its start: rounding of the time adds none."""
    xml = XML[: XML.index("<actuator>")].replace("0.002", "0.0005")
    xml += '<actuator><motor joint="a" nsample="25" delay="0.01"/></actuator></mujoco>'
    with jax.enable_x64(False):
        model = jaxsim.load_model(xml)
        data = jaxsim.make_data(model).replace(time=jnp.float32(time))
        _, path = jaxsim.rollout(model, data, jnp.arange(100.0)[:, None], fields=("actuator_force", "time"))
        np.testing.assert_array_equal(path["actuator_force"][30:, 0], np.arange(10.0, 80.0))
        np.testing.assert_allclose(path["time"][-1], time + 100 * 0.0005, rtol=1e-7)


def test_time_does_not_drift_in_float32():
    with jax.enable_x64(False):
        h = jnp.full((1,), 0.002, jnp.float32)
        many = jax.jit(lambda t: jax.lax.fori_loop(0, 500_000, lambda _, t: later(t, h), t))(0 * h)
        np.testing.assert_allclose(many, 1000, rtol=1e-6)
        np.testing.assert_allclose(later(jnp.float32([0.0317]), h), 0.0337, rtol=1e-6)  # between the steps
        np.testing.assert_array_equal(jax.jacfwd(lambda t: later(t, h))(h), [[1]])
