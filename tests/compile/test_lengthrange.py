"""Actuator length ranges by simulation, against the C compiler."""

import mujoco
import numpy as np
import pytest

from jaxsim.compile import load_model
from jaxsim.mjcf import MjcfError
from tests.compile.oracle import check

SHORT = 'inttotal="3" interval=".5" timeconst=".2"'
ARM = """<body><joint name="s" axis="0 0 1" range="-60 50"/><geom type="capsule" size=".04" fromto="0 0 0 .5 0 0"/>
  <site name="a" pos=".15 .06 0"/><body pos=".5 0 0"><joint name="e" axis="0 0 1" range="0 120" solreflimit=".03 1"/>
    <geom type="capsule" size=".03" fromto="0 0 0 .5 0 0"/><geom name="w" type="cylinder" size=".07 .05" mass="0"/>
    <site name="b" pos=".11 .05 0"/></body></body><site name="o" pos="-.1 .1 0"/>"""


def model(actuators: str, settings: str = SHORT, tendon: str = "", extra: str = "", body: str = ARM) -> str:
    return f"""<mujoco><compiler><lengthrange {settings}/></compiler><worldbody>{body}</worldbody><tendon>
      <spatial name="t"><site site="o"/><site site="a"/></spatial>
      <spatial name="u"><site site="a"/><geom geom="w"/><site site="b"/></spatial>
      <fixed name="f" {tendon}><joint joint="s" coef="1"/><joint joint="e" coef="-.5"/></fixed></tendon>
      {extra}<actuator>{actuators}</actuator></mujoco>"""


@pytest.mark.parametrize("target", ['tendon="t"', 'tendon="u" gear="2"', 'tendon="f"', 'joint="e" gear="-3"'])
def test_muscles(target):
    check(model(f"<muscle {target}/>"))


def test_several_muscles_share_one_simulation():
    check(model('<muscle tendon="t"/><motor joint="s"/><muscle tendon="u"/><muscle joint="s"/>'))


def test_tendon_limits_and_couplings():
    check(model('<muscle tendon="t"/>', tendon='range="-.4 .5" armature=".1"'))
    coupled = '<equality><joint joint1="e" joint2="s" polycoef="0 .3"/></equality>'
    check(model('<muscle joint="s"/>', extra=coupled))


@pytest.mark.parametrize("given", ["-900 -20", ".05 -1", "-900 20"])
def test_stiffness_of_limits(given):
    """A pair of mixed signs is that of the defaults."""
    check(
        model(
            '<muscle joint="s"/>', body=ARM.replace('range="-60 50"', f'range="-60 50" solreflimit="{given}"')
        )
    )


def test_settings():
    check(model('<motor joint="s"/><muscle tendon="t"/>', SHORT + ' mode="all"'))
    check(model('<muscle joint="s"/><muscle tendon="t" lengthrange="0 1"/>', SHORT + ' uselimit="true"'))
    check(model('<muscle joint="s"/>', SHORT + ' maxforce="3" timestep=".005"'))
    check(model('<muscle joint="s"/>', 'mode="none"'))


def test_ball_joints():
    body = """<body><joint name="s" type="ball" range="0 40"/><geom type="capsule" size=".04" fromto="0 0 0 .5 0 0"/>
      <site name="a" pos=".3 .1 0"/><body pos=".5 0 0"><joint name="e" axis="0 1 0" range="-30 40"/>
      <geom name="w" size=".05"/><geom type="capsule" size=".02" fromto="0 0 0 0 0 .3"/>
      <site name="b" pos=".1 .05 .1"/></body></body><site name="o" pos=".2 .4 .1"/>"""
    xml = model('<muscle tendon="t"/>', body=body).replace('<joint joint="s" coef="1"/>', "")
    ours = load_model(xml).actuator_lengthrange
    theirs = mujoco.MjModel.from_xml_string(xml).actuator_lengthrange
    np.testing.assert_allclose(ours, theirs, atol=1e-6)


def test_what_does_not_settle_is_refused():
    free = ARM.replace('range="-60 50"', "")
    with pytest.raises(MjcfError, match="settle"):
        load_model(model('<muscle joint="s"/>', body=free))


HELD = (
    ARM.replace("<body>", '<body name="x">', 1).replace('<body pos=".5', '<body name="y" pos=".5', 1)
    + """<body name="p" pos=".61 .05 0"><joint axis="1 0 0" type="slide" range="-2 2"/>
      <joint axis="0 1 0" type="slide" range="-2 2"/><joint axis="0 0 1" range="-170 170"/><geom size=".05"/>
      <site name="c"/></body>"""
)


@pytest.mark.parametrize(
    "equality",
    [
        '<weld body1="x" body2="y"/>',
        '<weld body1="y" body2="p" torquescale=".4"/>',
        '<weld site1="b" site2="c"/>',
        '<connect body1="y" body2="p" anchor=".4 .3 0"/>',
        '<connect site1="b" site2="c"/>',
    ],
)
def test_connects_and_welds(equality):
    check(model('<muscle tendon="t"/>', extra=f"<equality>{equality}</equality>", body=HELD))


@pytest.mark.parametrize(
    "actuator",
    [
        '<general site="b" refsite="o" gear=".3 .2 0 0 0 .1"/>',
        '<motor site="b" refsite="a" gear="0 0 0 0 0 1"/>',
        '<motor cranksite="a" slidersite="o" cranklength=".6"/>',
    ],
)
def test_transmissions_of_sites(actuator):
    check(model(actuator, SHORT + ' mode="all"'))


@pytest.mark.parametrize("joints", ["<joint/><joint/>", '<joint/><joint axis="0 1 0"/><joint axis="0 0 1"/>'])
def test_another_body_whose_inertia_is_singular(joints):
    other = f'<body pos="5 0 0"><geom size="1"/>{joints}</body>'
    check(model('<muscle joint="s"/>', body=ARM + other))


def test_lengths_that_do_not_change_are_refused():
    with pytest.raises(MjcfError, match="does not change"):
        load_model(model('<motor site="b"/>', SHORT + ' mode="all"'))
