"""Bodies, inertia, joints, geoms, sites, cameras and lights against the C compiler."""

import pytest

from jaxsim import UnsupportedError, make_data
from jaxsim.compile import load_model
from jaxsim.mjcf import MjcfError
from jaxsim.viewer.scene import make_scene
from tests.compile.oracle import check

SHAPES = {
    "sphere": "0.1",
    "capsule": "0.1 0.2",
    "cylinder": "0.1 0.2",
    "ellipsoid": "0.1 0.2 0.3",
    "box": "0.1 0.2 0.3",
}


def body(content: str, compiler: str = "", attributes: str = "") -> str:
    return f"""<mujoco><compiler {compiler}/><worldbody>
      <body name="b" pos="1 2 3" {attributes}>{content}</body></worldbody></mujoco>"""


@pytest.mark.parametrize("shell", ["false", "true"])
@pytest.mark.parametrize("shape", SHAPES)
def test_inertia_of_primitives(shape, shell):
    geom = f'<geom type="{shape}" size="{SHAPES[shape]}" shellinertia="{shell}" euler="10 20 30" pos=".1 .2 .3"/>'
    check(body("<freejoint/>" + geom))


@pytest.mark.parametrize("shape", SHAPES)
def test_fluid_coefficients(shape):
    geom = f'<geom type="{shape}" size="{SHAPES[shape]}" fluidshape="ellipsoid" fluidcoef="1 2 3 4 5"/>'
    check(body("<freejoint/>" + geom))


@pytest.mark.parametrize("shape", ["capsule", "cylinder", "ellipsoid", "box"])
def test_fromto(shape):
    ends = 'fromto="0 0.1 0.2 1 1.1 0.7"'
    check(
        body(f'<freejoint/><geom type="{shape}" size="0.1" {ends}/><site type="{shape}" size="0.1" {ends}/>')
    )


ORIENTATIONS = [
    'quat="1 2 3 4"',
    'axisangle="1 2 3 40"',
    'xyaxes="1 0 1 0 1 1"',
    'zaxis="1 2 -3"',
    'zaxis="0 0 -1"',
    'euler="10 20 30"',
]


@pytest.mark.parametrize("sequence", ["xyz", "XYZ", "zYx"])
@pytest.mark.parametrize("form", ORIENTATIONS)
def test_orientation_forms(form, sequence):
    inner = f"""<joint/><geom type="box" size=".1 .2 .3" {form}/><site {form}/><camera {form}/>
      <body {form}><joint/><inertial pos="0 0 1" mass="1" diaginertia="1 2 2.5" {form}/></body>"""
    check(body(inner, f'eulerseq="{sequence}"', form))


@pytest.mark.parametrize("own", ["", *ORIENTATIONS[:2]])
@pytest.mark.parametrize("inner", ["", *ORIENTATIONS[:2]])
@pytest.mark.parametrize("outer", ORIENTATIONS)
def test_the_orientation_given_last_counts(outer, inner, own):
    """Whatever the form: that of the element, else of the innermost class."""
    tags = (("geom", 'type="box" size=".1 .2 .3"'), ("site", ""), ("camera", ""))
    defaults = [" ".join(f"<{tag} {form}/>" for tag, _ in tags) for form in (outer, inner)]
    elements = "".join(f'<{tag} class="d" {rest} {own}/>' for tag, rest in tags)
    check(
        f"""<mujoco><default>{defaults[0]}<default class="d">{defaults[1]}</default></default>
        <worldbody>{elements}</worldbody></mujoco>"""
    )


def test_radian():
    check(
        body('<joint range="-1 1" ref=".1" springref=".2"/><geom size="1" euler="1 2 3"/>', 'angle="radian"')
    )


def test_several_geoms_share_a_body():
    geoms = "".join(
        f'<geom type="{shape}" size="{size}" pos="{k} .{k} -.{k}" euler="{9 * k} {5 * k} 3" density="{100 * (k + 1)}"/>'
        for k, (shape, size) in enumerate(SHAPES.items())
    )
    check(body("<freejoint/>" + geoms))


def test_mass_overrides_density_and_massless_geoms_do_not_count():
    check(
        body(
            '<freejoint/><geom size=".1" mass="3"/><geom size=".2" mass="0"/><geom size=".3" density="0" pos="1 0 0"/>'
        )
    )


def test_full_inertia():
    check(body('<freejoint/><inertial pos=".1 .2 .3" mass="2" fullinertia="2 3 4 .1 .2 .3"/>'))


