"""URDF means what the oracle takes it to mean."""

import mujoco
import numpy as np
import pytest

from jaxsim import Spec
from jaxsim.mjcf import MjcfError
from tests.compile.oracle import check_spec

INERTIAL = """<inertial><origin xyz="{xyz}" rpy="{rpy}"/><mass value="{mass}"/>
  <inertia ixx="1" iyy="1.1" izz="1.2" ixy="0.1" ixz="0.2" iyz="-0.3"/></inertial>"""
HEAVY = INERTIAL.format(xyz="1 2 3", rpy="0.4 -1 2", mass=2)
PLAIN = INERTIAL.format(xyz="0 0 0", rpy="0 0 0", mass=3)
ROBOT = f"""<robot name="arm">
  <material name="red"><color rgba="1 0 0 1"/></material>
  <link name="base"><visual><geometry><box size="1 2 3"/></geometry><material name="red"/></visual>
    <collision name="c"><origin xyz="0 0 1" rpy="1 2 3"/>
    <geometry><cylinder radius="1" length="4"/></geometry></collision>
    <collision name="c"><geometry><sphere radius="1"/></geometry></collision></link>
  <link name="one">{HEAVY}
    <visual name="v"><geometry><sphere radius="2"/></geometry>
    <material name="x"><color rgba="0 1 0 .5"/></material></visual>
    <collision><geometry><capsule radius="1" length="4"/></geometry></collision></link>
  <link name="two">{PLAIN}</link>
  <link name="three">{PLAIN}</link>
  <link name="four">{HEAVY}</link>
  <link name="five">{HEAVY}</link>
  <joint name="j1" type="revolute"><parent link="base"/><child link="one"/><origin xyz="1 0 0" rpy="1 2 3"/>
    <axis xyz="0 3 0"/><limit lower="-1" upper="2" effort="5" velocity="1"/>
    <dynamics damping=".5" friction=".1"/></joint>
  <joint name="j2" type="continuous"><parent link="one"/><child link="two"/>
    <mimic joint="j1" multiplier="2" offset=".5"/></joint>
  <joint name="j3" type="prismatic"><parent link="two"/><child link="three"/><axis xyz="0 0 1"/>
    <limit lower="0.5" upper="0" effort="-3"/></joint>
  <joint name="j4" type="planar"><parent link="base"/><child link="four"/><axis xyz="0 1 1"/>
    <dynamics damping="2"/></joint>
  <joint name="j5" type="spherical"><parent link="base"/><child link="five"/><limit lower="1"/></joint>
</robot>"""
EXTENSION = '<mujoco><compiler {}/><option timestep="0.01"/><size nuserdata="3"/></mujoco>'
SETTINGS = [
    "",
    'fusestatic="false"',
    'discardvisual="false"',
    'fusestatic="false" discardvisual="false" angle="degree"',
    'balanceinertia="true" boundmass="2.5"',
]
WORLD = f"""<robot><link name="world"/><link name="b">{PLAIN}</link>
  <joint name="f" type="floating"><parent link="world"/><child link="b"/></joint></robot>"""


@pytest.mark.parametrize("settings", SETTINGS)
def test_same_as_the_oracle(settings: str) -> None:
    xml = ROBOT.replace("</robot>", f"{EXTENSION.format(settings)}</robot>")
    spec = Spec.from_string(xml)
    assert spec.option["timestep"] == 0.01
    check_spec(spec, mujoco.MjModel.from_xml_string(xml))


def test_world_link_is_the_world() -> None:
    check_spec(Spec.from_string(WORLD), mujoco.MjModel.from_xml_string(WORLD))


def test_written_as_mjcf_it_means_the_same() -> None:
    written = Spec.from_string(ROBOT).to_xml()
    check_spec(Spec.from_string(written), mujoco.MjModel.from_xml_string(ROBOT))


def test_meshes_are_shared_by_file_and_scale() -> None:
    shape = '<collision><geometry><mesh filename="a/m.stl"{}/></geometry></collision>'
    shapes = "".join(
        shape.format(scale) for scale in ("", ' scale="1 1 2"', ' scale="1 1 1"', ' scale="1 1 2"')
    )
    spec = Spec.from_string(f"<robot><link name='l'>{shapes}</link></robot>")
    assert [mesh.name for mesh in spec.elements("mesh")] == ["m", "m1"]
    assert [geom["mesh"] for geom in spec.elements("geom")] == ["m", "m1", "m", "m1"]


