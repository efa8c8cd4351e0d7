"""Keyframes against the C compiler."""

import mujoco
import pytest

from jaxsim import MjcfError, load_model
from tests.compile.oracle import check

MODEL = """<mujoco><compiler angle="radian"/><worldbody>
  <body pos="7 8 9" quat=".6 .8 0 0"><freejoint/><geom size=".1"/></body>
  <body><joint type="slide" ref="3"/><geom size=".1"/><body><joint type="ball"/><geom size=".1"/>
    <body><joint name="h" ref=".4"/><geom size=".1"/></body></body></body>
  <body mocap="true" pos="5 6 7" quat=".6 0 .8 0"/><body mocap="true" pos="8 9 10"/></worldbody>
  <actuator><motor joint="h"/><general joint="h" dyntype="integrator"/><pid joint="h" kp="1" ki="1"/></actuator>
  <keyframe><key/><key {}/></keyframe></mujoco>"""

WIDTH = {"qpos": 13, "qvel": 11, "act": 2, "ctrl": 4, "mpos": 6, "mquat": 8}


@pytest.mark.parametrize("vector", WIDTH)
def test_short_vectors_are_completed(vector):
    """Issue 7, bug 18: what is missing is zero, or the reference; poses of mocap bodies are taken whole."""
    for count in range(WIDTH[vector] + 1):
        check(MODEL.format(f'{vector}="{" ".join(str(k + 2) for k in range(count))}"'))


@pytest.mark.parametrize("vector", WIDTH)
def test_long_vectors_are_refused(vector):
    xml = MODEL.format(f'{vector}="{"1 " * (WIDTH[vector] + 1)}"')
    with pytest.raises(ValueError, match="invalid"):
        mujoco.MjModel.from_xml_string(xml)
    with pytest.raises(MjcfError, match=f'attribute {vector}="1 .*expected at most {WIDTH[vector]} numbers'):
        load_model(xml)
