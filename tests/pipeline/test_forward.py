"""The public steps: halves make a whole, substeps are steps, and both agree with the C engine."""

import functools
import re

import jax
import jax.numpy as jnp
import mujoco
import numpy as np
import pytest

import jaxsim
from tests.pipeline import scenes
from tests.pipeline.oracle import error

TOLERANCE = 1e-7  # through the constraint solver, both converged

RESULTS = (
    "qpos", "qvel", "act", "time", "qacc", "qacc_warmstart", "xpos", "geom_xmat", "subtree_com", "cvel", "qfrc_bias",
    "actuator_force", "qfrc_constraint", "sensordata", "energy",
)  # fmt: skip

CTRL = np.random.default_rng(0).uniform(-2, 2, (40, 2))


@functools.cache
def problem(integrator="Euler"):
    m = mujoco.MjModel.from_xml_string(scenes.hopper(integrator))
    m.opt.tolerance, m.opt.iterations = 0, 200
    model = jaxsim.put_model(m)
    return m, model, jaxsim.make_data(model).replace(qvel=jnp.asarray([0.5, 0.0, -1.0]))


@functools.cache
def halves():
    _, model, _ = problem()
    return jax.jit(lambda d: jaxsim.step1(model, d)), jax.jit(lambda d: jaxsim.step2(model, d))


@functools.cache
def forward():
    _, model, _ = problem()
    return jax.jit(lambda d: jaxsim.forward(model, d))


@functools.cache
def whole(integrator="Euler"):
    _, model, _ = problem(integrator)
    return jax.jit(lambda d: jaxsim.step(model, d))


def start_c(m, data):
    d = mujoco.MjData(m)
    d.qvel[:] = data.qvel
    return d


def test_halves_make_a_step_as_in_c():
    m, _, data = problem()
    first, second = halves()
    d = start_c(m, data)
    single = data
    for u in CTRL:
        data = first(data)
        mujoco.mj_step1(m, d)
        for name in ("xpos", "cvel", "qfrc_bias", "qfrc_passive", "energy"):
            assert error(getattr(data, name), getattr(d, name)) < TOLERANCE, name
        # sensors of position and velocity are there; in C the rest is still that of the step before
        assert error(data.sensordata[:4], d.sensordata[:4]) < TOLERANCE
        d.ctrl[:] = u
        mujoco.mj_step2(m, d)
        data = second(data.replace(ctrl=jnp.asarray(u)))
        single = whole()(single.replace(ctrl=jnp.asarray(u)))
        for name in RESULTS:
            assert error(getattr(data, name), getattr(single, name)) < 1e-12, name
            if name != "sensordata":
                assert error(getattr(data, name), getattr(d, name)) < TOLERANCE, name
        # an energy sensor is a step late in C's halves
        assert error(data.sensordata[:-1], d.sensordata[:-1]) < TOLERANCE
    assert d.ncon > 0  # the foot stands on the floor


def test_second_half_with_runge_kutta_is_euler():
    m, model, data = problem("RK4")
    d = start_c(m, data)
    mujoco.mj_step1(m, d)
    mujoco.mj_step2(m, d)
    after = jaxsim.step2(model, jaxsim.step1(model, data))
    assert error(after.qpos, d.qpos) < TOLERANCE
    assert error(after.qvel, d.qvel) < TOLERANCE


def _scopes(lowered):
    """The scopes of a program, without the names of files."""
    return " ".join(re.findall(r'"(\w[^"]*)"', lowered.as_text(debug_info=True)))


def test_halves_do_not_repeat_each_other():
    """Each half has stages of its own."""
    _, model, data = problem()
    first, second, step = (
        _scopes(jax.jit(f).lower(data))
        for f in (
            functools.partial(jaxsim.step1, model),
            functools.partial(jaxsim.step2, model),
            functools.partial(jaxsim.step, model),
        )
    )
    position = ("kinematics/", "com_pos/", "crb/", "collision/", "com_vel/", "rne/")
    dynamics = ("fwd_actuation/", "solve/")
    assert all(name in first and name in step and name not in second for name in position)
    assert all(name in second and name in step and name not in first for name in dynamics)


