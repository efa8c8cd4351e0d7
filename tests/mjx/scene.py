"""A scene for scripts written for MJX: a free ball on a floor, a driven pendulum, a mocap body, sensors."""

import mujoco
import numpy as np

XML = """
<mujoco>
  <option timestep="0.004" iterations="8"/>
  <worldbody>
    <geom name="floor" type="plane" size="2 2 1"/>
    <body name="ball" pos="0 0 0.095">
      <freejoint name="root"/>
      <geom name="ball" type="sphere" size="0.1"/>
      <site name="mark" pos="0.05 0 0"/>
    </body>
    <body name="rod" pos="1 0 1">
      <joint name="hinge" axis="0 1 0" damping="0.1"/>
      <geom name="rod" type="capsule" size="0.04" fromto="0 0 0 0.4 0 0" contype="0" conaffinity="0"/>
      <body name="tip" pos="0.4 0 0">
        <joint name="ankle" axis="0 1 0" range="-1 1" limited="true"/>
        <geom name="tip" type="capsule" size="0.03" fromto="0 0 0 0.3 0 0" contype="0" conaffinity="0"/>
      </body>
    </body>
    <body name="goal" mocap="true" pos="0 1 1"><geom size="0.02" contype="0" conaffinity="0"/></body>
  </worldbody>
  <tendon><fixed name="both"><joint joint="hinge" coef="1"/><joint joint="ankle" coef="-0.5"/></fixed></tendon>
  <actuator>
    <motor name="drive" joint="hinge" gear="2"/>
    <position name="servo" joint="ankle" kp="3"/>
  </actuator>
  <sensor>
    <framelinvel name="speed" objtype="body" objname="ball"/>
    <jointpos name="angle" joint="hinge"/>
    <framepos name="place" objtype="site" objname="mark"/>
  </sensor>
  <keyframe><key name="home" qpos="0.1 0 0.095 1 0 0 0 0.3 -0.2" ctrl="0.5 0.1"/></keyframe>
</mujoco>
"""


def engine(steps=0, ctrl=(0.3, -0.2)):
    """The C engine's model and its data after some steps."""
    m = mujoco.MjModel.from_xml_string(XML)
    d = mujoco.MjData(m)
    d.ctrl[:] = ctrl
    d.qvel[0] = 0.4
    for _ in range(steps):
        mujoco.mj_step(m, d)
    return m, d


def close(a, b, tolerance=1e-9):
    np.testing.assert_allclose(np.asarray(a), np.asarray(b), rtol=tolerance, atol=tolerance)
