"""Sensors with delays, intervals and histories: what they show and what the buffer holds, step by step, as in C."""

import itertools

import jax
import jax.numpy as jnp
import mujoco
import numpy as np
import pytest

import jaxsim
from jaxsim.interop.mujoco import put_model
from jaxsim.pipeline.make_data import make_data

TIMING = (
    "nsample='3'",
    "nsample='4' delay='.006' interp='{interp}'",
    "nsample='5' delay='.0075' interp='{interp}'",
    "nsample='3' interval='.005'",
    "nsample='4' interval='.0055 -.001' delay='.0083' interp='{interp}'",
    "nsample='1' delay='.002' cutoff='.5'",
    "interval='.004'",
)
KINDS = (
    "jointpos joint='h'",
    "gyro site='s'",
    "accelerometer site='s'",
    "framepos objtype='site' objname='s'",
)


def sensors(kinds):
    text = ""
    for (kind, timing), interp in zip(
        itertools.product(kinds, TIMING), itertools.cycle(("zoh", "linear", "cubic"))
    ):
        text += f"<{kind} {timing.format(interp=interp)}/>"
    return text


XML = """<mujoco><option timestep=".002" integrator="{}"/><worldbody>
  <body><joint name="h" axis="0 1 0"/><geom size=".1" pos=".2 0 0"/><site name="s" pos=".1 0 0"/>
    <body pos=".3 0 0"><joint axis="0 0 1"/><geom size=".1" pos=".1 0 0"/></body></body></worldbody>
  <actuator><motor joint="h"/></actuator><sensor>{}</sensor></mujoco>"""


@pytest.mark.parametrize("integrator", ["Euler", pytest.param("RK4", marks=pytest.mark.slow)])
def test_equals_the_c_engine(integrator):
    # with Runge-Kutta, C measures accelerations at the last stage unless another sensor did at the first
    kinds = KINDS if integrator == "Euler" else KINDS[:2]
    m = mujoco.MjModel.from_xml_string(XML.format(integrator, sensors(kinds)))
    d = mujoco.MjData(m)
    model = put_model(m)
    data = make_data(model)
    np.testing.assert_allclose(data.history, d.history, rtol=0, atol=1e-15)
    rng = np.random.default_rng(0)
    d.qvel[:] = rng.standard_normal(m.nv)
    data = data.replace(qvel=jnp.asarray(d.qvel))
    step = jax.jit(jaxsim.step)
    for k in range(24):
        d.ctrl[:] = rng.standard_normal(m.nu)
        data = step(model, data.replace(ctrl=jnp.asarray(d.ctrl)))
        mujoco.mj_step(m, d)
        np.testing.assert_allclose(data.sensordata, d.sensordata, rtol=1e-9, atol=1e-9, err_msg=str(k))
        np.testing.assert_allclose(data.history, d.history, rtol=1e-9, atol=1e-9, err_msg=str(k))


def test_differentiates_through_the_buffer():
    """The derivative of what a delayed sensor shows by the state three steps ago, and by the delay itself."""
    sensor = "<jointpos joint='h' nsample='6' delay='.0051' interp='cubic'/>"
    model = jaxsim.load_model(XML.format("Euler", sensor))
    data = jaxsim.make_data(model)

    def shown(x):
        changed = model.replace(sensor_delay=model.sensor_delay + x[0])
        d = data.replace(qvel=data.qvel.at[0].set(1 + x[1]), ctrl=jnp.ones(1))
        return jax.lax.scan(lambda d, _: (jaxsim.step(changed, d), None), d, length=5)[0].sensordata[0]

    x, h = jnp.zeros(2), 1e-6
    numeric = [(jax.jit(shown)(x + h * e) - shown(x - h * e)) / (2 * h) for e in jnp.eye(2)]
    for derivative in (jax.grad, jax.jacfwd):
        np.testing.assert_allclose(jax.jit(derivative(shown))(x), numeric, rtol=1e-7)


def test_single_precision_finds_the_sample_of_its_time():
    """Times that are sums of many steps are not exactly the delay apart."""
    with jax.enable_x64(False):
        model = jaxsim.load_model(XML.format("Euler", "<clock nsample='8' delay='.01'/><clock/>"))
        _, seen = jaxsim.rollout(model, jaxsim.make_data(model), jnp.zeros((400, 1)), fields=("sensordata",))
    late = np.asarray(seen["sensordata"])[20:]
    np.testing.assert_allclose(late[:, 1] - late[:, 0], 0.01, atol=1e-4)
