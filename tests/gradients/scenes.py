"""Models with the situations that a derivative must survive, each on a body of its own, and states of them.

Penetrations stay off the impedance width of 1 mm: there the second derivative jumps, and central differences lose an
order. No two geoms in contact have the same friction, since the larger counts.
"""

from __future__ import annotations

import mujoco
import numpy as np

OBJECTS = """
<mujoco model="objects">
  <option timestep="0.002" tolerance="1e-14" iterations="50" cone="{cone}" impratio="1.5" gravity="0.4 0.3 -9.81"/>
  <default><geom density="800" friction="0.6 0.02 0.03" condim="6" conaffinity="0"/></default>
  <worldbody>
    <geom name="floor" type="plane" size="0 0 1" friction="0.3 0.001 0.00001" condim="1" conaffinity="1"/>
    <body name="box" pos="0 0 0.1"><freejoint/><geom type="box" size="0.15 0.12 0.1" condim="3"/></body>
    <body name="capsule" pos="1 0 0.1" euler="90 0 0"><freejoint/><geom type="capsule" size="0.1 0.2"/></body>
    <body name="sphere" pos="2 0 0.1"><freejoint/><geom size="0.1" solimp="0.8 0.97 0.004 0.4 3"/></body>
    <body name="puck" pos="3 0 0.1"><freejoint/><geom size="0.1" condim="1" solref="0.03 0.8"/></body>
  </worldbody>
</mujoco>
"""
"""Free bodies on a floor that is slightly tilted: what rests has to stick. The puck has no friction."""

FREE = {"box": 0.1, "capsule": 0.1, "sphere": 0.1, "puck": 0.1}
"""Heights at which they touch the floor, m."""


def resting(m: mujoco.MjModel) -> mujoco.MjData:
    """After two seconds; the puck has slid away."""
    d = mujoco.MjData(m)
    mujoco.mj_step(m, d, nstep=1000)
    return d


def sliding(m: mujoco.MjModel) -> mujoco.MjData:
    """In contact and on the move, each in its way; rolling and spinning where the contact resists it."""
    speed = {
        "box": (1.5, 0.4, 0, 0, 0, 0.2),
        "capsule": (0.02, 0.5, -0.01, 0.1, -0.2, 3.0),
        "sphere": (0.8, -0.5, -0.02, 0.3, 9.0, -0.1),
        "puck": (0.5, 0.1, -0.05, 0.3, 0.4, 0.2),
    }
    return _placed(m, speed, -0.0014)


def bouncing(m: mujoco.MjModel) -> mujoco.MjData:
    """Falling; all touch within ten steps, the sphere in the first."""
    speed = {
        "box": (0.3, 0.1, -1.0, 0.1, -0.2, 0.1),
        "capsule": (0.3, 0.1, -1.0, 0.2, 0.1, -1.0),
        "sphere": (0.3, 0.1, -3.3, 2.0, 1.0, -1.0),
        "puck": (0.5, 0.1, -1.3, 0.3, 0.4, 0.2),
    }
    d = _placed(m, speed, 0.0046)
    d.qpos[_address(m, "sphere") + 2] = 0.0993
    return d


def still(m: mujoco.MjModel) -> mujoco.MjData:
    """At zero velocity and untilted, sunk in by 1.4 mm: at the apex of every cone."""
    return _placed(m, {}, -0.0014)


def flying(m: mujoco.MjModel) -> mujoco.MjData:
    """A metre above the floor, at rest."""
    return _placed(m, {}, 1.0)


def _placed(m: mujoco.MjModel, speed: dict[str, tuple[float, ...]], height: float) -> mujoco.MjData:
    """Every body at qpos0 but for its height over the floor."""
    d = mujoco.MjData(m)
    for name, touching in FREE.items():
        d.qpos[_address(m, name) + 2] = touching + height
        d.qvel[m.body(name).dofadr[0] :][:6] = speed.get(name, (0,) * 6)
    return d


def _address(m: mujoco.MjModel, body: str) -> int:
    return int(m.jnt(m.body(body).jntadr[0]).qposadr[0])