def test_every_stage_is_named_in_the_program():
    _, model, data = problem()
    text = jax.jit(functools.partial(jaxsim.step, model)).lower(data).as_text(debug_info=True)
    for name in (
        "guard_state", "kinematics", "com_pos", "crb", "transmission", "collision", "com_vel", "passive", "rne",
        "fwd_actuation", "fwd_acceleration", "make_constraint", "solve", "sensor_acc", "energy", "euler", "guard_step",
    ):  # fmt: skip
        assert f'"{name}/' in text, name


def test_substeps_are_steps():
    _, model, data = problem()
    data = data.replace(ctrl=jnp.asarray([0.3, -0.2]))
    five = jax.jit(lambda d: jaxsim.step(model, d, 5))(data)
    for _ in range(5):
        data = whole()(data)
    for name in RESULTS:
        assert error(getattr(five, name), getattr(data, name)) < 1e-12, name


@pytest.mark.parametrize("ctrl", [(1e12, 0.5), (np.nan, 0.5), (0.5, 1e12), (-np.inf, 0.5)])
def test_controls_are_judged_after_the_clamp(ctrl):
    """As in C: only what is left after `ctrlrange` can be bad, and then all controls count as zero."""
    m, _, data = problem()
    d = start_c(m, data)
    d.ctrl[:] = ctrl
    mujoco.mj_step(m, d)
    data = data.replace(ctrl=jnp.asarray(ctrl))
    bad = d.warning[mujoco.mjtWarning.mjWARN_BADCTRL].number > 0
    assert bad == (not abs(np.clip(ctrl[0], -1, 1)) <= 1 or abs(ctrl[1]) > 1e10)
    first, second = halves()
    for after in (whole()(data), forward()(data), second(first(data))):
        assert error(after.actuator_force, d.actuator_force) < TOLERANCE
        assert bool(after.warning & jaxsim.WarningBit.BAD_CTRL) == bad
        np.testing.assert_array_equal(after.ctrl, ctrl)


@pytest.mark.parametrize("integrator", ["Euler", "RK4"])
def test_energy_after_a_step(integrator):
    """That of the last evaluation of the dynamics, while sensors are those of the first."""
    m, _, data = problem(integrator)
    d = start_c(m, data)
    mujoco.mj_step(m, d)
    after = whole(integrator)(data)
    assert error(after.energy, d.energy) < TOLERANCE
    assert error(after.sensordata, d.sensordata) < TOLERANCE
    assert (abs(after.energy[1] - after.sensordata[-1]) > 1e-4) == (integrator == "RK4")


STILL = """
<mujoco>
  <worldbody>
    <geom name="floor" type="plane" size="1 1 .1"/>
    <body name="hand" mocap="true" pos="0 0 .05"><geom name="ball" size=".1"/></body>
  </worldbody>
  <contact><pair geom1="floor" geom2="ball"/></contact>
  <sensor><distance geom1="floor" geom2="ball" cutoff="1"/></sensor>
</mujoco>
"""


def test_contacts_where_nothing_moves_have_no_rows():
    m = mujoco.MjModel.from_xml_string(STILL)
    theirs = mujoco.MjData(m)
    mujoco.mj_step(m, theirs)
    model = jaxsim.load_model(STILL)
    data = jaxsim.make_data(model)
    lifted = data.mocap_pos + jnp.array([[0, 0, 0.01]])
    worlds = jax.vmap(lambda x: jaxsim.step(model, data.replace(mocap_pos=x)))(
        jnp.stack([data.mocap_pos, lifted])
    )
    np.testing.assert_array_equal(worlds.ncon, [1, 1])
    np.testing.assert_array_equal(worlds.nefc, [0, 0])
    np.testing.assert_allclose(
        worlds.sensordata[:, 0], [theirs.sensordata[0], theirs.sensordata[0] + 0.01], atol=1e-12
    )
    ours = jaxsim.get_data(m, jax.tree.map(lambda x: x[0], worlds))
    np.testing.assert_allclose(ours.contact.dist, theirs.contact.dist, atol=1e-12)
    np.testing.assert_array_equal(ours.contact.efc_address, theirs.contact.efc_address)

    def distance(x):
        return jaxsim.step(model, data.replace(mocap_pos=x)).sensordata[0]

    np.testing.assert_allclose(jax.grad(distance)(data.mocap_pos), [[0, 0, 1]], atol=1e-12)
