"""Fresh states and keyframes are the C engine's."""

import functools

import jax
import jax.numpy as jnp
import mujoco
import numpy as np
import pytest

import jaxsim
from tests.pipeline import scenes

STATE = (
    "time", "qpos", "qvel", "act", "ctrl", "qacc_warmstart", "qfrc_applied", "xfrc_applied", "eq_active", "mocap_pos",
    "mocap_quat", "userdata",
)  # fmt: skip

XML = scenes.hopper().replace(
    "</worldbody>",
    """<body name="target" mocap="true" pos="1 0 1"><geom type="sphere" size=".1" contype="0" conaffinity="0"/></body>
  </worldbody>
  <equality><connect body1="trunk" body2="leg" anchor="0 0 0" active="false"/></equality>
  <keyframe>
    <key name="low" time="2" qpos=".1 -.05 .3" qvel="1 2 3" act=".5" ctrl=".2 -.3" mpos="3 2 1" mquat="0 1 0 0"/>
    <key qpos="0 .5 0"/>
  </keyframe>""",
)


@functools.cache
def problem():
    m = mujoco.MjModel.from_xml_string(XML)
    model = jaxsim.put_model(m)
    used = jaxsim.make_data(model).replace(
        qpos=jnp.ones(3),
        ctrl=jnp.ones(2),
        time=jnp.ones(()),
        warning=jnp.asarray(3),
        eq_active=jnp.asarray([True]),
    )
    return m, model, used


@pytest.mark.parametrize(("keyframe", "number"), [(None, -1), ("low", 0), (0, 0), (1, 1), (np.int64(1), 1)])
def test_reset_as_in_c(keyframe, number):
    m, model, used = problem()
    d = mujoco.MjData(m)
    d.qpos[:], d.ctrl[:], d.eq_active[:] = 1, 1, 1
    mujoco.mj_resetDataKeyframe(m, d, number)
    data = jaxsim.reset(model, used, keyframe)
    for name in STATE:
        np.testing.assert_array_equal(getattr(data, name), getattr(d, name), err_msg=name)
    assert int(data.warning) == 0
    fresh = jaxsim.make_data(model)
    types = [[(x.shape, x.dtype) for x in jax.tree.leaves(tree)] for tree in (data, fresh)]
    assert types[0] == types[1]


def test_keyframes_over_worlds_and_derivatives():
    _, model, used = problem()
    chosen = jax.jit(jax.vmap(lambda k: jaxsim.reset(model, used, k).qpos))(jnp.asarray([1, 0, 1]))
    np.testing.assert_array_equal(chosen, model.key_qpos[np.array([1, 0, 1])])

    def moved(frames):
        return jaxsim.reset(model.replace(key_qpos=frames), used, "low").qpos

    np.testing.assert_array_equal(jax.jacrev(moved)(model.key_qpos)[:, 0], np.eye(3))


def test_refuses():
    _, model, used = problem()
    with pytest.raises(KeyError, match="no key named 'high'"):
        jaxsim.reset(model, used, "high")
    with pytest.raises(IndexError, match="no key number 2"):
        jaxsim.reset(model, used, 2)
    with pytest.raises(ValueError, match="2 worlds"):
        jaxsim.reset(model, jax.tree.map(lambda x: jnp.stack([x, x]), used))


def test_takes_the_c_engines_model():
    m, model, _ = problem()
    ours, theirs = jaxsim.make_data(model), jaxsim.make_data(m)
    assert jax.tree.structure(ours) == jax.tree.structure(theirs)
    assert all(np.array_equal(a, b) for a, b in zip(*map(jax.tree.leaves, (ours, theirs)), strict=True))
    with pytest.raises(TypeError, match="not str"):
        jaxsim.make_data("humanoid.xml")


@pytest.mark.parametrize("keyframe", [None, 0])
@pytest.mark.parametrize("delay", ["", 'delay=".004" nsample="3"'])
def test_a_commanded_orientation_is_the_identity(delay, keyframe):
    """Also of the samples of a delayed one, and after a state that was not finite."""
    xml = f"""<mujoco><worldbody><body><joint name="b" type="ball"/><geom type="box" size=".1 .2 .3"/></body>
      </worldbody>
      <actuator><motor joint="b" gear="1 0 0"/><orientation joint="b" kp="2" input="quat" {delay}/></actuator>
      <keyframe><key/></keyframe></mujoco>"""
    m = mujoco.MjModel.from_xml_string(xml)
    d = mujoco.MjData(m)
    mujoco.mj_resetDataKeyframe(m, d, -1 if keyframe is None else keyframe)
    model = jaxsim.load_model(xml)
    data = jaxsim.make_data(model)
    states = [jaxsim.reset(model, data, keyframe)]
    if keyframe is None:
        lost = jax.vmap(lambda v: data.replace(qvel=v))(jnp.asarray([[0.0, 0, 0], [jnp.nan, 0, 0]]))
        after = jax.jit(jax.vmap(jaxsim.step, (None, 0)))(model, lost)
        np.testing.assert_array_equal(after.ctrl[1], after.ctrl[0])
        states.append(data)
    for state in states:
        np.testing.assert_array_equal(state.ctrl, d.ctrl)
        np.testing.assert_array_equal(state.history, d.history)
