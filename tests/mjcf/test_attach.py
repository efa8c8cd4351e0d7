"""Attached models keep what their author meant: names, defaults, angles, keyframes, folders."""

from pathlib import Path

import mujoco
import numpy as np
import pytest

from jaxsim import Spec, load_model
from jaxsim.mjcf import MjcfError
from tests.compile.oracle import check, check_spec, differences

CHILD = """<mujoco model="child">
  <compiler angle="radian" eulerseq="zyx" autolimits="false"/>
  <default>
    <geom rgba="1 0 0 1"/>
    <default class="q"><joint damping="3" range="-1 1" limited="true"/><geom euler="0 0 .5"/></default>
  </default>
  <asset><material name="m"/></asset>
  <worldbody>
    <geom name="cw" size="1"/>
    <body name="cb" euler=".1 .2 .3" childclass="q">
      <joint name="cj" range="0 1"/>
      <geom name="cg" size="1 2 3" material="m" type="box"/>
      <body name="cc" pos="1 0 0">
        <joint type="ball" range="0 2"/><geom size="2" class="main"/><site name="cs" size="3 3 3"/></body>
    </body>
    <body name="other"><geom size="1"/></body>
  </worldbody>
  <actuator>
    <position name="ca" joint="cj" class="q" kp="2"/><motor name="cm" joint="cj" ctrlrange="0 1" ctrllimited="true"/>
  </actuator>
  <sensor>
    <framepos name="ff" objtype="body" objname="cc" reftype="body" refname="world"/><jointpos joint="cj"/>
    <framepos objtype="body" objname="other"/>
  </sensor>
  <keyframe><key name="k" qpos=".3 1 0 0 0" qvel="1 2 3 4" ctrl="7 8"/></keyframe>
</mujoco>"""
PARENT = """<mujoco>
  <compiler angle="degree"/>
  <default><geom contype="0" rgba="0 0 1 1"/><position kp="55"/></default>
  <asset><model name="ch" file="child.xml"/></asset>
  <worldbody>
    <body name="p"><joint name="pj" ref="10"/><attach model="ch" body="cb" prefix="a-"/><geom size="1"/></body>
    <frame pos="1 1 1" euler="0 0 30"><attach model="ch" prefix="w-"/></frame>
  </worldbody>
  <keyframe><key qpos="1 2 1 0 0 0 3 1 0 0 0"/></keyframe>
</mujoco>"""
SELF = """<mujoco>
  <default><default class="z"><geom size="2"/></default></default>
  <worldbody>
    <body name="holder" childclass="z"><body name="b"><joint name="j"/><geom/></body></body>
    <body name="c" pos="0 0 3"><attach body="b" prefix="x-"/></body>
  </worldbody>
  <sensor><jointpos joint="j"/></sensor>
</mujoco>"""


@pytest.fixture
def parent(tmp_path: Path) -> Path:
    (tmp_path / "child.xml").write_text(CHILD)
    path = tmp_path / "parent.xml"
    path.write_text(PARENT)
    return path


@pytest.mark.filterwarnings("ignore:Attach conflict")
def test_same_as_the_oracle(parent: Path) -> None:
    check_spec(Spec.from_file(parent), mujoco.MjModel.from_xml_path(str(parent)))


@pytest.mark.filterwarnings("ignore:Attach conflict")
def test_written_model_means_the_same(parent: Path) -> None:
    written = Spec.from_file(parent).to_xml()
    check_spec(Spec.from_string(written), mujoco.MjModel.from_xml_path(str(parent)))


