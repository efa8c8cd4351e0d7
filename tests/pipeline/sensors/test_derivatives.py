"""Sensor outputs differentiate: jvp against central differences on the manifold, vjp against jvp; odd states too."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxsim
from jaxsim import worlds
from jaxsim.pipeline.integrate import integrate_pos

integrate = worlds.lift(integrate_pos)

FALLING = """<worldbody><site name="w" pos=".1 .2 .3"/>
  <camera name="cam" pos="3 0 1" xyaxes="0 1 0 -.3 0 1" resolution="64 48" fovy="60"/>
  <body name="a" pos="0 0 1"><freejoint/><geom size=".1" pos=".1 0 0"/><site name="s" pos=".1 .2 0"/>
    <body name="b" pos="0 0 .5"><joint name="ball" type="ball"/><geom size=".1" pos="0 .2 0"/>
    <site name="t"/></body></body></worldbody>
  <sensor><ballquat joint="ball"/><ballangvel joint="ball"/><framequat objtype="site" objname="t"/>
  <framequat objtype="body" objname="b" reftype="site" refname="s"/><framexaxis objtype="site" objname="t"/>
  <framepos objtype="site" objname="t" reftype="site" refname="s"/><gyro site="t"/><velocimeter site="s"/>
  <framelinvel objtype="site" objname="t" reftype="site" refname="s"/><accelerometer site="t"/><force site="t"/>
  <subtreeangmom body="a"/><camprojection site="t" camera="cam"/><e_kinetic/><magnetometer site="t"/></sensor>"""
RESTING = """<worldbody><geom name="floor" type="plane" size="5 5 1"/>
  <body name="a" pos="0 0 .14"><freejoint/><geom name="box" type="box" size=".1 .2 .15"/>
    <site name="s" size=".3"/></body>
  <body name="b" pos=".5 0 .09"><freejoint/><geom name="ball" size=".1"/></body></worldbody>
  <sensor><touch site="s"/>
  <contact geom1="box" num="4" data="found force torque dist pos normal tangent linvel angvel"/>
  <contact body1="a" reduce="netforce" data="force torque pos"/>
  <contact geom1="ball" geom2="box" reduce="netforce" data="found force torque pos"/>{}</sensor>"""
CHOOSY = """<contact num="2" reduce="mindist" data="dist pos normal"/>
  <contact num="2" reduce="maxforce" data="force pos"/>"""

EYE = """<worldbody><body name="a"><freejoint/><geom size=".1"/><site name="s" pos=".1 .2 0"/>
  <camera name="cam" pos=".1 .2 0" euler="10 20 30" resolution="64 48"/></body></worldbody>
  <sensor><camprojection site="s" camera="cam"/><framepos objtype="site" objname="s"/></sensor>"""
"""A site in the eye of a camera."""

SCENES = {
    "in a camera's eye": (EYE, 0.1, 1e-7),
    "at identity, at rest": (FALLING, 0.0, 1e-7),
    "moving": (FALLING, 0.5, 1e-7),
    "contact at rest": (RESTING.format(""), 0.0, 1e-5),
    "contact, sliding": (RESTING.format(CHOOSY), 0.01, 1e-5),
}
"""XML, how far the state is from the start, tolerance: of differences, and of the solver's optimum under them.

A box at rest has four contacts alike: which of them is the nearest has no derivative, so nothing chooses there.
"""

QUICK = ("moving", "in a camera's eye")


def problem(xml, spread):
    model = jaxsim.load_model(f"<mujoco><option tolerance='0' iterations='100'/>{xml}</mujoco>")
    data = jaxsim.make_data(model)
    rng = np.random.default_rng(0)
    data = data.replace(
        qpos=integrate(model, data.qpos, spread * rng.standard_normal(model.nv), 1.0),
        qvel=jnp.asarray(2 * spread * rng.standard_normal(model.nv)),
    )

    def function(x):
        qpos = integrate(model, data.qpos, x["qpos"], 1.0)
        return jaxsim.forward(model, data.replace(qpos=qpos, qvel=data.qvel + x["qvel"])).sensordata

    zero = {"qpos": jnp.zeros(model.nv), "qvel": jnp.zeros(model.nv)}
    directions = {k: jnp.asarray(rng.standard_normal((3, model.nv))) for k in zero}
    return function, zero, directions


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=[pytest.mark.slow] * (n not in QUICK)) for n in SCENES]
)
def test_against_differences_and_duality(name):
    xml, spread, tolerance = SCENES[name]
    function, zero, directions = problem(xml, spread)

    def all_of_it(directions, weights):
        h = 1e-6
        ahead, behind = (
            jax.vmap(lambda dx, s=s: function(jax.tree.map(lambda d: s * h * d, dx)))(directions)
            for s in (1, -1)
        )
        push = jax.vmap(lambda dx: jax.jvp(function, (zero,), (dx,))[1])(directions)
        pull = jax.vjp(function, zero)[1](weights)[0]
        return (ahead - behind) / (2 * h), push, pull

    weights = jnp.asarray(np.random.default_rng(1).standard_normal(function(zero).shape))
    numeric, push, pull = jax.jit(all_of_it)(directions, weights)
    scale = 1 + jnp.max(jnp.abs(numeric), axis=0)
    assert jnp.isfinite(push).all()
    assert float(jnp.max(jnp.abs(push - numeric) / scale)) < tolerance
    left = sum(directions[k] @ pull[k] for k in pull)
    np.testing.assert_allclose(left, push @ weights, rtol=1e-9, atol=1e-9 * float(jnp.max(jnp.abs(push))))
