"""A thousand steps without contacts end where the C engine's do."""

import jax
import jax.numpy as jnp
import mujoco
import numpy as np
import pytest

import jaxsim
from tests.pipeline.oracle import error

STEPS = 1000

MODEL = """
<mujoco>
  <option timestep="0.002" integrator="{integrator}"><flag contact="disable"/></option>
  <default><joint damping="0.05" armature="0.01"/></default>
  <worldbody>
    <body name="kite" pos="0 0 2">
      <freejoint/>
      <geom type="box" size=".2 .1 .04" density="300"/>
      <body name="tail" pos="-.2 0 0">
        <joint name="tail" type="ball" stiffness="0.3" damping="0.02"/>
        <geom type="capsule" fromto="0 0 0 -.3 0 .05" size=".02"/>
      </body>
    </body>
    <body name="crane" pos="1 0 1">
      <joint name="turn" axis="0 0 1"/>
      <geom type="capsule" fromto="0 0 0 .5 0 0" size=".04"/>
      <body name="trolley" pos=".3 0 0">
        <joint name="run" type="slide" axis="1 0 0" stiffness="20" springref="0.1"/>
        <geom type="sphere" size=".06"/>
        <body name="load" pos="0 0 -.1">
          <joint name="swing" axis="0 1 0"/>
          <joint name="sway" axis="1 0 0"/>
          <geom type="cylinder" size=".03 .1" pos="0 0 -.2"/>
        </body>
      </body>
    </body>
  </worldbody>
  <tendon><fixed name="pull"><joint joint="turn" coef="0.3"/><joint joint="run" coef="1"/></fixed></tendon>
  <actuator>
    <motor joint="turn" gear="2"/>
    <position joint="run" kp="15" kv="1"/>
    <general tendon="pull" dyntype="filter" dynprm="0.1" gainprm="3"/>
  </actuator>
</mujoco>
"""


@pytest.mark.parametrize("integrator", ["Euler", "RK4"])
def test_thousand_steps(integrator):
    """Two seconds of tumbling and swinging, whose errors grow by no more than a few orders above round-off."""
    xml = MODEL.format(integrator=integrator)
    m, model = mujoco.MjModel.from_xml_string(xml), jaxsim.load_model(xml)
    rng = np.random.default_rng(0)
    ctrl = np.cumsum(0.1 * rng.standard_normal((STEPS, m.nu)), axis=0)
    d = mujoco.MjData(m)
    d.qvel[:] = rng.standard_normal(m.nv)
    data = jaxsim.make_data(model).replace(qvel=jnp.asarray(d.qvel))
    final, _ = jax.jit(lambda data, ctrl: jaxsim.rollout(model, data, ctrl))(data, jnp.asarray(ctrl))
    start = d.qpos.copy()
    for u in ctrl:
        d.ctrl[:] = u
        mujoco.mj_step(m, d)
    for name in ("qpos", "qvel", "act", "time"):
        assert error(getattr(final, name), getattr(d, name)) < 1e-6, name
    assert error(start, d.qpos) > 0.1