DEFAULTS = [
    ('<geom friction="1 .5 .4"/>', '<geom friction=".7"/>'),
    ('<geom solimp=".5 .6 .01 .3 3"/>', '<geom solimp=".7"/>'),
    ('<geom fluidcoef="1 2 3 4 5" fluidshape="ellipsoid"/>', '<geom fluidcoef=".7" fluidshape="ellipsoid"/>'),
    ('<geom material="m" euler="90 0 0"/>', ""),
    ('<geom euler="90 0 0"/>', '<geom quat="1 0 1 0"/>'),
    ('<site size="1 2 3"/>', '<site size=".7"/>'),
    ('<joint damping="1 2 3" solreflimit=".5 .6"/>', '<joint damping=".7" solreflimit=".7"/>'),
    ('<general gainprm="1 2 3"/>', '<general gainprm="5"/>'),
    ('<motor gear="3"/>', '<motor gear="5"/><general ctrlrange="0 1"/>'),
    ('<position kp="30" kv="3"/>', '<motor gear="2"/>'),
    ('<pid kp="30" ki="2"/>', ""),
    ('<muscle force="3"/>', ""),
    ('<motor user="1 2"/>', ""),
    ("", '<geom friction="1 2 3"/></default><default><geom friction=".5"/><default class="d"/>'),
]
FOLLOWS = """<mujoco><default>{}</default><worldbody><body><joint name="j"/><site/>
  <geom size=".1 .2" type="capsule"/></body></worldbody><actuator><motor joint="j"/><position joint="j"/>
  <pid joint="j"/><muscle joint="j" lengthrange="0 1"/>
  </actuator></mujoco>"""
LEADS = """<mujoco><default>{}</default><asset><model name="sub" file="sub.xml"/><material name="m"/></asset><worldbody>
  <body childclass="main"><joint name="i"/><geom size=".1 .2" type="capsule"/><attach model="sub" prefix="a_"/></body>
  <geom size=".1"/></worldbody><actuator><motor joint="i"/></actuator></mujoco>"""


@pytest.mark.parametrize(("ours", "theirs"), DEFAULTS)
def test_defaults_of_the_whole_model_do_not_reach_attached_ones(ours: str, theirs: str) -> None:
    parent, assets = LEADS.format(ours), {"sub.xml": FOLLOWS.format(theirs).encode()}
    model = check(parent, assets)
    written = Spec.from_string(parent, assets=assets).to_xml()
    assert not differences(model, check(written))


def test_under_no_prefix_what_names_the_world_comes_along() -> None:
    """Names are looked up where the model is attached: there the world is the world."""
    sub = b"""<mujoco><worldbody><body name="b"><joint/><geom name="g" size="1"/></body></worldbody>
      <equality><connect body1="b" body2="world" anchor="0 0 0"/></equality>
      <sensor><framepos objtype="body" objname="b" reftype="body" refname="world"/></sensor></mujoco>"""
    xml = """<mujoco><asset><model name="m" file="sub.xml"/></asset><worldbody><attach model="m" prefix="{}"/>
      </worldbody></mujoco>"""
    assert [check(xml.format(prefix), {"sub.xml": sub}).neq for prefix in ("", "s_")] == [1, 0]


@pytest.mark.parametrize(
    "element",
    [
        '<equality><connect body1="b" body2="o" anchor="0 0 0"/></equality>',
        '<equality><connect body1="b" anchor="0 0 0"/><joint joint1="j"/></equality>',
        '<actuator><motor site="s" refsite="t"/><motor joint="j"/></actuator>',
        '<sensor><clock/><e_kinetic/><contact geom1="g" geom2="h"/><jointpos joint="k"/></sensor>',
        '<custom><tuple name="p"><element objtype="body" objname="b"/></tuple></custom>',
    ],
)
def test_what_comes_along_with_a_part_of_the_same_model(element: str) -> None:
    check(f"""<mujoco><worldbody>
      <body name="b"><joint name="j"/><geom name="g" size=".1"/><site name="s"/></body>
      <body name="o"><joint name="k"/><geom name="h" size=".1" pos="2 0 0"/><site name="t"/></body>
      <frame pos="0 0 5"><attach body="b" prefix="z_"/></frame></worldbody>{element}</mujoco>""")


TAKEN = """<mujoco><default><geom rgba="0 0 {k} 1"/><default class="q"><joint armature=".{k}"/></default></default>
  <worldbody><body name="b{k}"><joint name="j{k}" class="q"/><geom name="g{k}" size="1"/></body></worldbody>
  <actuator><position name="a{k}" joint="j{k}" class="q"/></actuator></mujoco>"""


