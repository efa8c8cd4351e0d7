"""Contacts, equality, tendons, actuators, sensors, options and keyframes against the C compiler."""

import mujoco
import pytest

from jaxsim.compile import load_model
from jaxsim.mjcf import MjcfError
from tests.compile.oracle import check

ARM = """<body name="a" pos="0 0 1" euler="10 20 30"><joint name="h" axis="1 2 3" range="-40 50" pos=".1 0 0"/>
  <geom name="ga" type="capsule" size=".05 .2"/><site name="sa" pos=".1 .2 .3" euler="5 6 7"/>
  <camera name="cam" resolution="3 2"/>
  <body name="b" pos=".3 0 0"><joint name="s" type="slide" axis="0 1 0" range="-1 1"/>
      <geom name="gb" type="box" size=".1 .2 .1"/>
    <site name="sb" pos="0 0 .4"/>
    <body name="c" pos="0 .5 0"><joint name="ball" type="ball" range="0 60"/><geom name="gc" size=".1" pos=".1 0 0"/>
      <site name="sc" pos=".2 0 0" euler="0 40 0"/></body></body></body>
  <body name="f" pos="1 0 0"><freejoint name="free"/><geom name="gf" type="cylinder" size=".1 .2"/>
      <site name="sf"/></body>
  <body name="m" mocap="true" pos="0 1 0"><site name="sm"/></body>
  <geom name="ws" size=".12" pos=".2 .3 1.2"/>
      <geom name="wc" type="cylinder" size=".1 .3" pos=".1 0 1.4" euler="80 0 0"/>
  <site name="side" pos=".3 .6 1.3"/><site name="w0" pos="0 -.5 1.2"/><site name="w1" pos=".4 1 1.2"/>"""


def model(sections: str, head: str = "") -> str:
    return f"<mujoco>{head}<worldbody>{ARM}</worldbody>{sections}</mujoco>"


def test_pairs_and_excludes_are_sorted_by_body():
    check(
        model(
            """<contact><pair geom1="gf" geom2="ga" condim="6" friction="1 2 3"/>
            <pair name="p" geom1="gb" geom2="gc" margin=".1" gap=".01" solref=".1 .9" solreffriction=".2 1"/>
            <pair geom1="ga" geom2="ws" class="d"/><exclude body1="f" body2="a"/>
      <exclude name="e" body1="a" body2="b"/></contact>""",
            '<default><default class="d"><pair condim="4" solimp=".8 .9"/></default></default>',
        )
    )


EQUALITIES = [
    '<connect body1="a" anchor=".1 .2 .3"/>',
    '<connect body1="a" body2="f" anchor=".1 .2 .3" active="false" solref=".1 1"/>',
    '<connect site1="sa" site2="sf"/>',
    '<weld body1="a" body2="f"/>',
    '<weld body1="f" anchor="1 2 3" torquescale="2"/>',
    '<weld body1="a" body2="f" relpose="1 2 3 1 1 0 0"/>',
    '<weld body1="a" body2="f" relpose="1 2 3 0 0 0 0" anchor="1 0 0"/>',
    '<weld site1="sa" site2="sf" torquescale="3"/>',
    '<joint joint1="h" polycoef=".1 .2 .3 .4 .5"/>',
    '<joint joint1="h" joint2="s" polycoef=".1 .2"/>',
    '<tendon tendon1="t" tendon2="u" solimp=".8 .9 .01"/>',
]
TENDONS = """<tendon><fixed name="t"><joint joint="h" coef="2"/><joint joint="s" coef="-3"/></fixed>
  <spatial name="u"><site site="sa"/><site site="sf"/></spatial></tendon>"""


@pytest.mark.parametrize("equality", EQUALITIES)
def test_equality(equality):
    check(model(TENDONS + f"<equality>{equality}</equality>"))


PATHS = [
    '<site site="sa"/><site site="sf"/>',
    '<site site="sa"/><site site="sb"/><pulley divisor="2"/><site site="sb"/><site site="sf"/>',
    '<site site="w0"/><geom geom="ws"/><site site="w1"/>',
    '<site site="w0"/><geom geom="ws" sidesite="side"/><site site="w1"/>',
    '<site site="w0"/><geom geom="wc"/><site site="w1"/><site site="sc"/>',
    '<site site="sb"/><geom geom="wc" sidesite="side"/><site site="w1"/>',
    '<site site="sa"/><geom geom="gc"/><site site="sf"/>',
    '<site site="w0"/><geom geom="wc" sidesite="inside"/><site site="w1"/>',
]