@pytest.mark.parametrize("scale", [1e-9, 1e-6, 1.0, 1e3])
@pytest.mark.parametrize("offdiagonal", [0.0, 1e-16, 1e-14, 1e-12, 1e-9, 1e-3])
def test_principal_axes_of_nearly_symmetric_bodies(scale, offdiagonal):
    """Where two moments are almost equal, the axes depend on how the iteration stops."""
    numbers = " ".join(repr(scale * x) for x in (1, 1, 0.8, offdiagonal, 0, 0))
    check(body(f'<freejoint/><inertial pos="0 0 0" mass="1" fullinertia="{numbers}"/>'))


@pytest.mark.parametrize(
    "compiler",
    [
        'inertiafromgeom="true"',
        'inertiafromgeom="auto"',
        'inertiagrouprange="1 2"',
        'boundmass="5" boundinertia="3"',
        'balanceinertia="true"',
        'settotalmass="7"',
        'alignfree="true"',
    ],
)
def test_compiler_settings(compiler):
    first = """<freejoint/><geom size=".1" pos=".1 .2 .3" group="1"/><geom type="box" size=".3 .2 .1" group="0"/>
      <site pos="1 2 3"/>"""
    second = """<joint/><inertial pos="0 0 1" mass="1" diaginertia="1 1 1.5"/><geom size=".2" group="2"/><camera/>
      <light dir="1 1 1"/>"""
    check(
        f"""<mujoco><compiler {compiler}/><worldbody><body>{first}</body><body euler="1 2 3">{second}</body>
        </worldbody></mujoco>"""
    )


JOINTS = [
    '<joint type="hinge" axis="1 2 3" pos=".1 .2 .3" range="-30 40" ref="5" springref="10" stiffness="3" damping="2"/>',
    '<joint type="slide" axis="0 1 1" range="-1 1" frictionloss=".1" armature=".2" margin=".01"/>',
    '<joint type="ball" range="0 60" pos="1 0 0" damping="1 .2 .3" stiffness="1 .5 .25"/>',
    '<joint type="free" armature="1" damping="2"/>',
    '<freejoint name="f" group="3"/>',
    '<joint limited="false" range="-1 1" solreflimit=".01 .9" solimplimit=".8 .9" solreffriction=".3 1"/>',
    '<joint springdamper=".1 1"/>',
    '<joint type="slide" actuatorfrcrange="-1 2" actuatorgravcomp="true"/>',
    '<joint type="slide"/><joint axis="1 0 0"/><joint axis="0 1 0" pos="0 0 .1"/>',
    '<joint type="slide" axis="1 0 0"/><joint type="slide" axis="0 1 0"/>',
    '<joint type="slide" axis="1 0 0"/><joint type="ball"/>',
]


@pytest.mark.parametrize("joint", JOINTS)
def test_joints(joint):
    child = '<body pos="0 0 1"><joint axis="0 1 0"/><geom type="capsule" size=".1 .3" pos=".2 0 0"/></body>'
    check(body(joint + '<geom type="box" size=".1 .2 .3"/>'))
    check(body(joint + '<geom type="box" size=".1 .2 .3" pos=".1 .2 .3"/>' + child))


def test_frames_carry_pose_and_class():
    check(
        """<mujoco><default><geom density="5"/><default class="c"><geom size=".3" density="7"/></default></default>
        <worldbody><frame pos="1 2 3" euler="10 20 30" childclass="c"><geom size=".1"/><geom/>
          <frame euler="5 6 7" pos=".1 0 0"><body><freejoint/><geom/></body><light dir="1 0 0"/><camera/>
      </frame></frame>
          <body><frame pos=".1 .2 .3" axisangle="1 1 0 30"><joint axis="1 0 0"/><geom type="box" size=".1 .1 .2"/>
            <site/></frame></body></worldbody></mujoco>"""
    )


@pytest.mark.parametrize(
    "form", ['diaginertia="1 1.2 1.3" euler="5 6 7"', 'fullinertia="1 1.2 1.3 .1 .2 .3"']
)
def test_frames_carry_inertial_frames(form):
    inertial = f'<inertial pos=".1 .2 .3" mass="1" {form}/>'
    check(
        body(
            f'<frame pos="1 2 3" euler="10 20 30"><joint/><frame axisangle="1 0 0 40">{inertial}</frame></frame>'
        )
    )


