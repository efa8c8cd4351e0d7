"""Precedence of own values, default classes and the schema's defaults."""

import mujoco
import numpy as np

from jaxsim import Spec

XML = """<mujoco>
  <default>
    <geom rgba="1 0 0 1" solimp="0.5"/>
    <position kp="7"/>
    <default class="a">
      <geom size="1 2 3" friction="2"/>
      <general gear="3"/>
      <default class="b"><geom size="4" type="box"/><motor ctrlrange="0 1"/></default>
    </default>
  </default>
  <default>
    <geom rgba="0 1 0 1" condim="6"/>
    <default class="late"><geom size="9"/></default>
  </default>
  <worldbody>
    <geom name="main"/>
    <geom name="own" class="b" size="5"/>
    <body childclass="a">
      <geom name="child"/>
      <frame childclass="b"><geom name="frame"/><geom name="back" class="main"/>
        <body><geom name="grandchild"/><joint name="j"/></body></frame>
    </body>
    <geom name="late" class="late"/>
  </worldbody>
  <actuator><motor name="m" class="b" joint="j" gear="1 2"/></actuator>
</mujoco>"""


def test_geoms_agree_with_the_oracle() -> None:
    spec = Spec.from_string(XML)
    oracle = mujoco.MjSpec.from_string(XML)
    for geom in spec.elements("geom"):
        mine, theirs = spec.resolve(geom), oracle.geom(geom.name)
        for name in ("size", "rgba", "friction", "solimp", "solref", "condim"):
            np.testing.assert_allclose(
                mine[name], getattr(theirs, name), rtol=1e-7, err_msg=f"{geom.name} {name}"
            )


def test_given_tells_values_from_schema_defaults() -> None:
    spec = Spec.from_string(XML)
    own, main = spec.find("geom", "own"), spec.find("geom", "main")
    assert own is not None
    assert main is not None
    assert spec.resolve(own).given("friction")
    assert not spec.resolve(own).own("friction")
    assert not spec.resolve(main).given("friction")
    assert spec.resolve(main)["mass"] is None
    np.testing.assert_array_equal(spec.resolve(main)["friction"], [1, 0.005, 0.0001])


def test_actuator_defaults_come_as_an_ordered_chain() -> None:
    spec = Spec.from_string(XML)
    motor = spec.find("motor", "m")
    assert motor is not None
    assert [element.tag for element in spec.default_chain(motor)] == ["position", "general", "motor"]


def test_a_nested_class_inherits_what_its_parent_held_when_it_was_declared() -> None:
    spec = Spec.from_string(XML)
    child = spec.find("geom", "child")
    late = spec.find("geom", "late")
    assert child is not None
    assert late is not None
    np.testing.assert_array_equal(spec.resolve(child)["rgba"], [1, 0, 0, 1])
    np.testing.assert_array_equal(spec.resolve(late)["rgba"], [0, 1, 0, 1])


def test_springlength_of_one_number_fills_both() -> None:
    xml = """<mujoco><worldbody><body><joint name="j"/></body></worldbody>
      <tendon><fixed name="t" springlength="2"><joint joint="j" coef="1"/></fixed></tendon></mujoco>"""
    spec = Spec.from_string(xml)
    tendon = spec.find("fixed", "t")
    assert tendon is not None
    np.testing.assert_array_equal(spec.resolve(tendon)["springlength"], [2, 2])


def test_nan_means_not_given_where_there_is_no_default() -> None:
    xml = """<mujoco><default><geom fromto="0 0 0 1 1 1" mass="3"/></default>
      <worldbody><geom name="g" fromto="nan 0 0 0 0 0" mass="nan"/><body><joint name="j"/><geom mass="1" size="1"
      fromto="nan 0 0 0 0 0"/></body></worldbody><actuator><motor joint="j" user="nan"/></actuator></mujoco>"""
    spec = Spec.from_string(xml)
    geom = spec.find("geom", "g")
    assert geom is not None
    assert spec.resolve(geom)["fromto"] is None
    assert spec.resolve(geom)["mass"] is None
    geom["size"] = 1
    assert spec.compile().actuator_user.shape == (1, 0)