@pytest.mark.parametrize("path", PATHS)
def test_spatial_tendons(path):
    extra = '<site name="inside" pos=".1 .02 1.41"/>'
    tendon = f"""<tendon><spatial width=".01" springlength=".1 .2" stiffness="1 2" range="0 3" user="1">{path}</spatial>
      <spatial rgba="1 0 0 1" damping="3 2 1" frictionloss=".1">{path}</spatial></tendon>"""
    check(model(tendon).replace("</worldbody>", extra + "</worldbody>"))


def test_fixed_tendons():
    check(
        model(
            """<tendon><fixed range="-1 2" actuatorfrcrange="-3 4" armature=".5" margin=".1" stiffness="3" group="2">
            <joint joint="h" coef="2"/><joint joint="s" coef="-1"/></fixed>
            <fixed springlength=".3" limited="false" solreflimit=".1 1" solimpfriction=".7 .8">
      <joint joint="s" coef="1"/></fixed>
            </tendon>"""
        )
    )


def test_spatial_tendon_with_armature():
    check(
        model(
            '<tendon><spatial armature=".3"><site site="sa"/><site site="sb"/><site site="sf"/></spatial></tendon>'
        )
    )


TARGETS = [
    'joint="h"',
    'joint="ball" gear="1 2 3"',
    'joint="free" gear="1 2 3 4 5 6"',
    'jointinparent="ball" gear="1 2 3"',
    'jointinparent="free" gear="1 2 3 4 5 6"',
    'tendon="t" gear="3"',
    'tendon="u"',
    'site="sa" gear="1 2 3 4 5 6"',
    'site="sc" refsite="sa" gear="1 2 3"',
    'site="sc" refsite="sa" gear="0 0 0 1 2 3"',
    'site="sf" refsite="sa" gear="1 2 3 1 2 3"',
    'cranksite="sb" slidersite="sa" cranklength="2" gear="2"',
    'cranksite="sb" slidersite="sa" cranklength=".01"',
]


@pytest.mark.parametrize("target", TARGETS)
def test_transmissions(target):
    check(
        model(TENDONS + f'<actuator><motor {target} ctrlrange="-1 2"/><position {target} kp="3"/></actuator>')
    )


ACTUATORS = [
    '<motor joint="h" forcerange="-1 2" user="1 2" group="3"/>',
    '<position joint="h" kp="10" kv="2"/>',
    '<position joint="h" kp="10" dampratio="1" gear="2"/>',
    '<position tendon="t" kp="10" dampratio=".7" timeconst=".1"/>',
    '<position joint="h" inheritrange=".9"/>',
    '<intvelocity joint="s" kp="4" inheritrange="1"/>',
    '<intvelocity joint="s" kp="4" actrange="-1 1"/>',
    '<velocity joint="h" kv="3"/>',
    '<damper joint="h" kv="3" ctrlrange="0 1"/>',
    '<cylinder joint="s" timeconst=".3" area="2" bias="1 2 3"/>',
    '<cylinder joint="s" diameter=".1"/>',
    '<muscle joint="h" lengthrange="-.1 2" force="4" timeconst=".02 .05" range=".8 1.1" tausmooth=".1"/>',
    '<muscle tendon="u" lengthrange=".1 2" scale="300" lmin=".4" lmax="1.5" vmax="2" fpmax="1.4" fvmax="1.3"/>',
    '<adhesion body="f" gain="3" ctrlrange="0 2"/>',
    '<general joint="h" dyntype="integrator" gainprm="1 2" biastype="affine" biasprm="1 2 3" actrange="-1 1"/>',
    '<general joint="h" dyntype="filter" dynprm=".2" actearly="true"/>',
    '<general joint="h" dyntype="user" actdim="3"/>',
    '<general joint="h" delay=".1" nsample="4" interp="linear"/>',
    '<motor joint="h" armature=".3" damping=".1 .2 .3" gear="2"/><motor joint="h" armature=".1"/>',
    '<motor tendon="t" armature=".3" gear="2"/>',
    '<pid joint="h" kp="3" kv="1" ki="2" imax="4" slewmax="5" velrange="-1 1" ffrange="-2 2" input="pos vel ff"/>',
    '<pid joint="h" kp="3" posrange="-1 1" input="pos"/>',
    '<orientation joint="ball" kp="3" kv="1"/>',
    '<orientation site="sc" refsite="sa" kp="3" input="quat" forcerange="0 3"/>',
    '<dcmotor joint="h" motorconst=".1 .2" resistance="3" inductance=".1" cogging="1 2 3" lugre="1 2 3 4 5"/>',
    '<dcmotor joint="h" nominal="12 3 100" thermal="1 2" controller="1 2 3 4 5 6" input="pos vel" saturation="1 2 3"/>',
]