def test_a_frame_of_zero_inertia_stays_turned() -> None:
    zeros = " ".join(f'{name}="0"' for name in ("ixx", "iyy", "izz", "ixy", "ixz", "iyz"))
    inertial = f'<inertial><origin rpy="1 2 3"/><mass value="2"/><inertia {zeros}/></inertial>'
    xml = f"<robot><mujoco><compiler fusestatic='false'/></mujoco><link name='l'>{inertial}</link></robot>"
    check_spec(Spec.from_string(xml), mujoco.MjModel.from_xml_string(xml))


def test_inertia_of_zeros_is_none() -> None:
    zeros = " ".join(f'{name}="0"' for name in ("ixx", "iyy", "izz", "ixy", "ixz", "iyz"))
    xml = f"<robot><link name='l'><inertial><mass value='0'/><inertia {zeros}/></inertial></link></robot>"
    inertial = next(Spec.from_string(xml).elements("inertial"))
    np.testing.assert_array_equal(inertial["diaginertia"], 0)


@pytest.mark.parametrize(("kind", "leader"), [("fixed", "j1"), ("planar", "j1"), ("revolute", "j2")])
def test_what_cannot_follow_a_joint_is_ignored_as_in_the_oracle(kind: str, leader: str) -> None:
    xml = f"""<robot><link name="a">{PLAIN}</link><link name="b">{PLAIN}</link><link name="c">{PLAIN}</link>
      <joint name="j1" type="prismatic"><parent link="a"/><child link="b"/></joint>
      <joint name="j2" type="fixed"><parent link="a"/><child link="c"/></joint></robot>"""
    xml = xml.replace(
        "</robot>",
        f"""<link name="d">{PLAIN}</link><joint name="j" type="{kind}">
      <parent link="b"/><child link="d"/><mimic joint="{leader}"/></joint></robot>""",
    )
    with pytest.warns(UserWarning, match=f'<mimic> attribute joint="{leader}": ignored: j and {leader}'):
        spec = Spec.from_string(xml)
    check_spec(spec, mujoco.MjModel.from_xml_string(xml))


JOINT = '<joint name="j" type="{}"><parent link="a"/><child link="{}"/>{}</joint>'


@pytest.mark.parametrize(
    ("body", "element", "text"),
    [
        ('<link name="a"/><link name="a"/>', 'link name="a"', "repeated"),
        ("<link/>", "link", "required"),
        ('<link name="a"/>' + JOINT.format("fixed", "c", ""), "child", "unknown link"),
        ('<link name="a"/>' + JOINT.format("fixed", "a", ""), 'link name="a"', "ancestor"),
        (
            '<link name="a"/><link name="b"/>' + JOINT.format("turning", "b", ""),
            'joint name="j"',
            "expected one of",
        ),
        (
            '<link name="a"/><link name="b"/>' + JOINT.format("fixed", "b", "") * 2,
            'joint name="j"',
            "several parents",
        ),
        ('<link name="a"/><link name="b"/>' + JOINT.format("revolute", "b", "<axis/>"), "axis", "required"),
        (
            '<link name="a"/><link name="b"/>' + JOINT.format("revolute", "b", '<axis xyz="1 2"/>'),
            "axis",
            "exactly 3",
        ),
        (
            '<link name="a"/><link name="b"/>' + JOINT.format("revolute", "b", '<mimic joint="x"/>'),
            "mimic",
            "unknown joint",
        ),
        (
            '<link name="a"/><link name="b"/>' + JOINT.format("planar", "b", '<axis xyz="0 0 0"/>'),
            'joint name="j"',
            "needs an axis",
        ),
        ('<link name="a"><collision><geometry/></collision></link>', "geometry", "expected one of"),
        ('<link name="a"><collision/></link>', "collision", "missing element"),
        ('<link name="a"><inertial/></link>', "inertial", "missing element"),
        ('<link name="a"><inertial><mass value="1"/></inertial></link>', "inertial", "missing element"),
        ('<link name="a"><inertial/><inertial/></link>', "inertial", "repeated"),
        ('<mujoco><compiler angel="radian"/></mujoco>', "compiler", "mean 'angle'"),
    ],
)
def test_refusals(body: str, element: str, text: str) -> None:
    with pytest.raises(MjcfError) as caught:
        Spec.from_string(f"<robot name='r'>\n{body}</robot>")
    assert caught.value.line == 2
    assert caught.value.element == element
    assert text in str(caught.value)