@pytest.mark.parametrize("mode", ["fixed", "track", "trackcom", "targetbody", "targetbodycom"])
def test_cameras_and_lights(mode):
    target = 'target="t"' if "target" in mode else ""
    check(
        f"""<mujoco><worldbody><body name="t" pos="3 0 0"><freejoint/><geom size=".1" pos="1 0 0"/></body>
        <body euler="20 30 40" pos="0 0 1"><joint/><geom size=".1" pos="0 1 0"/>
          <camera mode="{mode}" {target} pos="1 2 3" euler="1 2 3" fovy="30" ipd=".1" user="1 2"/>
          <camera sensorsize=".1 .2" resolution="100 50" focal=".3 .4" principalpixel="3 4"/>
          <camera projection="orthographic" output="rgb depth"/>
          <light mode="{mode}" {target} pos="3 2 1" dir="1 1 0" directional="true" castshadow="false"/>
          <light type="point" attenuation="1 2 3" cutoff="30" exponent="5" ambient=".1 .2 .3" active="false"/>
        </body></worldbody></mujoco>"""
    )


def test_planes_and_statistics():
    check(
        """<mujoco><statistic extent="3" center="1 2 3" meanmass="4"/><worldbody><geom type="plane" size="0 0 1"/>
        <geom type="plane" size="5 3 1" pos="0 0 -1"/><body mocap="true"><geom type="plane" size="1 1 1"/></body>
        </worldbody></mujoco>"""
    )


def test_world_without_bodies():
    check("<mujoco/>")


def test_mocap_gravcomp_and_user_data():
    check(
        """<mujoco><size nuser_geom="3" nuserdata="4"/><worldbody><body mocap="true" pos="1 2 3" quat="1 2 3 4"/>
        <body gravcomp=".5" user="1 2 3"><joint user="4"/><geom size="1" user="5"/><site user="6 7"/></body>
        </worldbody></mujoco>"""
    )


def test_massless_moving_body_with_static_child():
    check(body('<joint/><body pos="1 0 0"><geom size=".1"/></body>'))


FUSED = """<body name="a" pos="0 0 1" euler="10 0 0"><joint/><geom size=".1"/>
  <body name="s" pos="1 0 0" euler="0 20 0"><geom type="box" size=".1 .2 .3"/><site pos="0 0 1" euler="5 5 5"/>
    <body pos="0 1 0"><joint/><geom size=".2"/></body><body pos="0 0 2"><geom size=".3"/></body></body>
  <body name="kept" pos="0 1 0"><geom size=".1"/></body></body><body name="w" pos="2 0 0"><geom size=".1"/></body>"""


@pytest.mark.parametrize("fuse", ["true", "false"])
def test_static_bodies_are_fused(fuse):
    check(
        f"""<mujoco><compiler fusestatic="{fuse}"/><worldbody>{FUSED}</worldbody>
        <sensor><framepos objtype="body" objname="kept"/></sensor></mujoco>"""
    )


_INERTIAL = '<inertial pos=".01 0 0" mass="{}" diaginertia=".1 .1 .1"/>'


@pytest.mark.parametrize("rule", ["auto", "true", "false"])
@pytest.mark.parametrize(
    "own", [_INERTIAL.format(2), '<geom size=".1"/>', _INERTIAL.format(2) + '<geom size=".1"/>']
)
@pytest.mark.parametrize(
    "fused",
    [_INERTIAL.format(0.3), '<geom size=".1"/>', _INERTIAL.format(0.3) + '<geom size=".1" group="4"/>'],
)
def test_inertia_of_fused_bodies(rule, own, fused):
    """With `inertiafromgeom`, a link that has an inertial and no geoms adds nothing."""
    inertial = _INERTIAL.format(1) if rule == "false" else ""
    check(
        f"""<mujoco><compiler fusestatic="true" inertiafromgeom="{rule}" inertiagrouprange="0 2"/><worldbody>
        <body><joint/>{own if "inertial" in own else inertial + own}<body pos=".2 .1 0" euler="0 30 0">{fused}
        <body pos=".1 0 0" euler="20 0 0">{_INERTIAL.format(0.5)}</body></body></body></worldbody></mujoco>"""
    )


_UNEVEN = '<inertial pos="0 0 0" mass="2" diaginertia=".1 .1 .5"/>'


