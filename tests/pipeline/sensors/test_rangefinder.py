"""Range finders of sites and cameras, with all their data, equal the C engine's and differentiate."""

import itertools

import jax
import jax.numpy as jnp
import mujoco
import numpy as np
import pytest

import jaxsim
from jaxsim import worlds
from jaxsim.interop.mujoco import put_model
from jaxsim.pipeline.integrate import integrate_pos
from jaxsim.pipeline.make_data import make_data
from jaxsim.results import UnsupportedError
from tests.pipeline.oracle import error, put_state, states

WORDS = ("dist", "dir", "origin", "point", "normal", "depth")
SCENE = """<mujoco><option><flag contact="disable"/></option>
<asset><mesh name="tetra" vertex="0 0 0  1 0 0  0 1 0  0 0 1" scale=".6 .6 .6"/>
<hfield name="hill" nrow="4" ncol="5" size="1 1 .4 .2" elevation="{hill}"/></asset>
<worldbody><geom type="plane" size="3 3 1" pos="0 0 -.5"/><geom type="hfield" hfield="hill" pos="1 1 -.2"/>
  <site name="up" pos="0 0 -.4"/><site name="nothing" pos="5 5 5"/>
  <body name="a" pos="0 0 1"><freejoint/><geom size=".2"/><site name="down" euler="180 0 0"/>
    <site name="aside" euler="90 20 0"/><camera name="cam" resolution="5 4" fovy="80" euler="20 10 5"/>
    <camera name="lens" resolution="4 3" focal=".01 .012" sensorsize=".02 .015" principal=".001 .002"/>
    <camera name="flat" resolution="3 4" projection="orthographic" fovy="2"/></body>
  <body name="b" pos=".3 .2 .3"><freejoint/><geom type="box" size=".3 .2 .1"/></body>
  <body name="c" pos="-.3 .2 .3"><freejoint/><geom type="mesh" mesh="tetra"/></body>
</worldbody><sensor>{sensors}</sensor></mujoco>""".format(
    hill=" ".join(str(x) for x in np.random.default_rng(0).random(20).round(2)),
    sensors="".join(
        f"<rangefinder {source} data='{data}' cutoff='{cutoff}'/>"
        for source, (data, cutoff) in itertools.product(
            (
                "site='up'",
                "site='down'",
                "site='aside'",
                "site='nothing'",
                "camera='cam'",
                "camera='lens'",
                "camera='flat'",
            ),
            (("dist", 0), (" ".join(WORDS), 0), ("dist normal", 0.7)),
        )
    ),
)


def load():
    m = mujoco.MjModel.from_xml_string(SCENE)
    model = put_model(m)
    return m, model, make_data(model)


def test_equals_the_c_engine():
    m, model, data = load()
    theirs = list(states(m, 4))
    batch = jax.tree.map(lambda *x: jnp.stack(x), *(put_state(model, d, data) for d in theirs))
    ours = jax.jit(jax.vmap(jaxsim.forward, (None, 0)))(model, batch)
    for k, d in enumerate(theirs):
        mujoco.mj_forward(m, d)
        for i in range(m.nsensor):
            at = slice(m.sensor_adr[i], m.sensor_adr[i] + m.sensor_dim[i])
            lens = m.sensor_objtype[i] == mujoco.mjtObj.mjOBJ_CAMERA and m.sensor_objid[i] == 1
            tolerance = 1e-7 if lens else 1e-9  # C divides a camera's sensor size in float32
            assert error(ours.sensordata[k, at], d.sensordata[at]) < tolerance, i
        assert (d.sensordata[: m.sensor_adr[12]] == -1).any()


def test_derivatives():
    m, model, data = load()
    data = put_state(model, list(states(m, 3))[2], data)
    integrate = worlds.lift(integrate_pos)

    def outputs(x):
        return jaxsim.forward(model, data.replace(qpos=integrate(model, data.qpos, x, 1.0))).sensordata

    h, x = 1e-7, jnp.asarray(np.random.default_rng(0).standard_normal(m.nv))
    numeric = (jax.jit(outputs)(h * x) - outputs(-h * x)) / (2 * h)
    push = jax.jit(lambda x: jax.jvp(outputs, (jnp.zeros(m.nv),), (x,))[1])(x)
    np.testing.assert_allclose(push, numeric, rtol=1e-5, atol=1e-5)
    assert jnp.count_nonzero(push) > 100


def test_refuses_what_it_cannot_see():
    _, model, _ = load()
    sdf = model.replace(geom_type=np.where(model.geom_type == 7, 8, model.geom_type).astype(np.int32))
    with pytest.raises(UnsupportedError, match="rays against geoms of type sdf"):
        make_data(sdf)
