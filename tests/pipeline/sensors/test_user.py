"""User sensors: zero without a function, the function's outputs with one; compiled, batched and differentiated."""

import jax
import jax.numpy as jnp
import mujoco
import numpy as np
import pytest

import jaxsim
from jaxsim.interop.mujoco import put_model

XML = """<mujoco><worldbody><geom type="plane" size="5 5 1"/><body name="b" pos="0 0 1"><freejoint/><geom size=".1"/>
  <body pos=".3 0 0"><joint axis="0 1 0"/><geom size=".1"/></body></body></worldbody>
  <sensor><user name="silent" dim="2" needstage="pos"/><clock/>
    <user name="height" dim="1" needstage="pos" datatype="positive" cutoff=".9"/>
    <user name="mix" dim="5" needstage="acc"/><user name="spin" dim="3" needstage="vel"/></sensor></mujoco>"""


def mix(model, data):
    down = jaxsim.ray(model, data, data.xpos[1] - jnp.array([0, 0, 0.2]), jnp.array([0, 0, -1.0])).dist
    return jnp.concatenate([data.cacc[1, :3] * model.body_mass[1], data.qacc[:1], down[None]])


def hooked():
    model = jaxsim.load_model(XML)
    model = jaxsim.user_sensor(model, "height", lambda m, d: d.xpos[1, 2])
    model = jaxsim.user_sensor(model, "spin", lambda m, d: d.subtree_angmom[1])
    return jaxsim.user_sensor(model, 3, mix)


def test_zero_as_in_c_without_a_function():
    m = mujoco.MjModel.from_xml_string(XML)
    d = mujoco.MjData(m)
    mujoco.mj_forward(m, d)
    model = put_model(m)
    np.testing.assert_array_equal(jaxsim.forward(model, jaxsim.make_data(model)).sensordata, d.sensordata)


def test_functions_are_computed_in_each_world():
    model = hooked()
    data = jaxsim.make_data(model).replace(qvel=jnp.arange(7.0))
    heights = jnp.array([1.0, 0.6, 0.8])
    qpos = jnp.tile(data.qpos, (3, 1)).at[:, 2].set(heights)
    ours = jax.jit(jax.vmap(lambda q: jaxsim.forward(model, data.replace(qpos=q))))(qpos)
    shown = ours.sensordata
    np.testing.assert_array_equal(shown[:, :3], 0)
    np.testing.assert_allclose(shown[:, 3], [0.9, 0.6, 0.8])
    np.testing.assert_allclose(shown[:, 4:7], ours.cacc[:, 1, :3] * model.body_mass[1], rtol=1e-12)
    np.testing.assert_allclose(shown[:, 7], ours.qacc[:, 0], rtol=1e-12)
    np.testing.assert_allclose(shown[:, 8], heights - 0.2, rtol=1e-12)
    np.testing.assert_allclose(shown[:, 9:], ours.subtree_angmom[:, 1], rtol=1e-12)
    np.testing.assert_allclose(
        jaxsim.forward(model, data.replace(qpos=qpos[1])).sensordata, shown[1], rtol=1e-9
    )


def test_differentiated_with_the_rest():
    model = hooked()
    data = jaxsim.make_data(model)

    def seen(height):
        return jaxsim.step(model, data.replace(qpos=data.qpos.at[2].set(height))).sensordata[
            jnp.array([3, 8])
        ]

    np.testing.assert_allclose(jax.jacrev(seen)(0.7), [1, 1], rtol=1e-12)


def test_says_what_is_wrong():
    model = hooked()
    with pytest.raises(KeyError, match="no sensor named"):
        jaxsim.user_sensor(model, "none", mix)
    with pytest.raises(ValueError, match="type clock"):
        jaxsim.user_sensor(model, 1, mix)
    with pytest.raises(ValueError, match=r"user sensor 4: its function gives shape \(2,\), not \(3,\)"):
        jaxsim.forward(jaxsim.user_sensor(model, "spin", lambda m, d: d.xpos[1, :2]), jaxsim.make_data(model))
    with pytest.raises(ValueError, match="cannot be saved"):
        jaxsim.save_model(model, "nowhere.npz")