@pytest.mark.parametrize("prefix", ["", "r_"])
@pytest.mark.parametrize("part", ["", 'body="b{k}"'])
def test_models_whose_default_classes_are_called_alike(prefix: str, part: str) -> None:
    """Attached under one prefix, or under none: each element has those of its own model, and ours has ours."""
    attached = "".join(f'<attach model="m{k}" prefix="{prefix}" {part.format(k=k)}/>' for k in (1, 2))
    xml = f"""<mujoco><default><geom rgba="1 1 1 1"/><default class="q"><joint armature="7"/></default></default>
      <asset><model name="m1" file="1.xml"/><model name="m2" file="2.xml"/></asset><worldbody>
      <body><joint class="q"/><geom size="1"/></body>{attached}</worldbody></mujoco>"""
    assets = {f"{k}.xml": TAKEN.format(k=k).encode() for k in (1, 2)}
    model = check(xml, assets)
    np.testing.assert_array_equal(model.dof_armature, [7, 0.1, 0.2])
    assert not differences(model, check(Spec.from_string(xml, assets=assets).to_xml()))


@pytest.mark.parametrize(
    "inner", ['quat="1 0 1 0"', 'axisangle="0 0 1 .5"', 'euler=".1 .2 .3"', 'zaxis="1 0 0"']
)
@pytest.mark.parametrize("outer", ['axisangle="1 0 0 .7"', 'euler=".3 .2 .1"'])
def test_written_orientations_are_those_given_last(outer: str, inner: str) -> None:
    child = f"""<mujoco><compiler angle="radian"/><default><geom {outer}/><default class="d"><geom {inner}/></default>
      </default><worldbody><geom class="d" type="box" size="1 2 3"/></worldbody></mujoco>"""
    parent, assets = LEADS.format(""), {"sub.xml": child.encode()}
    model = check(parent, assets)
    assert not differences(model, check(Spec.from_string(parent, assets=assets).to_xml()))


@pytest.mark.parametrize("ours", ["true", "false"])
@pytest.mark.parametrize("theirs", ["true", "false"])
def test_primitives_are_fitted_as_the_whole_model_says(ours: str, theirs: str) -> None:
    child = f"""<mujoco><compiler fitaabb="{theirs}"/><asset><mesh name="m" vertex="0 0 0 1 0 0 0 1 0 0 0 1"/></asset>
      <worldbody><geom type="box" mesh="m"/><geom type="sphere" mesh="m"/></worldbody></mujoco>"""
    check(f'<mujoco><compiler fitaabb="{ours}"/>{LEADS.format("")[8:]}', {"sub.xml": child.encode()})


def test_what_names_the_world_comes_along_as_in_c() -> None:
    sensors = """<framepos objtype="body" objname="world"/><subtreecom body="world"/><clock/>
      <framepos objtype="body" objname="b" reftype="body" refname="world"/><contact body2="world"/>
      <framelinvel objtype="body" objname="world" reftype="body" refname="b"/><contact body1="b" body2="world"/>
      <fromto body1="world" geom2="g" cutoff="1"/>"""
    child = f"""<mujoco><worldbody><body name="b"><joint/><geom name="g" size=".1"/></body></worldbody>
      <contact><exclude body1="b" body2="world"/></contact><equality><weld body1="b" body2="world"/><weld body1="b"/>
      </equality><sensor>{sensors}</sensor><custom><tuple name="t"><element objtype="body" objname="world"/></tuple>
      </custom></mujoco>"""
    model = check(LEADS.format(""), {"sub.xml": child.encode()})
    assert (model.nsensor, model.nexclude, model.neq) == (5, 1, 1)


@pytest.mark.parametrize("tag", ["camera", "light"])
@pytest.mark.parametrize("mode", ["targetbody", "targetbodycom"])
@pytest.mark.parametrize("whole", ["", 'body="b"'])
def test_cameras_and_lights_that_look_at_the_world(tag: str, mode: str, whole: str) -> None:
    """The world has its name in all models; C looks for one with a prefix, finds none, and refuses it."""
    child = f"""<mujoco><worldbody><body name="b"><geom size=".1"/>
      <{tag} name="c" mode="{mode}" target="world"/></body></worldbody></mujoco>""".encode()
    text = """<mujoco><asset><model name="sub" file="sub.xml"/></asset><worldbody><attach model="sub" {} prefix="{}"/>
      </worldbody></mujoco>"""
    plain = check(text.format(whole, ""), {"sub.xml": child})
    with pytest.raises(ValueError, match=f"unknown target body in {tag}"):
        mujoco.MjModel.from_xml_string(text.format(whole, "s_"), {"sub.xml": child})
    spec = Spec.from_string(text.format(whole, "s_"), assets={"sub.xml": child})
    found = spec.compile()
    assert set(differences(found, plain)) == {"names"}
    assert (*found.cam_targetbodyid, *found.light_targetbodyid) == (0,)
    assert not differences(check(spec.to_xml()), found)
    lost = child.replace(b'target="world"', b'target="nobody"')
    with pytest.raises(MjcfError, match="nobody"):
        Spec.from_string(text.format(whole, "s_"), assets={"sub.xml": lost}).compile()


