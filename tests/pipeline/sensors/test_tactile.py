"""Tactile sensors equal the C engine's and differentiate."""

import jax
import jax.numpy as jnp
import mujoco
import numpy as np
import pytest

import jaxsim
from jaxsim.interop.mujoco import put_model
from jaxsim.pipeline.make_data import make_data
from jaxsim.results import UnsupportedError
from tests.pipeline.oracle import put_state

ASSETS = """<asset><mesh name="pad" builtin="plate" params="6 5" scale=".2 .15 .1"/>
  <mesh name="bare" builtin="sphere" params="1" scale=".1 .1 .1"/></asset>"""
SKIN = """<geom name="skin" type="mesh" mesh="pad" pos="0 0 .11" euler="0 10 20" contype="0" conaffinity="0"/>
  <geom name="dull" type="mesh" mesh="bare" contype="0" conaffinity="0" pos="0 0 .05"/>"""
SENSORS = (
    """<sensor><tactile geom="skin" mesh="pad"/><tactile geom="dull" mesh="bare" cutoff=".03"/></sensor>"""
)
OTHERS = """<body pos="-.12 -.03 .06"><freejoint/><geom size=".08"/><geom size=".05" pos=".1 .02 0"/></body>
  <body pos="2 0 0"><freejoint/><geom size=".08"/></body>"""
HAND = """<body><freejoint/><geom type="box" size=".2 .15 .05" pos="0 0 -.04" euler="0 10 0"/>
  <body><geom size=".01" pos="0 0 -1"/>{skin}</body></body>"""
FLOOR = """<geom type="plane" size="1 1 1" contype="3" conaffinity="3"/>{skin}"""
SCENES = {
    "sphere": (HAND, 'size=".1"'),
    "box": (HAND, 'type="box" size=".08 .07 .09"'),
    "capsule": (HAND, 'type="capsule" size=".06 .05" euler="80 10 0"'),
    "ellipsoid": (FLOOR, 'contype="2" conaffinity="2" type="ellipsoid" size=".06 .05 .09"'),
    "cylinder": (FLOOR, 'contype="2" conaffinity="2" type="cylinder" size=".06 .09" euler="20 0 0"'),
}


def load(name):
    carrier, geom = SCENES[name]
    own = f"{carrier.format(skin=SKIN)}<body pos='.05 .03 .07'><freejoint/><geom {geom}/></body>"
    m = mujoco.MjModel.from_xml_string(
        f"<mujoco>{ASSETS}<worldbody>{own}{OTHERS}</worldbody>{SENSORS}</mujoco>"
    )
    return m, put_model(m)


def states(m, n):
    rng = np.random.default_rng(0)
    for k in range(n):
        d = mujoco.MjData(m)
        mujoco.mj_integratePos(m, d.qpos, 0.02 * k * rng.standard_normal(m.nv), 1.0)
        d.qvel[:] = rng.standard_normal(m.nv)
        mujoco.mj_forward(m, d)
        yield d


@pytest.mark.parametrize("name", SCENES)
def test_equals_the_c_engine(name):
    m, model = load(name)
    data = make_data(model)
    forward = jax.jit(jaxsim.forward)
    for d in states(m, 4):
        assert np.count_nonzero(d.sensordata) > 2
        ours = forward(model, put_state(model, d, data)).sensordata
        np.testing.assert_allclose(ours, d.sensordata, rtol=1e-9, atol=1e-9)


def test_derivatives():
    m, model = load("box")
    data = make_data(model)
    data = put_state(model, list(states(m, 3))[2], data)

    def outputs(x):
        qpos = jaxsim.integrate_pos(model, data.qpos, x["qpos"], 1.0)
        return jaxsim.forward(model, data.replace(qpos=qpos, qvel=data.qvel + x["qvel"])).sensordata

    h, rng = 1e-7, np.random.default_rng(1)
    x = {k: jnp.asarray(rng.standard_normal(m.nv)) for k in ("qpos", "qvel")}
    ahead, behind = (jax.jit(outputs)(jax.tree.map(lambda d, s=s: s * h * d, x)) for s in (1, -1))
    push = jax.jit(lambda x: jax.jvp(outputs, (jax.tree.map(jnp.zeros_like, x),), (x,))[1])(x)
    np.testing.assert_allclose(push, (ahead - behind) / (2 * h), rtol=1e-6, atol=1e-6)
    assert jnp.count_nonzero(push) > 4


def test_names_what_it_cannot_feel():
    _, model = load("box")
    sdf = model.replace(geom_type=np.where(model.geom_type == 2, 8, model.geom_type).astype(np.int32))
    with pytest.raises(UnsupportedError, match="tactile contact with signed distance or height fields"):
        make_data(sdf)
