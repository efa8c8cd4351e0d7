"""One model with the contact situations that a derivative must survive, each on a body of its own.

Penetrations stay off the impedance width of 1 mm: there the second derivative jumps, and central differences lose an
order.
"""

from __future__ import annotations

SCENES = """
<mujoco model="scenes">
  <option timestep="0.002" tolerance="1e-14" iterations="50"/>
  <default><geom density="800" friction="0.6 0.005 0.0001"/></default>
  <worldbody>
    <geom name="floor" type="plane" size="0 0 1"/>
    <body name="box_at_rest" pos="0 0 0.099">
      <freejoint/><geom type="box" size="0.15 0.12 0.1"/>
    </body>
    <body name="sphere_at_rest" pos="1 0 0.0995">
      <freejoint/><geom type="sphere" size="0.1"/>
    </body>
    <body name="capsule_at_rest" pos="2 0 0.0995" euler="90 0 0">
      <freejoint/><geom type="capsule" size="0.1 0.2"/>
    </body>
    <body name="box_sliding" pos="3 0 0.0993">
      <freejoint/><geom type="box" size="0.15 0.12 0.1"/>
    </body>
    <body name="sphere_bouncing" pos="4 0 0.098">
      <freejoint/><geom type="sphere" size="0.1"/>
    </body>
    <body name="arm" pos="5 0 2">
      <joint name="shoulder" axis="0 1 0" range="-40 60" limited="true" damping="0.1"/>
      <geom type="capsule" fromto="0 0 0 0.3 0 0" size="0.04"/>
      <body name="forearm" pos="0.3 0 0">
        <joint name="wrist" type="ball" damping="0.02"/>
        <geom type="capsule" fromto="0 0 0 0.25 0 0.05" size="0.03"/>
      </body>
    </body>
    <body name="flyer" pos="6 0 3">
      <freejoint/><geom type="box" size="0.1 0.2 0.3" contype="0" conaffinity="0"/>
    </body>
  </worldbody>
  <actuator>
    <motor name="shoulder" joint="shoulder" gear="3"/>
  </actuator>
</mujoco>
"""