def test_self_attachment() -> None:
    check_spec(Spec.from_string(SELF), mujoco.MjModel.from_xml_string(SELF))


def test_attaching_in_python() -> None:
    spec, child = Spec(), Spec.from_string(CHILD)
    arm = child.find("body", "cb")
    assert arm is not None
    left = spec.add(spec.worldbody, "body", name="base")
    spec.attach(child, left, prefix="l_", part=arm)
    spec.attach(child, left, suffix="_r", part=arm)
    assert spec.find("body", "l_cb") is not None
    assert spec.find("body", "cb_r") is not None
    assert child.find("body", "cb") is arm
    assert [key.name for key in spec.elements("key")] == ["l_k", "k_r"]
    with pytest.raises(MjcfError, match="repeated"):
        spec.attach(child, left, prefix="l_", part=arm)


@pytest.mark.parametrize("site", ['pos=".1 .2 .3" euler="10 20 30"', 'class="tilted" pos="1 0 0"', ""])
def test_attaching_at_a_site(site: str) -> None:
    xml = f"""<mujoco><default><default class="tilted"><site zaxis="1 1 0"/></default></default><worldbody>
      <body name="arm" pos="0 0 1"><joint/><geom size=".1"/><site name="tool" {site}/></body></worldbody></mujoco>"""
    theirs = mujoco.MjSpec.from_string(xml)
    theirs.attach(mujoco.MjSpec.from_string(CHILD), prefix="x_", site=theirs.site("tool"))
    spec = Spec.from_string(xml)
    spec.attach(Spec.from_string(CHILD), spec.find("site", "tool"), prefix="x_")
    model, expected = spec.compile(), theirs.compile()
    np.testing.assert_allclose(model.body_pos, expected.body_pos, atol=1e-12)
    np.testing.assert_allclose(model.body_quat, expected.body_quat, atol=1e-12)


def test_a_model_is_attached_to_itself_in_python() -> None:
    xml = """<mujoco><worldbody><body name="a"><joint name="j"/><geom size="1"/></body></worldbody><actuator>
      <motor joint="j"/></actuator></mujoco>"""
    spec = Spec.from_string(xml)
    spec.attach(spec, prefix="one_")
    spec.attach(spec, prefix="two_", part=spec.find("body", "a"))
    model = spec.compile()
    assert [model.body(k).name for k in range(model.nbody)] == ["world", "a", "one_a", "two_a"]
    assert model.nu == 3


def test_what_cannot_be_attached() -> None:
    spec, other = (
        Spec.from_string(f"<mujoco><worldbody><body name='{x}'/></worldbody></mujoco>") for x in "ab"
    )
    body, foreign = spec.find("body", "a"), other.find("body", "b")
    assert body is not None
    assert foreign is not None
    for places, text in (
        ({"parent": foreign}, "parent is in another model"),
        ({"parent": body, "part": body}, "part is in another model"),
        ({"parent": spec.root}, "must be a body or a frame"),
        ({"parent": body, "part": other.root}, "must be a body or a frame"),
    ):
        with pytest.raises(MjcfError, match=text):
            spec.attach(other, prefix="x_", **places)
    for places in ({"parent": spec.find("body", "typo")}, {"part": spec.find("bodi", "a")}, {"parent": "a"}):
        with pytest.raises(TypeError, match=r"expected an element, as of spec\.find"):
            spec.attach(other, prefix="x_", **places)
    with pytest.raises(TypeError, match=r"other is of type str; expected a Spec"):
        spec.attach("arm.xml", prefix="x_")
    with pytest.raises(MjcfError, match="within itself"):
        spec.attach(spec, body, prefix="x_", part=body)


