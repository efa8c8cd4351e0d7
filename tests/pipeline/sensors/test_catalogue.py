"""Every type of sensor that the C engine has is in the catalogue and computed as there, or refused by a decision.

The cases are generated from the enum; a new type without an example fails.
"""

import functools

import jax
import mujoco
import numpy as np
import pytest

import jaxsim
from jaxsim.enums import SensorType, Stage
from jaxsim.mjcf import MjcfError
from jaxsim.pipeline.make_data import make_data
from jaxsim.pipeline.sensors.table import SENSORS
from jaxsim.structure.sensors import BY_TAG, BY_TYPE, CATALOGUE
from tests.pipeline.oracle import error, put_state

FRAME, SITE, JOINT, TENDON, ACTUATOR, BODY = (
    'objtype="site" objname="s" reftype="body" refname="a"',
    'site="s"',
    'joint="h"',
    'tendon="t"',
    'actuator="u"',
    'body="a"',
)
EXAMPLES = {
    **dict.fromkeys(("accelerometer", "velocimeter", "gyro", "force", "torque", "magnetometer"), SITE),
    "touch": 'site="zone"',
    "camprojection": 'site="s" camera="cam"',
    "rangefinder": 'site="s" data="dist normal"',
    **dict.fromkeys(("jointpos", "jointvel", "jointactuatorfrc"), JOINT),
    **dict.fromkeys(("jointlimitpos", "jointlimitvel", "jointlimitfrc"), JOINT),
    **dict.fromkeys(("ballquat", "ballangvel"), 'joint="ball"'),
    **dict.fromkeys(("tendonpos", "tendonvel", "tendonactuatorfrc"), TENDON),
    **dict.fromkeys(("tendonlimitpos", "tendonlimitvel", "tendonlimitfrc"), TENDON),
    **dict.fromkeys(("actuatorpos", "actuatorvel", "actuatorfrc"), ACTUATOR),
    **dict.fromkeys(("framepos", "framequat", "framexaxis", "frameyaxis", "framezaxis"), FRAME),
    **dict.fromkeys(("framelinvel", "frameangvel"), FRAME),
    **dict.fromkeys(("framelinacc", "frameangacc"), 'objtype="site" objname="s"'),
    **dict.fromkeys(("subtreecom", "subtreelinvel", "subtreeangmom"), BODY),
    "insidesite": 'site="zone" objtype="site" objname="s"',
    "distance": 'geom1="arm" geom2="ball" cutoff="2"',
    "normal": 'geom1="arm" geom2="ball" cutoff="2"',
    "fromto": 'geom1="arm" geom2="ball" cutoff="2"',
    "contact": 'geom1="ball" data="found force dist" num="2"',
    **dict.fromkeys(("e_potential", "e_kinetic", "clock"), ""),
    "tactile": 'geom="skin" mesh="pad"',
    "user": 'dim="3" needstage="vel"',
}
"""Attributes of a sensor of each kind, by element."""

REFUSED = {SensorType.PLUGIN: "engine plugins are not built in jaxsim"}
"""Types that are refused on purpose, and what the error says."""

SCENE = """<mujoco><option tolerance="0" iterations="100"/>
<asset><mesh name="pad" builtin="plate" params="4 4" scale=".1 .1 .1"/></asset><worldbody>
  <geom name="floor" type="plane" size="5 5 1"/>
  <geom name="skin" type="mesh" mesh="pad" pos="0 0 .11" contype="0" conaffinity="0"/>
  <camera name="cam" pos="3 0 1" xyaxes="0 1 0 -.3 0 1" resolution="64 48"/>
  <site name="zone" type="box" size="1 1 3"/>
  <body name="a" pos="0 0 .8"><joint name="h" axis="0 1 0" range="-.1 .1" limited="true"/>
    <geom name="arm" type="capsule" size=".05 .2" pos="0 0 .2"/>
    <body name="b" pos="0 0 .5"><joint name="ball" type="ball"/><geom size=".08" pos=".1 0 .1"/>
      <site name="s" pos="0 .1 .2" euler="100 20 0"/></body></body>
  <body name="c" pos=".02 .01 .09"><freejoint/><geom name="ball" size=".1"/><site size=".2"/></body>
  <body pos="3 0 1"><joint name="slide" type="slide" axis="1 0 0"/><geom size=".1"/></body></worldbody>
<tendon><fixed name="t" limited="true" range="-.02 .05"><joint joint="slide" coef=".5"/></fixed></tendon>
<actuator><motor name="u" joint="h" gear="2"/><motor tendon="t"/></actuator><sensor>{}</sensor></mujoco>"""


def xml(tags):
    return SCENE.format("".join(f'<{tag} name="{tag}" {EXAMPLES[tag]}/>' for tag in tags))


@functools.cache
def results():
    """C's model and data, and ours, of a scene with an example of every type that is computed."""
    tags = [row.tag for row in CATALOGUE if row.type in SENSORS]
    m = mujoco.MjModel.from_xml_string(xml(tags))
    model = jaxsim.load_model(xml(tags))
    d = mujoco.MjData(m)
    rng = np.random.default_rng(0)
    mujoco.mj_integratePos(m, d.qpos, np.array([0.15, 0.2, -0.1, 0.3, *[0.0] * 6, 0.2]), 1.0)
    d.qvel[[0, 1, 2, 3, -1]] = rng.standard_normal(5) * [1, 1, 1, 1, 0] + [0, 0, 0, 0, 0.1]
    d.ctrl[:] = 0.3
    d.time = 0.7
    ours = jax.jit(jaxsim.forward)(model, put_state(model, d, make_data(model)))
    mujoco.mj_forward(m, d)
    return m, d, model, ours


def test_catalogue_is_the_enum():
    theirs = {name[7:]: int(kind) for name, kind in mujoco.mjtSensor.__members__.items()}
    assert theirs == {kind.name: int(kind) for kind in SensorType}
    assert set(BY_TYPE) == set(SensorType)
    assert len(BY_TAG) == len(CATALOGUE) == len(SensorType)


@pytest.mark.parametrize("kind", SensorType, ids=lambda k: k.name)
def test_computed_as_in_c_or_refused_by_a_decision(kind):
    row = BY_TYPE[kind]
    if kind in REFUSED:
        with pytest.raises(MjcfError, match=REFUSED[kind]):
            jaxsim.load_model(f"<mujoco><sensor><{row.tag}/></sensor></mujoco>")
        return
    m, d, model, ours = results()
    i = model.id("sensor", row.tag)
    for field in (
        "type",
        "datatype",
        "needstage",
        "objtype",
        "objid",
        "reftype",
        "refid",
        "intprm",
        "dim",
        "adr",
    ):
        theirs = getattr(m, f"sensor_{field}")[i]
        np.testing.assert_array_equal(getattr(model, f"sensor_{field}")[i], theirs, err_msg=field)
    if row.dim:
        assert m.sensor_dim[i] == row.dim
    if kind not in (SensorType.USER, SensorType.CONTACT):  # for these the element decides
        assert m.sensor_needstage[i] == row.stage != Stage.NONE
        assert m.sensor_datatype[i] == row.datatype
    at = slice(m.sensor_adr[i], m.sensor_adr[i] + m.sensor_dim[i])
    assert kind == SensorType.USER or np.any(d.sensordata[at] != 0)
    assert error(ours.sensordata[at], d.sensordata[at]) < 1e-6  # 1e-9 but for what the solver gives
