"""Rows by the objects of an MjSpec, as MJX's bind gives them."""

import jax.numpy as jnp
import mujoco
import numpy as np
import pytest

from jaxsim import mjx

from .scene import XML, close


@pytest.fixture(scope="module")
def scene():
    spec = mujoco.MjSpec.from_string(XML)
    m = spec.compile()
    d = mujoco.MjData(m)
    d.qpos[:] = m.keyframe("home").qpos
    mujoco.mj_forward(m, d)
    return spec, m, d, mjx.put_model(m), mjx.put_data(m, d)


def test_model_rows(scene):
    spec, m, _, model, _ = scene
    close(model.bind(spec.body("rod")).mass, m.bind(spec.body("rod")).mass)
    close(model.bind(spec.geoms).size, m.geom_size)
    assert model.bind(spec.joint("ankle")).id == m.joint("ankle").id
    np.testing.assert_array_equal(model.bind(spec.geoms[1:2]).id, [1])
    np.testing.assert_array_equal(model.bind(spec.geoms).id, np.arange(m.ngeom))
    close(model.bind(spec.joint("ankle")).range, m.bind(spec.joint("ankle")).range)
    close(model.bind(spec.actuator("servo")).gainprm, m.bind(spec.actuator("servo")).gainprm)


def test_what_is_no_model(scene):
    with pytest.raises(TypeError, match="load_model reads files"):
        mjx.put_model("robot.xml")
    _, m, _, model, _ = scene
    np.testing.assert_array_equal(model.dof_hasfrictionloss, m.dof_frictionloss > 0)
    assert model.tendon_hasfrictionloss.shape == (m.ntendon,)


def test_data_rows(scene):
    spec, _, d, model, data = scene
    bound = data.bind(model, spec.joint("root"))
    close(bound.qpos, d.qpos[:7])
    assert bound.qvel.shape == (6,)
    hinge = data.bind(model, spec.joint("hinge"))
    assert hinge.qpos.shape == ()
    close(hinge.qpos, d.qpos[7])
    both = [spec.joint("ankle"), spec.joint("root")]
    close(data.bind(model, both).qfrc_bias, [d.qfrc_bias[7], *d.qfrc_bias[:6]])
    close(data.bind(model, spec.body("tip")).xpos, d.body("tip").xpos)
    close(data.bind(model, spec.body("tip")).xmat, d.body("tip").xmat.reshape(3, 3))
    close(data.bind(model, spec.site("mark")).xpos, d.site("mark").xpos)
    close(data.bind(model, spec.sensor("place")).sensordata, d.sensor("place").data)
    close(data.bind(model, spec.body("goal")).mocap_pos, d.mocap_pos[0])
    close(data.bind(model, spec.tendon("both")).length, d.ten_length[0])
    close(data.bind(model, spec.actuators).ctrl, d.ctrl)


def test_setting(scene):
    spec, _, d, model, data = scene
    after = data.bind(model, spec.joint("hinge")).set("qpos", 0.7)
    assert isinstance(after, mjx.Data)
    close(after.qpos[7], 0.7)
    close(after.qpos[:7], d.qpos[:7])
    after = data.bind(model, spec.actuators).set("ctrl", [1.0, -1.0])
    close(after.ctrl, [1, -1])
    after = data.bind(model, spec.body("goal")).set("mocap_pos", jnp.ones(3))
    close(after.mocap_pos, [[1, 1, 1]])
    after = data.bind(model, spec.body("tip")).set("xfrc_applied", jnp.arange(6.0))
    close(after.xfrc_applied[spec.body("tip").id], range(6))


def test_refusals(scene):
    spec, _, _, model, data = scene
    with pytest.raises(AttributeError, match="an output"):
        data.bind(model, spec.sensor("place")).set("sensordata", 0.0)
    with pytest.raises(AttributeError, match="qpos is not available for this type"):
        _ = data.bind(model, spec.body("tip")).qpos
    with pytest.raises(AttributeError, match="no field 'body_colour'"):
        _ = model.bind(spec.body("tip")).colour
    other = mujoco.MjSpec.from_string(XML)
    other.worldbody.add_body(name="more")
    other.compile()
    with pytest.raises(ValueError, match="signature"):
        model.bind(other.body("tip"))