@pytest.mark.parametrize("actuator", ACTUATORS)
def test_actuators(actuator):
    check(model(TENDONS + f"<actuator>{actuator}</actuator>"))


SHORTCUTS = ("motor", "position", "velocity", "intvelocity", "cylinder", "general", "pid", "damper")
GIVEN = {
    "position": 'kp="3" kv="2" timeconst=".5"',
    "velocity": 'kv="3"',
    "intvelocity": 'kp="3" kv="2"',
    "cylinder": 'timeconst=".2" area="2" bias="1 2 3"',
    "general": 'gainprm="5 6 7" biasprm="1 2 3" dynprm=".1 .2"',
    "pid": 'kp="2" kv="3" ki="4" slewmax="3" imax="5"',
    "damper": 'kv="3" ctrlrange="0 1"',
    "motor": "",
}


@pytest.mark.parametrize("shortcut", SHORTCUTS)
@pytest.mark.parametrize("inherited", SHORTCUTS)
def test_actuator_defaults_of_another_shortcut(shortcut, inherited):
    """What a class sets by one shortcut must not leak into another."""
    default = f"<default><{inherited} {GIVEN[inherited]}/></default>"
    limits = 'ctrlrange="0 1"' if shortcut == "damper" else ""
    check(model(f'<actuator><{shortcut} joint="h" {limits}/></actuator>', default))


SENSORS = """<touch site="sa" cutoff="3" noise=".1"/><accelerometer site="sa"/><velocimeter site="sa"/><gyro site="sa"/>
  <force site="sb"/><torque site="sb"/><magnetometer site="sa"/><camprojection site="sa" camera="cam"/>
  <rangefinder site="sa"/><rangefinder camera="cam" data="dist normal depth"/><jointpos joint="h"/><jointvel joint="s"/>
  <tendonpos tendon="t"/><tendonvel tendon="u"/><actuatorpos actuator="x"/><actuatorvel actuator="o"/>
      <actuatorfrc actuator="x"/>
  <jointactuatorfrc joint="h"/><tendonactuatorfrc tendon="t"/><ballquat joint="ball"/><ballangvel joint="ball"/>
  <jointlimitpos joint="h"/><jointlimitvel joint="h"/><jointlimitfrc joint="ball"/><tendonlimitpos tendon="l"/>
  <tendonlimitvel tendon="l"/><tendonlimitfrc tendon="l"/><framepos objtype="body" objname="b"/>
  <framequat objtype="xbody" objname="b" reftype="site" refname="sa"/><framexaxis objtype="geom" objname="gb"/>
  <frameyaxis objtype="site" objname="sb"/><framezaxis objtype="camera" objname="cam"/>
  <framelinvel objtype="site" objname="sb" reftype="body" refname="f"/><frameangvel objtype="site" objname="sb"/>
  <framelinacc objtype="site" objname="sb"/><frameangacc objtype="site" objname="sb"/><subtreecom body="a"/>
  <subtreelinvel body="a"/><subtreeangmom body="a"/><insidesite site="sa" objtype="geom" objname="gb"/>
  <insidesite site="sa" objtype="geom" objname="gb" enclosed="true"/>
  <distance geom1="ga" geom2="gf" cutoff="1"/><normal body1="a" geom2="gf" cutoff="1"/><fromto body1="a" body2="f"/>
  <contact geom1="ga" geom2="gf" num="3" data="found force pos" reduce="mindist"/><contact site="sa" subtree2="f"/>
  <contact body1="a"/><e_potential/><e_kinetic/><clock name="clock" user="1 2" interval=".1 -.05"/>
  <user dim="3" datatype="axis" needstage="vel"/><user dim="2" objtype="site" objname="sa"/>
  <gyro site="sa" nsample="5" delay=".1" interp="cubic"/>"""


