"""Sensors, energies and interaction forces equal the C engine's."""

import functools

import jax
import mujoco
import numpy as np
import pytest

import jaxsim
from jaxsim.pipeline.make_data import make_data
from jaxsim.structure.slots import slot_layout
from tests.pipeline import scenes
from tests.pipeline.oracle import error, load, put_state, states

TOLERANCE = 1e-6  # accelerations come from the constraint solver; both are converged


@functools.cache
def scene():
    m, model = load(scenes.SENSORS, tolerance=0, iterations=200, ls_iterations=100)
    return m, model, make_data(model), jax.jit(jaxsim.forward)


@pytest.mark.parametrize("k", range(3))
def test_equals_the_c_engine(k):
    m, model, data, forward = scene()
    d = list(states(m, spread=0.03))[k]
    ours = forward(model, put_state(model, d, data))
    mujoco.mj_forward(m, d)
    mujoco.mj_rnePostConstraint(m, d)
    for i in range(m.nsensor):
        at = slice(m.sensor_adr[i], m.sensor_adr[i] + m.sensor_dim[i])
        name = mujoco.mjtSensor(m.sensor_type[i]).name
        assert error(ours.sensordata[at], d.sensordata[at]) < TOLERANCE, (name, i)
    for name in ("energy", "cacc", "cfrc_ext", "cfrc_int"):
        assert error(getattr(ours, name), getattr(d, name)) < TOLERANCE, name


def test_scene_tests_something():
    """Most outputs are not zero, and contacts, both kinds of attachments and limits are active."""
    m, *_ = scene()
    d = next(states(m))
    mujoco.mj_forward(m, d)
    assert np.mean(d.sensordata != 0) > 0.75
    assert d.ncon >= 4
    assert d.ne == 9
    assert d.nl >= 1


EMPTY = """
<mujoco>
  <worldbody>
    <site name="zone" type="box" size=".5 .5 .5" pos="0 0 .4"/>
    <body name="arm" pos="0 0 .5">
      <joint axis="0 1 0"/>
      <body name="hand" pos=".6 0 0"><geom size=".05"/></body>
    </body>
    <body name="nothing" pos=".1 0 .5"/>
  </worldbody>
  <sensor>
    <insidesite site="zone" objtype="body" objname="arm"/><insidesite site="zone" objtype="xbody" objname="arm"/>
    <insidesite site="zone" objtype="body" objname="hand"/><insidesite site="zone" objtype="body" objname="nothing"/>
  </sensor>
</mujoco>
"""


def test_bodies_without_mass_are_where_what_they_carry_is():
    m, model = load(EMPTY)
    for angle in (0.0, 1.0):
        d = mujoco.MjData(m)
        d.qpos[0] = angle
        mujoco.mj_forward(m, d)
        ours = jaxsim.forward(model, put_state(model, d))
        np.testing.assert_array_equal(ours.sensordata, d.sensordata)
    assert d.sensordata[0] != d.sensordata[1] or angle


HEAP = """
<mujoco>
  <option timestep="0.002" iterations="200" tolerance="0"/>
  <custom><numeric name="max_contact_points" data="14"/></custom>
  <worldbody>
    <geom type="plane" size="2 2 .1"/>
    <body pos="0 0 .1"><freejoint/><geom size=".105"/><site name="s0"/></body>
    <body pos=".19 0 .1"><freejoint/><geom size=".1"/></body>
    <body pos=".09 .17 .1"><freejoint/><geom size=".102"/></body>
    <body pos=".1 .06 .25"><freejoint/><geom size=".1"/><site name="s1"/>
      <body pos="0 0 .18"><joint axis="1 0 0"/><geom size=".09" contype="2" conaffinity="1"/></body>
    </body>
    <body pos=".3 0 .25"><freejoint/><geom type="capsule" size=".05 .1"/></body>
  </worldbody>
  <sensor><force site="s0"/><torque site="s1"/><accelerometer site="s1"/></sensor>
</mujoco>
"""


def test_forces_of_contacts_of_any_bodies():
    """Where slots are not of given geoms, contacts differ in their bodies from state to state."""
    m = mujoco.MjModel.from_xml_string(HEAP)
    model = jaxsim.load_model(HEAP)
    group = slot_layout(model).groups[0]
    assert group.body1 is None or group.body2 is None
    d = mujoco.MjData(m)
    d.qvel[:] = 0.1 * np.random.default_rng(0).standard_normal(m.nv)
    mujoco.mj_forward(m, d)
    mujoco.mj_rnePostConstraint(m, d)
    assert d.ncon >= 6
    start = jaxsim.make_data(model).replace(qvel=np.array(d.qvel))
    ours = jax.jit(jaxsim.forward)(model, start)
    for name in ("sensordata", "cfrc_ext", "cfrc_int"):
        assert error(getattr(ours, name), getattr(d, name)) < TOLERANCE, name

    @jax.jit
    def wrenches(qvel):
        return jaxsim.forward(model, start.replace(qvel=qvel)).cfrc_ext

    rng = np.random.default_rng(1)
    along, weight = rng.standard_normal(m.nv), rng.standard_normal(ours.cfrc_ext.shape)
    step = 1e-5 * along
    slope = (wrenches(start.qvel + step) - wrenches(start.qvel - step)) / 2e-5
    tangent = jax.jit(lambda v: jax.jvp(wrenches, (v,), (along,))[1])(start.qvel)
    np.testing.assert_allclose(tangent, slope, rtol=1e-5, atol=1e-5 * np.abs(slope).max())
    pulled = jax.jit(lambda v: jax.vjp(wrenches, v)[1](weight)[0])(start.qvel)
    np.testing.assert_allclose(np.vdot(pulled, along), np.vdot(weight, tangent), rtol=1e-9)


STILL = """<mujoco><worldbody><site name="a"/><site name="b" pos="1 0 0"/>
  <body pos="0 0 1"><joint axis="0 1 0"/><geom size=".1" pos=".3 0 0"/><site name="c" pos=".4 0 0"/></body></worldbody>
  <tendon><spatial name="still" range="0 .8"><site site="a"/><site site="b"/></spatial>
  <spatial name="moved" range="0 .8"><site site="a"/><site site="c"/></spatial></tendon>
  <sensor><tendonlimitpos tendon="still"/><tendonlimitvel tendon="still"/><tendonlimitpos tendon="moved"/>
  <tendonlimitvel tendon="moved"/></sensor></mujoco>"""


def test_limits_of_tendons_that_nothing_moves():
    """Such a tendon has no rows of constraints, and its sensors are zero."""
    m = mujoco.MjModel.from_xml_string(STILL)
    d = mujoco.MjData(m)
    d.qvel[:] = 1
    mujoco.mj_forward(m, d)
    ours = jax.jit(jaxsim.forward)(jaxsim.put_model(m), jaxsim.put_data(m, d))
    assert d.sensordata[2:].all()
    assert error(ours.sensordata, d.sensordata) < TOLERANCE