@pytest.mark.parametrize("rule", ["auto", "true"])
@pytest.mark.parametrize("bound", ['boundinertia=".03"', 'boundmass="9"', 'boundinertia="1e-5"'])
@pytest.mark.parametrize("own", ['<geom size=".1"/>', '<geom size=".3"/>'])
@pytest.mark.parametrize(
    "fused",
    [
        '<geom size=".1"/>',
        '<geom size=".3"/>',
        '<geom size=".1" mass="0"/>',
        '<geom size=".3"/><body pos="0 1 0"><geom size=".1"/></body>',
        _UNEVEN,
        "<site/>",
    ],
)
def test_bounded_inertia_is_not_lost_by_fusing(rule, bound, own, fused):
    """Bodies whose inertia would be found anew from geoms stay apart where the compiler has changed it."""
    check(
        f"""<mujoco><compiler fusestatic="true" balanceinertia="true" inertiafromgeom="{rule}" {bound}/><worldbody>
        <body><joint/>{own}<body pos="1 0 0">{fused}</body></body></worldbody></mujoco>"""
    )


@pytest.mark.parametrize("kept", ["", '<sensor><framepos objtype="body" objname="s"/></sensor>'])
@pytest.mark.parametrize(
    "inside", ["", '<geom size=".1" mass="0"/>', '<body pos="0 1 0"><geom size=".1"/></body>']
)
def test_free_bodies_are_aligned_once_fused(kept, inside):
    check(
        f"""<mujoco><compiler fusestatic="true" alignfree="true"/><worldbody><body pos="1 2 3" euler="10 20 30">
        <body pos=".1 0 0" euler="30 0 0"><freejoint/><geom type="box" size=".1 .2 .3" pos=".3 0 0" euler="10 10 0"/>
        <site pos="1 1 1"/><light dir="1 0 0"/><body name="s" pos="0 1 0" euler="90 0 0"><camera/>{inside}</body></body>
        </body></worldbody>{kept}</mujoco>"""
    )


@pytest.mark.parametrize(
    "option", ["", '<option density="1"/>', '<option viscosity=".1"/>', '<option wind="1 0 0"/>']
)
@pytest.mark.parametrize("own", ["", 'gravcomp="1"', 'gravcomp="1" fuse="false"', 'mocap="true"'])
@pytest.mark.parametrize("inside", ["<site/>", '<geom size=".2"/>'])
def test_fused_bodies_feel_the_same_forces(option, own, inside):
    inner = f'<body pos="0 1 0" gravcomp="1">{inside}<body><geom size=".1"/></body></body>'
    check(
        f"""<mujoco><compiler fusestatic="true"/>{option}<worldbody><body {own}><geom size=".1"/>{inner}</body>
        <body pos="1 0 0"><joint/><geom size=".1"/>{inner}</body></worldbody></mujoco>"""
    )


def test_a_free_body_may_stand_on_a_fused_one():
    free = '<body pos="1 0 0" euler="0 0 20"><freejoint/><geom size=".1"/></body>'
    inner = f'<geom size=".1"/>{free}'
    check(body(inner, 'fusestatic="true"', 'euler="10 20 30"').replace('name="b"', ""))
    with pytest.raises(MjcfError, match="child of the world"):
        load_model(body(inner))


def test_visual_geoms_are_discarded():
    check(
        """<mujoco><compiler discardvisual="true"/><asset>
      <texture name="t" type="2d" builtin="flat" width="4" height="4"/>
        <material name="m" texture="t"/></asset><worldbody><body><freejoint/>
      <geom size=".1" contype="0" conaffinity="0"/>
        <geom size=".2" material="m"/><geom name="seen" size=".3" contype="0" conaffinity="0"/></body></worldbody>
        <sensor><framepos objtype="geom" objname="seen"/></sensor></mujoco>"""
    )


@pytest.mark.parametrize(
    "listed", [["material m"], ["texture t"], ["mesh seen"], ["mesh idle", "material m", "texture t"]]
)
def test_what_tuples_list_is_not_discarded(listed):
    """Nothing else refers to it any more."""
    elements = "".join('<element objtype="{}" objname="{}"/>'.format(*each.split()) for each in listed)
    check(
        f"""<mujoco><compiler discardvisual="true"/><asset>
        <texture name="s" type="2d" builtin="flat" width="4" height="2"/>
        <texture name="t" type="2d" builtin="flat" width="2" height="2"/><material name="first"/>
        <material name="m" texture="t"/><mesh name="idle" builtin="cone" params="8 .3"/>
        <mesh name="seen" builtin="cone" params="8 .5"/></asset><worldbody><body><joint/><geom size=".1" material="m"/>
        <geom type="mesh" mesh="seen" contype="0" conaffinity="0"/><site material="m"/></body></worldbody>
        <custom><tuple name="u">{elements}</tuple></custom></mujoco>"""
    )


