"""Models that use every feature of the smooth dynamics, as XML strings."""

from pathlib import Path

_HERE = Path(__file__).parent

MIXED = (_HERE / "mixed.xml").read_text()
"""All joint types, several a body, off-centre inertias, static and mocap bodies, tendons, every transmission."""

SENSORS = (_HERE / "sensors.xml").read_text()
"""Every sensor, with contacts, limits, a connect and a weld."""

FREE = (_HERE / "free.xml").read_text()
"""Free bodies alone, with a welded body, and with a moving one; tendons that couple dofs beyond the sparsity of M."""
HOPPER = """
<mujoco>
  <option timestep="0.005" integrator="{integrator}"><flag energy="enable" autoreset="{autoreset}"/></option>
  <worldbody>
    <geom type="plane" size="5 5 .1"/>
    <body name="trunk" pos="0 0 .32">
      <joint name="x" type="slide" axis="1 0 0"/>
      <joint name="z" type="slide" axis="0 0 1"/>
      <geom name="trunk" type="sphere" size=".08"/>
      <site name="imu"/>
      <body name="leg">
        <joint name="hip" axis="0 1 0" damping=".05" limited="true" range="-60 60"/>
        <geom name="foot" type="capsule" fromto="0 0 -.05 0 0 -.3" size=".03"/>
      </body>
    </body>
  </worldbody>
  <actuator>
    <motor name="hip" joint="hip" gear="2" ctrllimited="true" ctrlrange="-1 1"/>
    <general name="push" joint="x" dyntype="filter" dynprm=".05" gainprm="3"/>
  </actuator>
  <sensor>
    <framepos objtype="body" objname="leg"/>
    <jointvel joint="hip"/>
    <accelerometer site="imu"/>
    <actuatorfrc actuator="hip"/>
    <e_kinetic/>
  </sensor>
</mujoco>
"""
"""Small and complete: a contact, a limit, both kinds of actuators, sensors of every stage, energy."""


def hopper(integrator="Euler", autoreset="enable"):
    """The hopper's XML."""
    return HOPPER.format(integrator=integrator, autoreset=autoreset)


FLUID = (_HERE / "fluid.xml").read_text()
"""Bodies in a dense medium with wind: both models of fluid forces, in trees, alone, and sliding."""

INVERSE = (_HERE / "inverse.xml").read_text()
"""Every kind of force on a few bodies: contacts, limits, friction, an equality, dampers, servos, a medium."""