JOINTS = """
<mujoco model="joints">
  <option timestep="0.002" tolerance="1e-14" iterations="50"/>
  <default><geom density="800" contype="0" conaffinity="0"/></default>
  <worldbody>
    <body name="limited arm" pos="0 0 2">
      <joint name="shoulder" axis="0 1 0" range="-40 60" limited="true" damping="0.3" frictionloss="0.05"
             armature="0.01"/>
      <geom type="capsule" fromto="0 0 0 0.3 0 0" size="0.04"/>
      <body pos="0.3 0 0">
        <joint name="wrist" type="ball" range="0 30" limited="true" damping="0.02" stiffness="2"/>
        <geom type="capsule" fromto="0 0 0 0.25 0 0.05" size="0.03"/>
      </body>
    </body>
    <body name="sticking" pos="1 0 2">
      <joint axis="0 0.2 1" type="slide" frictionloss="300"/><geom size="0.1"/>
    </body>
    <body name="slipping" pos="2 0 2">
      <joint axis="0 0.2 1" type="slide" frictionloss="10"/><geom size="0.1"/>
    </body>
    <body name="spring" pos="3 0 2">
      <joint name="spring" axis="0 0.2 1" type="slide" stiffness="300" damping="4" springref="0.1"/><geom size="0.1"/>
    </body>
    <body name="servo" pos="4 0 2">
      <joint name="servo" axis="0 1 0"/><geom type="capsule" fromto="0 0 0 0.3 0 0" size="0.04"/>
      <body pos="0.3 0 0">
        <joint name="filtered" axis="0 1 0"/><geom type="capsule" fromto="0 0 0 0.2 0 0" size="0.04"/>
      </body>
    </body>
    <body name="flyer" pos="5 0 2"><freejoint/><geom type="box" size="0.1 0.2 0.3"/></body>
    <body name="connected" pos="6 0 2">
      <freejoint/><geom type="box" size="0.1 0.05 0.03"/>
      <body name="other end" pos="0.3 0 0">
        <joint name="driver" axis="0 1 0"/><geom type="capsule" fromto="0 0 0 0.2 0 0" size="0.03"/>
        <body pos="0.2 0 0">
          <joint name="follower" axis="0 1 0"/><geom type="capsule" fromto="0 0 0 0.2 0 0" size="0.03"/>
        </body>
      </body>
    </body>
    <body name="welded" pos="6 1 2"><freejoint/><geom type="box" size="0.1 0.05 0.03"/></body>
  </worldbody>
  <tendon>
    <fixed name="rod" limited="true" range="-0.1 0.1" stiffness="20" damping="0.5">
      <joint joint="servo" coef="1"/><joint joint="filtered" coef="-0.7"/>
    </fixed>
  </tendon>
  <actuator>
    <motor joint="shoulder" gear="3"/>
    <position joint="servo" kp="40" kv="2"/>
    <general joint="filtered" dyntype="filter" dynprm="0.03" gaintype="affine" gainprm="3 0.5 -0.2"
             biastype="affine" biasprm="0.3 -2 -0.1"/>
    <velocity joint="spring" kv="3"/>
  </actuator>
  <equality>
    <connect body1="connected" anchor="-0.1 0 0"/>
    <weld body1="connected" body2="welded"/>
    <joint joint1="follower" joint2="driver" polycoef="0 0.5 0.3 0 0"/>
  </equality>
</mujoco>
"""
"""Chains in the air, without contacts."""


def moving(m: mujoco.MjModel) -> mujoco.MjData:
    """Limits passed, dry friction in both states, equalities with an error, springs and servos in motion."""
    d = mujoco.MjData(m)
    rng = np.random.default_rng(4)
    d.qvel[:] = 0.3 * rng.standard_normal(m.nv)
    mujoco.mj_integratePos(m, d.qpos, 0.02 * rng.standard_normal(m.nv), 1.0)
    d.joint("shoulder").qpos[:] = np.deg2rad(60.5)
    d.joint("shoulder").qvel[:] = 0.7
    d.joint("wrist").qpos[:] = [np.cos(0.27), 0.6 * np.sin(0.27), 0, 0.8 * np.sin(0.27)]
    d.joint("servo").qpos[:] = 0.2
    d.joint("filtered").qpos[:] = 0.08
    d.qvel[m.body("sticking").dofadr[0]] = 0.002
    d.qvel[m.body("slipping").dofadr[0]] = -0.5
    d.act[:] = 0.3
    d.ctrl[:] = [0.2, 1.5, 0.8, 0.1]
    return d


def satisfied(m: mujoco.MjModel) -> mujoco.MjData:
    """At qpos0 and at zero velocity: all equalities hold exactly, springs of ball joints are relaxed."""
    return mujoco.MjData(m)


RUNGE_KUTTA = """
<mujoco model="Runge-Kutta">
  <option timestep="0.004" tolerance="1e-14" iterations="50" integrator="RK4"/>
  <worldbody>
    <geom name="floor" type="plane" size="0 0 1" friction="0.3 0.001 0.00001"/>
    <body name="limited arm" pos="0 0 2">
      <joint name="shoulder" axis="0 1 0" range="-40 60" limited="true" damping="0.3" frictionloss="0.05"/>
      <geom type="capsule" fromto="0 0 0 0.3 0 0" size="0.04"/>
      <body pos="0.3 0 0">
        <joint name="wrist" type="ball" damping="0.02" stiffness="2"/>
        <geom type="capsule" fromto="0 0 0 0.25 0 0.05" size="0.03" contype="0" conaffinity="0"/>
      </body>
    </body>
    <body name="sphere" pos="3 0 0.0986"><freejoint/><geom size="0.1" friction="0.6 0.02 0.03"/></body>
  </worldbody>
  <actuator><general joint="shoulder" dyntype="filter" dynprm="0.03" gainprm="3"/></actuator>
</mujoco>
"""


def runge_kutta(m: mujoco.MjModel) -> mujoco.MjData:
    """The arm past its limit, the sphere sliding."""
    d = mujoco.MjData(m)
    d.qvel[:] = 0.3 * np.random.default_rng(5).standard_normal(m.nv)
    d.joint("shoulder").qpos[:] = np.deg2rad(60.5)
    d.joint("shoulder").qvel[:] = 0.7
    d.qvel[m.body("sphere").dofadr[0] :][:3] = 0.4, 0.1, 0.01
    d.act[:], d.ctrl[:] = 0.3, 0.6
    return d