def test_sensors():
    limited = '<tendon><fixed name="l" range="-1 1"><joint joint="h" coef="1"/></fixed></tendon>'
    actuators = """<actuator><motor name="x" joint="h"/><orientation name="o" joint="ball"/>
      <motor joint="s" delay=".1" nsample="3"/></actuator>"""
    check(model(TENDONS + limited + actuators + f"<sensor>{SENSORS}</sensor>"))


def test_options_and_flags():
    check(
        """<mujoco>
      <option timestep=".01" gravity="1 2 3" wind="1 0 0" density="1.2"
        viscosity=".1" impratio="3" tolerance="1e-6"
        iterations="7" ls_iterations="3" integrator="implicitfast" cone="elliptic" solver="CG" jacobian="sparse"
        o_margin=".1"
        o_solref=".3" o_friction="1 2" actuatorgroupdisable="1 3" magnetic="1 2 3" ccd_iterations="9">
        <flag contact="disable" energy="enable" override="enable" gravity="disable" multiccd="disable"/>
      </option></mujoco>"""
    )


def test_keyframes_custom_and_names():
    ours = check(
        model(
            """<actuator><position name="x" joint="h" timeconst=".1"/></actuator>
            <keyframe><key name="k" time="2" qvel="1 2 3 4 5 6 7 8 9 10 11" act="3" ctrl="4"/>
            <key qpos="1 2 3 4 5 6 7 8 9 1 2 3 4" mpos="1 2 3" mquat="1 2 3 4"/></keyframe>
            <custom><numeric name="n" data="1 2 3" size="5"/><numeric name="z" size="2"/><text name="t" data="hello"/>
            <tuple name="u"><element objtype="body" objname="a"/>
      <element objtype="geom" objname="gb" prm="2"/></tuple></custom>""",
            '<size nkey="4"/>',
        )
    )
    assert ours.id("geom", "gb") == 3
    assert ours.name("key", 0) == "k"
    assert ours.id("actuator", "x") == 0


@pytest.mark.parametrize("shortcut", ["position", "velocity", "cylinder", "general", "motor"])
@pytest.mark.parametrize("between", ["", "motor", "velocity", "general", "muscle", "cylinder"])
def test_actuator_defaults_skip_classes_of_another_shortcut(shortcut, between):
    """A shortcut finds the innermost class that used it, past classes that used another."""
    classes = f"""<default><position kp="10" kv="2" timeconst=".5"/><velocity kv="4"/>
      <default class="a"><position kp="7"/>
      <default class="b">{f"<{between} gear='3'/>" if between else ""}
      <default class="c"><motor ctrlrange="-1 2"/></default></default></default></default>"""
    for name in "abc":
        check(model(f'<actuator><{shortcut} joint="h" class="{name}" ctrlrange="0 1"/></actuator>', classes))


@pytest.mark.parametrize("torque", ['forcelimited="true" forcerange="-2 {}"', 'forcerange="-2 {}"', ""])
@pytest.mark.parametrize("high", [2, 1])
@pytest.mark.parametrize("between", ["", '<muscle forcerange="-.6 1.1"/>', '<motor forcelimited="false"/>'])
@pytest.mark.parametrize("own", ["", 'saturation="0 0 5"', 'saturation="0 3"', 'motorconst=".5"'])
def test_saturation_is_inherited_as_the_range_of_forces(torque, high, between, own):
    """A DC motor takes a range that is symmetric and switched on from the class that last used one."""
    saturated = "" if torque else 'saturation="1 2"'
    classes = f"""<default><general {torque.format(high)}/><default class="a">
      <dcmotor nominal="12 1 300" {saturated}/><default class="b">{between}</default></default></default>"""
    check(model(f'<actuator><dcmotor joint="h" class="b" {own}/></actuator>', classes))


