"""A model that is written and read again compiles to the same numbers."""

from importlib.util import find_spec
from pathlib import Path

import mujoco
import numpy as np
import pytest

from jaxsim import MjcfError, Spec, load_model, models
from tests.compile.oracle import check, check_file, differences
from tests.pipeline import scenes

REAL = (
    ("mujoco", "mjx/test_data/humanoid/humanoid.xml"),
    ("gymnasium", "envs/mujoco/assets/ant.xml"),
    ("dm_control", "suite/dog.xml"),
    ("dm_control", "suite/quadruped.xml"),
    ("dm_control", "suite/stacker.xml"),
    ("dm_control", "locomotion/soccer/assets/boxhead/boxhead.xml"),
    ("dm_control", "third_party/kinova/jaco_arm.xml"),
)
"""(installed package, model) with meshes, tendons, skins, sensors, defaults, keyframes."""


def file(package: str, inside: str) -> Path:
    spec = find_spec(package)
    if spec is None or spec.origin is None:
        pytest.skip(f"{package} is not installed")
    found = Path(spec.origin).parent / inside
    if not found.is_file():
        pytest.skip(f"{package} holds no {inside}")
    return found


def round_trip(spec: Spec, folder: Path | None = None) -> None:
    xml = spec.to_xml()
    again = Spec.from_string(xml, base_dir=folder)
    assert again.to_xml() == xml
    one, two = spec.compile(), again.compile()
    assert not differences(two, one)
    np.testing.assert_array_equal(one.tex_data, two.tex_data)
    np.testing.assert_array_equal(one.mesh_normal, two.mesh_normal)


@pytest.mark.parametrize("name", ["arm", "cartpole", "hand", "humanoid", "quadruped"])
def test_bundled_models(name):
    round_trip(Spec.from_file(models.path(name)))


@pytest.mark.parametrize("xml", [scenes.MIXED, scenes.SENSORS], ids=["mixed", "sensors"])
def test_scenes(xml):
    round_trip(Spec.from_string(xml))


ACTUATORS = (
    '<motor joint="j"/><damper joint="j" kv="1" ctrlrange="0 1"/><adhesion body="b" ctrlrange="0 1"/>',
    '<position joint="j" kp="4" kv=".3" timeconst=".1"/><velocity joint="j" kv="3"/>',
    '<intvelocity joint="j" kp="2" actrange="-1 1"/><cylinder joint="j" area=".3"/>',
    '<muscle joint="j" lengthrange="0 1"/><pid joint="j" kp="3" ki="1" input="pos vel"/>',
    '<dcmotor joint="j" motorconst=".1" resistance="1"/><orientation joint="k" kp="3"/>',
)


@pytest.mark.parametrize("actuators", ACTUATORS)
def test_what_the_c_engine_saves(actuators, tmp_path):
    """It writes all actuators as general ones, with the meaning of their controls as `input`."""
    ball = '<body><joint name="k" type="ball"/><geom size=".1"/></body>'
    bodies = f'<body name="b"><joint name="j"/><geom size=".1"/>{ball}</body>'
    m = mujoco.MjModel.from_xml_string(
        f"<mujoco><worldbody>{bodies}</worldbody><actuator>{actuators}</actuator></mujoco>"
    )
    mujoco.mj_saveLastXML(str(tmp_path / "saved.xml"), m)
    assert "<general" in (tmp_path / "saved.xml").read_text()
    check_file(str(tmp_path / "saved.xml"))


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ('input="pos vel"', "one input: pos, vel or pressure"),
        ('input="ff"', "one input: pos, vel or pressure"),
        ('gaintype="muscle" input="pos"', "do not choose their inputs"),
    ],
)
def test_inputs_that_make_no_sense(given, words):
    body = '<body><joint name="j"/><geom size=".1"/></body>'
    xml = f'<mujoco><worldbody>{body}</worldbody><actuator><general joint="j" {given}/></actuator></mujoco>'
    with pytest.raises(MjcfError, match=words):
        load_model(xml)
    with pytest.raises(ValueError, match="input"):
        mujoco.MjModel.from_xml_string(xml)


PARENT = """<mujoco><compiler {}/><asset><model name="child" file="child.xml"/></asset><worldbody>
  <body><joint/><geom size=".3" group="2"/></body><attach model="child" prefix="c_"/></worldbody></mujoco>"""
CHILD = """<mujoco><compiler {}/><worldbody>
  <body><freejoint/><geom type="capsule" size=".1" fromto="0 0 0 .3 .1 0" group="3"/>
    <geom size=".1" pos=".2 0 0"/></body>
  <frame euler="0 30 0"><body pos="1 0 0"><joint name="j" range="-1 1"/>
    <joint range="-1 1" limited="false" axis="1 0 0"/>
    <inertial pos="0 0 .1" mass=".01" diaginertia=".1 .2 .1"/><geom size=".2"/><body><geom size=".05" mass="0"/></body>
  </body></frame></worldbody><actuator><intvelocity joint="j" actrange="-1 1"/></actuator></mujoco>"""
RULES = (
    "",
    'boundmass="2"',
    'boundinertia=".3"',
    'inertiafromgeom="true"',
    'inertiagrouprange="0 2" angle="radian"',
    'alignfree="true" settotalmass="5"',
)


@pytest.mark.parametrize("theirs", RULES)
@pytest.mark.parametrize("ours", [*RULES, 'autolimits="false"', 'balanceinertia="true" fusestatic="true"'])
def test_compiler_settings_of_an_attached_model(ours, theirs):
    """A text has one compiler element: what it would say otherwise of a model is written out."""
    parent, assets = PARENT.format(ours), {"child.xml": CHILD.format(theirs).encode()}
    spec = Spec.from_string(parent, assets=assets)
    round_trip(spec)
    model = check(parent, assets)
    assert not differences(check(spec.to_xml()), model)


@pytest.mark.parametrize(("ours", "theirs"), [("true", "false"), ("false", "true")])
def test_free_joints_say_how_they_align(ours, theirs):
    """A joint of type free becomes a freejoint, where that can say all that it says."""
    child = """<mujoco><compiler alignfree="{}"/><worldbody><body><joint name="f" type="free" group="2" {}/>
      <geom type="box" size=".1 .2 .3" pos="1 2 3" euler="10 20 30"/></body></worldbody>
      <actuator><motor name="m" joint="f"/></actuator></mujoco>"""
    parent = PARENT.format(f'alignfree="{ours}"')
    assets = {"child.xml": child.format(theirs, "").encode()}
    spec = Spec.from_string(parent, assets=assets)
    round_trip(spec)
    assert f'<freejoint name="c_f" group="2" align="{theirs}"/>' in spec.to_xml()
    assert not differences(check(spec.to_xml()), check(parent, assets))
    damped = {"child.xml": child.format(theirs, 'damping="1"').encode()}
    with pytest.raises(
        MjcfError, match=r"damping=.*a freejoint can say, and that has no damping; give both mod"
    ):
        Spec.from_string(parent, assets=damped).to_xml()
    check(parent, damped)


@pytest.mark.slow
@pytest.mark.parametrize(("package", "inside"), REAL)
def test_real_models(package, inside):
    path = file(package, inside)
    round_trip(Spec.from_file(path), path.parent)
