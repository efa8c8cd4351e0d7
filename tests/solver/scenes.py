"""Models whose constraints cover all classes of rows, states of them from the C engine, and ours from those."""

import functools

import jax.numpy as jnp
import mujoco
import numpy as np
from numpy.typing import ArrayLike

from jaxsim import worlds
from jaxsim.data import Data
from jaxsim.interop.mujoco import put_model
from jaxsim.model import Model
from jaxsim.pipeline.acceleration import fwd_acceleration
from jaxsim.pipeline.actuation import fwd_actuation
from jaxsim.pipeline.make_data import make_data
from jaxsim.pipeline.stages import fwd_position, fwd_velocity
from jaxsim.pipeline.work import Work

_STATE = ("qpos", "qvel", "ctrl", "eq_active", "qacc_warmstart")

CONTACTS = """
<mujoco>
  <option timestep="0.004" cone="{cone}" impratio="3" jacobian="dense" tolerance="0" iterations="200"
          ls_iterations="100"/>
  <default><geom friction="0.7 0.05 0.01"/></default>
  <worldbody>
    <geom type="plane" size="5 5 .1"/>
    <body pos="0 0 .09"><freejoint/><geom type="sphere" size=".1" condim="1"/></body>
    <body pos=".5 0 .19"><freejoint/><geom type="capsule" size=".1 .1" condim="3" solref="-500 -20"/></body>
    <body pos="1 0 .18"><freejoint/>
      <geom type="capsule" size=".1 .1" condim="4" euler="80 0 0" solimp="0.8 0.95 0.01 0.4 3"/>
    </body>
    <body pos="1.5 0 .09"><freejoint/><geom name="low" type="sphere" size=".1" condim="6"/></body>
    <body pos="1.5 0 .27">
      <joint type="ball" range="0 20" limited="true" margin="0.1"/>
      <joint type="slide" axis="0 0 1" frictionloss="3"/>
      <geom name="high" type="sphere" size=".1" condim="6" pos=".05 0 0"/>
      <body pos=".3 0 0">
        <joint name="h1" axis="0 1 0" frictionloss="0.5" range="-10 10" limited="true" margin="0.3"/>
        <geom type="capsule" size=".05 .1"/>
        <body pos=".3 0 0">
          <joint name="h2" axis="0 1 0.2" range="-30 30" limited="true"/>
          <geom type="capsule" size=".05 .1"/>
        </body>
      </body>
    </body>
  </worldbody>
  <contact>
    <pair geom1="low" geom2="high" condim="4" friction="0.5 0.5 0.1 0.02 0.02" solreffriction="0.05 1.2"/>
  </contact>
  <tendon>
    <fixed limited="true" range="-0.01 0.01" frictionloss="0.2" solreflimit="0.03 0.8">
      <joint joint="h1" coef="1"/><joint joint="h2" coef="-0.7"/>
    </fixed>
  </tendon>
</mujoco>
"""

EQUALITIES = """
<mujoco>
  <option timestep="0.002" jacobian="dense" tolerance="0" iterations="200" ls_iterations="100"/>
  <default><geom contype="0" conaffinity="0"/></default>
  <worldbody>
    <body name="a" pos="0 0 1"><freejoint/><geom type="box" size=".1 .05 .03"/>
      <site name="sa" pos=".1 .02 0" euler="10 20 30"/>
      <body name="a1" pos=".2 0 0"><joint name="j1" axis="0 1 0"/><geom type="capsule" size=".03 .1"/>
        <body name="a2" pos=".2 0 0"><joint name="j2" axis="0 1 0.3"/><geom type="capsule" size=".03 .1"/></body>
      </body>
    </body>
    <body name="b" pos=".5 0 1"><joint type="ball"/><geom type="box" size=".1 .05 .03"/>
      <site name="sb" pos="-.1 .02 0" euler="40 20 30"/>
      <body name="b1" pos=".2 0 0"><joint name="j3" type="slide" axis="0 1 0"/><geom type="sphere" size=".03"/></body>
    </body>
  </worldbody>
  <tendon>
    <fixed name="t1"><joint joint="j1" coef="1"/><joint joint="j2" coef="-0.7"/></fixed>
    <fixed name="t2"><joint joint="j3" coef="2"/></fixed>
  </tendon>
  <equality>
    <connect body1="a" body2="b" anchor=".1 .1 0"/>
    <weld body1="a2" body2="b1" torquescale="0.7" anchor="0.01 0.02 0.03"/>
    <connect site1="sa" site2="sb"/>
    <weld body1="a1"/>
    <weld site1="sa" site2="sb" torquescale="1.3"/>
    <joint joint1="j1" joint2="j2" polycoef="0.1 0.5 0.3 0.2 0.1"/>
    <joint joint1="j3" polycoef="0.1 0 0 0 0"/>
    <tendon tendon1="t1" tendon2="t2" polycoef="0 .5 .1 0 0"/>
    <weld body1="b" body2="a" active="false"/>
  </equality>
</mujoco>
"""

SMALL = """
<mujoco>
  <option timestep="0.004" cone="{cone}" tolerance="0" iterations="200" ls_iterations="100"/>
  <worldbody>
    <geom type="plane" size="5 5 .1"/>
    <body pos="0 0 .19">
      <freejoint/><geom type="capsule" size=".1 .1" condim="{dim}" friction="0.7 0.05 0.01"/>
      <body pos="0 0 .2">
        <joint name="h1" axis="0 1 0" frictionloss="0.5" range="-5 5" limited="true"/>
        <geom type="capsule" size=".05 .1" pos=".1 0 0"/>
      </body>
    </body>
  </worldbody>
</mujoco>
"""

SCENES = {
    "small pyramids": SMALL.format(cone="pyramidal", dim=3),
    "small elliptic cones": SMALL.format(cone="elliptic", dim=4),
    "pyramids": CONTACTS.format(cone="pyramidal"),
    "elliptic cones": CONTACTS.format(cone="elliptic"),
    "equalities": EQUALITIES,
}


def states(m: mujoco.MjModel, steps: tuple[int, ...] = (0, 2, 30)) -> list[mujoco.MjData]:
    """Perturbed states after some steps of the C engine, with all results of mj_forward."""
    found = []
    for seed, n in enumerate(steps):
        rng = np.random.default_rng(seed)
        d = mujoco.MjData(m)
        d.qvel[:] = 0.5 * rng.standard_normal(m.nv)
        mujoco.mj_integratePos(m, d.qpos, 0.1 * rng.standard_normal(m.nv), 1.0)
        for _ in range(n):
            mujoco.mj_step(m, d)
        mujoco.mj_forward(m, d)
        found.append(d)
    return found


@functools.cache
def compiled(name: str) -> tuple[mujoco.MjModel, Model]:
    m = mujoco.MjModel.from_xml_string(SCENES[name])
    return m, put_model(m)


def given(model: Model, d: mujoco.MjData) -> Data:
    """The integration state of the C engine."""
    data = make_data(model)
    return data.replace(**{f: jnp.asarray(getattr(d, f), getattr(data, f).dtype) for f in _STATE})


def smooth(model: Model, data: Data) -> Data:
    """All that constraints depend on; native layout, one world."""
    native, data = worlds.expand(model), worlds.expand(data).replace(work=Work())
    for stage in (fwd_position, fwd_velocity, fwd_actuation, fwd_acceleration):
        data = stage(native, data)
    return data


def assert_close(ours: ArrayLike, theirs: ArrayLike, tolerance: float) -> None:
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=tolerance * (1 + np.max(np.abs(theirs))))