@pytest.mark.parametrize("time", ["0", ".4"])
@pytest.mark.parametrize("actuator", ["position", "intvelocity", 'general dyntype="filter"'])
def test_time_constants_are_inherited(time, actuator):
    check(
        model(
            f'<actuator><{actuator} joint="h"/></actuator>',
            f'<default><position timeconst="{time}"/></default>',
        )
    )


@pytest.mark.parametrize("between", ["", '<general gaintype="user"/>', '<general gear="2"/>'])
@pytest.mark.parametrize("default", ["position", "velocity", "intvelocity", "cylinder", "pid"])
def test_inputs_of_another_type_of_gain_are_forgotten(default, between):
    classes = f'<default><{default}/><default class="c">{between}</default></default>'
    actuators = """<general class="c" joint="h" gaintype="affine"/><general class="c" joint="h" gaintype="user"/>
      <general class="c" joint="ball" gaintype="so3" biastype="so3" dyntype="none" gainprm="1" biasprm="0 -1"/>
      <general class="c" joint="h" gaintype="pid" biastype="affine" dyntype="none" gainprm="0"/>"""
    check(model(f"<actuator>{actuators}</actuator>", classes))


@pytest.mark.parametrize("gain", ["dcmotor", "fixed"])
@pytest.mark.parametrize("current", ["0", "0.1"])
@pytest.mark.parametrize("slew", ["0", "1"])
@pytest.mark.parametrize("actdim", [-1, 0, 1, 2, 3])
def test_activations_of_a_dc_motor_are_those_that_its_parameters_ask_for(gain, current, slew, actdim):
    """Else C does not run the model; without a motor's gain it may have none."""
    inputs = 'input="pos"' if gain == "dcmotor" else ""
    xml = model(f"""<actuator><general name="m" joint="h" dyntype="dcmotor" gaintype="{gain}" gainprm="1 1" {inputs}
      actearly="true" dynprm="{current} 0 0 0 0 0 0 {slew}" actdim="{actdim}"/></actuator>""")
    states = (current != "0") + (slew != "0")
    if max(actdim, 0) == states or (actdim <= 0 and gain == "fixed"):
        check(xml)
        return
    with pytest.raises(ValueError, match="inconsistent state array dimension"):
        mujoco.MjModel.from_xml_string(xml)
    with pytest.raises(
        MjcfError, match=f"parameters ask for {states} activations, actdim says {max(actdim, 0)}"
    ):
        load_model(xml)


@pytest.mark.parametrize(("dynprm", "gainprm"), [("0 0", "1"), ("0 1", "0"), ("0 1", "1")])
@pytest.mark.parametrize("actdim", [-1, 0, 1, 2, 3])
def test_activations_of_a_pid_controller(dynprm, gainprm, actdim):
    xml = model(f"""<actuator><general name="m" joint="h" dyntype="pid" gaintype="pid" biastype="affine" input="pos"
      dynprm="{dynprm}" gainprm="{gainprm}" actdim="{actdim}"/></actuator>""")
    if actdim <= 0 or actdim == (dynprm != "0 0") + (gainprm != "0"):
        check(xml)
        return
    with pytest.raises(ValueError, match="require matching actdim"):
        mujoco.MjModel.from_xml_string(xml)
    with pytest.raises(MjcfError, match=f"activations, actdim says {actdim}"):
        load_model(xml)


@pytest.mark.parametrize("actuator", ['<damper joint="h"/>', '<adhesion body="f"/>'])
def test_controls_below_zero_are_refused_from_defaults_too(actuator):
    xml = model(f"<actuator>{actuator}</actuator>", '<default><motor ctrlrange="-1 1"/></default>')
    with pytest.raises(ValueError, match="control range cannot be negative"):
        mujoco.MjModel.from_xml_string(xml)
    with pytest.raises(MjcfError) as caught:
        load_model(xml)
    assert caught.value.attribute == "ctrlrange"