@pytest.mark.parametrize("shape", ['size=".1"', 'type="mesh" mesh="m"', 'type="box" mesh="m"'])
def test_geoms_that_a_medium_acts_on_are_kept(shape):
    check(
        f"""<mujoco><compiler discardvisual="true"/><option density="1"/>
        <asset><mesh name="m" builtin="cone" params="8 .3"/></asset><worldbody><body><freejoint/><geom size=".1"/>
        <geom {shape} contype="0" conaffinity="0" fluidshape="ellipsoid"/></body></worldbody></mujoco>"""
    )


@pytest.mark.parametrize("bits", ["", 'contype="0" conaffinity="0"'])
def test_meshes_that_primitives_are_fitted_to_stay_with_them(bits):
    check(
        f"""<mujoco><compiler discardvisual="true"/><asset><mesh name="m" builtin="cone" params="8 .3"/>
        <mesh name="n" builtin="cone" params="9 .3"/></asset><worldbody><geom type="mesh" mesh="n"/>
        <geom type="box" mesh="m" {bits}/></worldbody></mujoco>"""
    )


def test_sleep_policies():
    check(
        """<mujoco><worldbody><body sleep="never"><freejoint/><geom size=".1"/></body>
        <body sleep="allowed"><joint/><geom size=".1"/></body><body><joint name="j"/><geom size=".1"/></body>
        <body><joint/><geom size=".1"/></body></worldbody><actuator><motor joint="j"/></actuator></mujoco>"""
    )


@pytest.mark.parametrize("count", [1, 4])
def test_chains_and_trees(count):
    chain = (
        '<body pos=".1 .2 .3" euler="10 20 30"><joint axis="1 2 0"/><geom type="capsule" size=".05 .2"/>' * 5
    )
    check(f"<mujoco><worldbody>{(chain + '</body>' * 5) * count}</worldbody></mujoco>")


ALONG = '<joint type="slide" axis="1 0 0" armature="0.5"/>'
SIMPLE = (
    ALONG,
    ALONG + '<joint type="slide" axis="0 1 0"/>',
    ALONG + "<joint/>",
    "<joint/>" + ALONG,
    '<joint/><joint type="ball"/>',
    '<joint type="ball" pos="0.1 0 0"/>',
    '<joint type="slide" axis="1 1 0"/>',
    '<joint type="slide" pos="1 0 0"/>',
    "<freejoint/>",
    "",
)


@pytest.mark.parametrize("allowed", ["auto", "false"])
def test_simple_bodies(allowed):
    bodies = "".join(
        f'<body simple="{allowed}">{joints}<geom type="box" size=".1 .2 .3"/></body>' for joints in SIMPLE
    )
    nested = f'<body simple="{allowed}"><geom size=".1"/><body>{ALONG}<geom size=".1"/></body></body>'
    found = check(f"<mujoco><worldbody>{bodies}{nested}</worldbody></mujoco>").body_simple
    assert (found == 2).sum() == (3 if allowed == "auto" else 1)


@pytest.mark.parametrize("size", ["9e-7", "1.1e-6"])
@pytest.mark.parametrize(
    "body",
    [
        '<freejoint/><inertial mass="1" pos="{} 0 0" diaginertia="1 1 1"/>',
        '<freejoint/><inertial mass="1" pos="0 0 0" quat="-1 {} 0 0" diaginertia="1 1.1 1.2"/>',
        '<joint pos="{} 0 0"/><inertial mass="1" pos="0 0 0" diaginertia="1 1 1"/>',
    ],
)
def test_nearly_aligned_bodies_are_simple(body, size):
    """Frames count as the same within a micrometre: meshes have that much rounding."""
    scene = f'<site pos="1 1 1"/><body>{body.format(size)}</body>'
    found = check(f"<mujoco><worldbody>{scene}</worldbody></mujoco>").body_simple
    assert found[1] == (size == "9e-7")


def test_a_site_of_type_sdf_has_no_shape():
    """C takes it; it is not drawn, and what asks about its volume is refused by name."""
    xml = body(
        """<joint/><geom size=".1"/><site name="s" type="sdf"/><site name="t" type="sdf" size="1 2 3"/><site/>"""
    )
    check(xml)
    scene = make_scene(load_model(xml))
    assert [part.name for part in scene.parts] == ["geom 0", "site 2"]
    touch = xml.replace("</worldbody>", '</worldbody><sensor><touch site="s"/></sensor>')
    with pytest.raises(UnsupportedError, match="the volume of a site of type sdf"):
        make_data(load_model(touch))
    with pytest.raises(MjcfError, match="a site cannot be a height field or plane"):
        load_model(xml.replace('type="sdf"', 'type="plane"'))