def test_keyframes_have_the_pieces_of_their_model(parent: Path) -> None:
    spec = Spec.from_file(parent)
    nan = np.nan
    keys = {key.name: key for key in spec.elements("key")}
    np.testing.assert_array_equal(keys["a-k"]["qpos"], [nan, 0.3, 1, 0, 0, 0, nan, nan, nan, nan, nan])
    np.testing.assert_array_equal(keys["w-k"]["ctrl"], [0, 0, 7, 8])


@pytest.mark.parametrize("own", ["", '<keyframe><key name="ck" qpos="7 8"/></keyframe>'])
@pytest.mark.parametrize("numbers", ["1", "1 2", "1 2 3", "1 2 3 4"])
def test_numbers_of_a_keyframe_are_the_first_of_the_whole_model(
    tmp_path: Path, numbers: str, own: str
) -> None:
    slide = '<joint type="slide"/><geom size=".1"/>'
    (tmp_path / "c.xml").write_text(
        f'<mujoco><worldbody><body name="b">{slide}<joint type="slide" axis="1 0 0"/></body></worldbody>{own}</mujoco>'
    )
    path = tmp_path / "p.xml"
    path.write_text(
        f"""<mujoco><asset><model name="c" file="c.xml"/></asset><worldbody><attach model="c" body="b" prefix="p-"/>
        <body>{slide}</body><body>{slide}</body></worldbody><keyframe><key qpos="{numbers}"/></keyframe></mujoco>"""
    )
    np.testing.assert_array_equal(load_model(path).key_qpos, mujoco.MjModel.from_xml_path(str(path)).key_qpos)


@pytest.mark.parametrize(
    "attach",
    [
        '<attach model="nothing" prefix="a-"/>',
        '<attach model="ch" body="nothing" prefix="a-"/>',
        '<attach model="ch" body="cb"/>',
        '<attach prefix="a-"/>',
        '<attach body="p" prefix="a-"/>',
        '<attach model="ch" body="cb" frame="f" prefix="a-"/>',
        '<attach model="ch" body="cb" prefix=""/><body name="cb"/>',
    ],
)
def test_refusals(tmp_path: Path, attach: str) -> None:
    (tmp_path / "child.xml").write_text(CHILD)
    path = tmp_path / "parent.xml"
    path.write_text(
        f'<mujoco><asset><model name="ch" file="child.xml"/></asset><worldbody><body name="p">{attach}</body>'
        "</worldbody></mujoco>"
    )
    with pytest.raises(MjcfError) as caught:
        Spec.from_file(path)
    assert caught.value.line == 1


def test_models_that_attach_each_other(tmp_path: Path) -> None:
    text = (
        "<mujoco><asset><model name='m' file='{}'/></asset>"
        "<worldbody><attach model='m' prefix='{}'/></worldbody></mujoco>"
    )
    (tmp_path / "a.xml").write_text(text.format("b.xml", "x"))
    (tmp_path / "b.xml").write_text(text.format("a.xml", "y"))
    with pytest.raises(MjcfError, match="circle"):
        Spec.from_file(tmp_path / "a.xml")


OPTIONS = """<mujoco model="child"><compiler {}/><option timestep="{}" iterations="7" cone="elliptic"
  actuatorgroupdisable="{}"><flag gravity="disable" energy="enable"/></option><size nuserdata="3"/>
  <worldbody><body name="b"/></worldbody></mujoco>"""


def conflicting(policy: str) -> tuple[Spec, Spec]:
    parent = Spec.from_string(
        f'<mujoco><compiler conflict="{policy}"/><option timestep="0.01" actuatorgroupdisable="1"/></mujoco>'
    )
    return parent, Spec.from_string(OPTIONS.format("", "0.005", "2"))


def test_conflicting_settings_stay_and_warn() -> None:
    parent, child = conflicting("warning")
    with pytest.warns(UserWarning, match=r"timestep stays 0.01, not 0.005"):
        parent.attach(child)
    assert (parent.option["timestep"], parent.option["iterations"]) == (0.01, 100)


def test_conflicting_settings_merge() -> None:
    parent, child = conflicting("merge")
    parent.attach(child)
    option, flag = parent.option, parent.settings("option/flag")
    assert (option["timestep"], option["iterations"], option["cone"]) == (0.005, 7, "elliptic")
    np.testing.assert_array_equal(option["actuatorgroupdisable"], [1, 2])
    assert (flag["gravity"], flag["energy"], parent.settings("size")["nuserdata"]) == ("disable", "enable", 3)


