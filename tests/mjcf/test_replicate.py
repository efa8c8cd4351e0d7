"""Replicated parts and what refers to them."""

import mujoco
import numpy as np
import pytest

from jaxsim import Spec, load_model
from jaxsim.mjcf import MjcfError
from tests.compile.oracle import check_spec

REFERRING = """<mujoco>
  <worldbody>
    <geom name="g0" size="1"/>
    <replicate count="3" offset="1 0 0" euler="0 0 30" sep="_">
      <body name="b" pos="0 1 0"><joint name="j"/><geom name="g" size="1"/><site name="s"/></body>
      <geom name="wg" size=".1"/>
    </replicate>
  </worldbody>
  <contact>
    <pair name="p" geom1="g" geom2="g0"/><pair geom1="g" geom2="wg"/><exclude body1="world" body2="b"/>
  </contact>
  <tendon><fixed name="t"><joint joint="j" coef="1"/></fixed></tendon>
  <actuator><motor name="a" joint="j"/><position name="at" tendon="t" kp="3"/></actuator>
  <sensor>
    <jointpos joint="j"/><framepos objtype="body" objname="b" reftype="geom" refname="g0"/>
    <actuatorfrc actuator="at"/>
  </sensor>
</mujoco>"""
NESTED = """<mujoco>
  <compiler angle="radian" eulerseq="XYZ"/>
  <default><default class="x"><geom rgba="1 0 0 1" size=".2"/></default></default>
  <worldbody>
    <body>
      <freejoint/>
      <frame pos="0 0 5" euler="0 0 1">
        <replicate count="11" offset="0 .5 1" euler="0.1 0.2 0.3" sep="-" childclass="x">
          <replicate count="2" euler="0 0 1" offset="1 0 0" prefix="A"><geom name="g"/></replicate>
        </replicate>
      </frame>
    </body>
  </worldbody>
</mujoco>"""
KEYED = """<mujoco>
  <worldbody>
    <body><freejoint/><geom size="1"/></body>
    <replicate count="2" offset="1 0 0">
      <body name="b" pos="0 1 0"><joint name="j" ref="20"/><geom size="1"/></body>
    </replicate>
  </worldbody>
  <keyframe><key name="k" qpos="1 2 3 1 0 0 0 {}"/></keyframe>
</mujoco>"""

FOLLOWED = """<mujoco>
  <worldbody>
    <replicate count="2" offset="1 0 0"><body><joint type="slide"/><geom size=".1"/></body></replicate>
    <body><joint type="slide"/><geom size=".1"/></body><body><joint type="slide"/><geom size=".1"/></body>
  </worldbody>
  <keyframe><key name="a"/><key name="k" qpos="{}"/></keyframe>
</mujoco>"""


@pytest.mark.parametrize("numbers", ["1", "1 2", "1 2 3", "1 2 3 4"])
def test_numbers_of_a_keyframe_are_the_first_of_the_whole_model(numbers: str) -> None:
    xml = FOLLOWED.format(numbers)
    np.testing.assert_array_equal(load_model(xml).key_qpos, mujoco.MjModel.from_xml_string(xml).key_qpos)


@pytest.mark.parametrize("xml", [REFERRING, NESTED, KEYED.format(".5"), KEYED.format(".5 .6")])
def test_same_as_the_oracle(xml: str) -> None:
    check_spec(Spec.from_string(xml), mujoco.MjModel.from_xml_string(xml))


@pytest.mark.parametrize("xml", [REFERRING, NESTED])
def test_names_are_the_oracle_s(xml: str) -> None:
    spec, oracle = Spec.from_string(xml), mujoco.MjModel.from_xml_string(xml)
    for tag, count in (("body", oracle.nbody), ("geom", oracle.ngeom), ("joint", oracle.njnt)):
        theirs = {getattr(oracle, tag)(i).name for i in range(count)} - {"", "world"}
        assert {element.name for element in spec.elements(tag) if element.name} - {""} >= theirs


def test_none_removes_the_part_and_what_refers_to_it() -> None:
    spec = Spec.from_string(REFERRING.replace('count="3"', 'count="0"'))
    assert spec.find("body", "b") is None
    assert not [e for tag in ("pair", "exclude", "fixed", "motor", "position") for e in spec.elements(tag)]


@pytest.mark.parametrize(
    "xml",
    [
        "<mujoco><worldbody><replicate count='-1'><geom/></replicate></worldbody></mujoco>",
        "<mujoco><worldbody><replicate count='100000000'><geom/></replicate></worldbody></mujoco>",
        "<mujoco><worldbody><replicate><geom/></replicate></worldbody></mujoco>",
        "<mujoco><worldbody><body><replicate count='2'><joint/></replicate></body></worldbody></mujoco>",
        "<mujoco><worldbody>" + "<replicate count='1000'>" * 5 + "<geom/>" + "</replicate>" * 5
        + "</worldbody></mujoco>",
    ],
)  # fmt: skip
def test_refusals(xml: str) -> None:
    with pytest.raises(MjcfError) as caught:
        Spec.from_string(xml)
    assert caught.value.line == 1