@pytest.mark.parametrize("word", ["true", "false"])
@pytest.mark.parametrize("bounds", ["-1 1", "0 0"])
@pytest.mark.parametrize("default", ["general", "intvelocity"])
def test_shortcuts_forget_whether_the_activation_is_limited(default, bounds, word):
    limits = f'actlimited="{word}" actrange="{bounds}"'
    actuators = """<intvelocity {own}/><position joint="h" timeconst=".1"/><cylinder joint="h"/><pid joint="h" ki="1"/>
      <muscle joint="h" lengthrange="0 1"/><dcmotor joint="h" motorconst="1" resistance="1" inductance=".1"/>"""
    for own in ('joint="h"', f'joint="h" {limits}'):
        section = f"<actuator>{actuators.format(own=own)}</actuator>"
        check(model(section, f"<default><{default} {limits}/></default>"))


@pytest.mark.parametrize("target", ['joint="b"', 'site="s" refsite="r"'])
def test_damping_ratio_of_an_orientation_servo(target):
    """Issue 7, bug 18: the servo feels the mean of three directions."""
    check(
        f"""<mujoco><worldbody><site name="r" quat=".8 .6 0 0"/>
        <body><joint name="b" type="ball" armature=".1"/><site name="s" pos=".1 .2 .3" quat=".6 .8 0 0"/>
          <geom type="box" size=".1 .2 .35" pos=".1 .05 .2"/>
          <body pos=".2 .3 .1"><joint axis="1 2 3"/><geom size=".1" pos=".3 .2 0"/></body></body></worldbody>
        <actuator><orientation {target} kp="5" dampratio=".7"/></actuator></mujoco>"""
    )


@pytest.mark.parametrize("shortcut", ["motor", "damper", "muscle", "adhesion", "velocity"])
def test_what_a_shortcut_does_not_know_it_leaves(shortcut):
    """In a default class: a range to inherit survives shortcuts that have none, but not `position`, which has."""
    hinge = '<worldbody><body><joint name="h" range="-25 45"/><geom size=".1"/></body></worldbody>'
    servo = '<actuator><general joint="h" gainprm="1" biasprm="0 -1" biastype="affine" gaintype="fixed"/></actuator>'
    check(
        f"<mujoco><default><position inheritrange='.5'/><{shortcut}/></default>{hinge}"
        f"{servo.replace('<general', '<general dyntype=' + repr('none'))}</mujoco>"
    )


def test_armature_on_a_tendon_that_wraps():
    """Whose path has no derivative by time: neither a tendon nor an actuator gives it armature, as in C."""
    tendon = '<tendon><spatial name="t">{}<geom geom="ws"/><site site="sb"/></spatial></tendon>'
    motor = '<actuator><motor tendon="t" armature="{}"/></actuator>'
    wrapped, straight = tendon.format('<site site="w0"/>'), tendon.replace('<geom geom="ws"/>', "")
    check(model(wrapped + motor.format(0)))
    check(model(straight.format('<site site="w0"/>') + motor.format(1)))
    with pytest.raises(MjcfError, match="a tendon with armature cannot wrap around geoms"):
        load_model(model(wrapped + motor.format(1)))
    with pytest.raises(ValueError, match="geom wrapping not supported"):
        mujoco.MjModel.from_xml_string(model(wrapped + motor.format(1)))


@pytest.mark.parametrize(
    ("attributes", "message"),
    [
        ('scale="2"', "scaled frames are not built"),
        ('scale="1 1 1" massscale="3"', "scaled frames are not built"),
        ('scale="0"', "expected a number > 0"),
        ('scaling="all"', "scaling"),
    ],
)
def test_frames_with_a_scale_are_refused(attributes, message):
    frame = '<mujoco><worldbody><frame {}><geom size="1"/></frame></worldbody></mujoco>'
    check(frame.format('scale="1"'))
    with pytest.raises(MjcfError, match=message):
        load_model(frame.format(attributes))


@pytest.mark.parametrize("timestep", ["0", "-.001"])
def test_histories_need_time_to_pass(timestep):
    text = model('<actuator><motor joint="h" nsample="3"/></actuator>', f'<option timestep="{timestep}"/>')
    with pytest.raises(MjcfError, match="histories of samples need a positive timestep"):
        load_model(text)
    with pytest.raises(ValueError, match="positive timestep"):
        mujoco.MjModel.from_xml_string(text)