def test_conflicting_settings_are_refused() -> None:
    parent, child = conflicting("error")
    with pytest.raises(MjcfError) as caught:
        parent.attach(child)
    assert caught.value.attribute == "timestep"


def test_copies_are_independent(parent: Path) -> None:
    spec = Spec.from_file(parent)
    twin = spec.copy()
    assert twin.to_xml() == spec.to_xml()
    twin.compiler_element["angle"] = "radian"
    body = twin.find("body", "p")
    assert body is not None
    assert (twin.compiler_of(body)["angle"], spec.compiler["angle"]) == ("radian", "degree")
    twin.remove(body)
    assert spec.find("body", "p") is not None


@pytest.mark.parametrize("name", ["a", "b"])
@pytest.mark.parametrize("key", ['qpos="1 2"', 'qpos="1 2" qvel="3 4" ctrl="5 6 7" act="8"', ""])
def test_a_body_takes_along_what_refers_to_it(name: str, key: str) -> None:
    """As `MjSpec.delete`: its numbers leave the keyframes too."""
    body = """<body name="{0}" pos="{1} 0 0"><joint name="j{0}"/><geom name="g{0}" size=".1"/>
      <site name="s{0}"/></body>"""
    xml = f"""<mujoco><worldbody>{body.format("a", 0)}{body.format("b", 1)}</worldbody>
      <contact><exclude body1="a" body2="b"/><pair geom1="ga" geom2="gb"/></contact>
      <tendon><spatial name="t"><site site="sa"/><site site="sb"/></spatial></tendon>
      <equality><weld body1="a" body2="b"/><joint joint1="jb"/></equality>
      <actuator><motor name="mt" tendon="t"/><position joint="jb"/><general dyntype="filter" joint="jb"/></actuator>
      <sensor><jointpos joint="ja"/><framepos objtype="site" objname="sb"/><actuatorfrc actuator="mt"/>
      <tendonpos tendon="t"/><contact subtree1="a"/><clock/></sensor><keyframe><key {key}/></keyframe></mujoco>"""
    spec, theirs = Spec.from_string(xml), mujoco.MjSpec.from_string(xml)
    spec.remove(spec.find("body", name))
    theirs.delete(theirs.body(name))
    check_spec(spec, theirs.compile())


def test_positions_of_keyframes_need_no_count_of_controls() -> None:
    """Nameless ones are called by what is put around their names."""
    child = """<mujoco><worldbody><body><joint name="j"/><geom size=".1"/></body></worldbody>
      <actuator><pid joint="j" kp="1"/><dcmotor joint="j" motorconst="1" resistance="1"/></actuator>
      <keyframe><key qpos="1" qvel="2"/></keyframe></mujoco>"""
    parent = """<mujoco><asset><model name="c" file="c.xml"/></asset><worldbody><body><joint/><geom size=".1"/></body>
      <attach model="c" prefix="p-"/></worldbody></mujoco>"""
    ours = check(parent, {"c.xml": child.encode()})
    assert ours.name("key", 0) == "p-"


def test_empty_tuples_stay_behind() -> None:
    child = """<mujoco><worldbody><body><geom size=".1"/></body></worldbody>
      <custom><tuple name="t"/></custom></mujoco>"""
    parent = """<mujoco><asset><model name="c" file="c.xml"/></asset><worldbody>
      <attach model="c" prefix="p-"/></worldbody></mujoco>"""
    check(parent, {"c.xml": child.encode()})


def test_nameless_textures_come_with_each_attachment() -> None:
    child = """<mujoco><asset><texture type="skybox" builtin="flat" width="2" height="2"/>
      <texture name="t" type="2d" builtin="flat" width="2" height="2"/><material name="m" texture="t"/></asset>
      <worldbody><body name="a"><geom size=".1" material="m"/></body><body name="b"><geom size=".1"/></body></worldbody>
      </mujoco>"""
    parent = """<mujoco><asset><model name="c" file="c.xml"/></asset><worldbody>
      <attach model="c" body="a" prefix="p-"/><attach model="c" body="b" prefix="q-"/></worldbody></mujoco>"""
    check(parent, {"c.xml": child.encode()})
