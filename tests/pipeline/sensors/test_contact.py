"""Contact sensors: every way to match, every reduction, all data, against the C engine; also where slots are shared."""

import jax
import jax.numpy as jnp
import mujoco
import numpy as np
import pytest

import jaxsim
from jaxsim.interop.mujoco import put_model
from jaxsim.pipeline.make_data import make_data
from tests.pipeline.oracle import error, put_state

BODIES = """
<geom name="floor" type="plane" size="5 5 1"/>
<geom name="wall" type="box" size=".02 1 1" pos="-.41 0 0"/>
<site name="zone" type="box" size=".35 .35 .2"/>
<site name="ball" type="sphere" size=".2" pos=".3 0 0"/>
<site name="drum" type="cylinder" size=".3 .1" pos=".2 0 0" euler="10 5 0"/>
<body name="a" pos="0 0 .085"><freejoint/>
  <geom name="a1" type="capsule" size=".1 .2" euler="0 80 5"/><geom name="a2" type="sphere" size=".1" pos=".3 0 .02"/>
  <body name="b" pos="0 0 .19"><joint axis="0 1 0"/><geom name="b1" type="capsule" size=".1 .1" euler="80 0 0"/></body>
</body>
<body name="c" pos=".17 .15 .09"><freejoint/><geom name="c1" type="sphere" size=".1"/></body>
<body name="d" pos=".48 0 .07"><freejoint/><geom name="d1" type="sphere" size=".1"/></body>
<body name="e" pos="-.3 0 .3"><freejoint/><geom name="e1" type="sphere" size=".1"/>
  <geom name="e2" type="capsule" size=".05 .1"/></body>
"""
MATCHES = (
    "",
    "geom1='a1'",
    "geom2='a1'",
    "geom1='a1' geom2='floor'",
    "geom1='floor' geom2='a1'",
    "body1='a'",
    "body2='a' geom1='c1'",
    "body1='d' body2='a'",
    "subtree1='a'",
    "subtree1='a' subtree2='a'",
    "subtree2='world'",
    "body1='world' subtree2='a'",
    "site='zone'",
    "site='ball' geom2='a2'",
    "site='drum' subtree2='a'",
    "geom1='wall' geom2='floor'",
)
FULL = "found force torque dist pos normal tangent linvel angvel"
NET = "found force torque dist pos normal tangent"


REDUCTIONS = (
    ("none", 3, FULL),
    ("mindist", 6, "dist linvel"),
    ("maxforce", 2, "found force pos normal"),
)


def sensors():
    text = ""
    for match in MATCHES:
        kinds = [("mindist", 1, "found dist pos"), ("netforce", 2, NET)]
        if "site" not in match:
            kinds += REDUCTIONS
        for reduce, num, data in kinds:
            text += f"<contact {match} num='{num}' reduce='{reduce}' data='{data}'/>"
    return text


def xml(cone="pyramidal", midphase="enable", pairs=""):
    return f"""<mujoco><option cone="{cone}" tolerance="0" iterations="100"><flag midphase="{midphase}"/></option>
      <default><geom condim="4"/></default><worldbody>{BODIES}</worldbody>
      <contact>{pairs}</contact><sensor>{sensors()}</sensor></mujoco>"""


PAIRS = (
    '<pair geom1="d1" geom2="floor"/><pair geom1="c1" geom2="a2" condim="3"/><pair geom1="a1" geom2="wall"/>'
)
SCENES = {
    "pyramidal": (xml(), -1),
    "elliptic, no midphase": (xml("elliptic", "disable"), -1),
    "explicit pairs": (xml(pairs=PAIRS), -1),
    "shared slots": (xml(pairs=PAIRS), 18),
}


def states(m, n=3):
    rng = np.random.default_rng(1)
    for _ in range(n):
        d = mujoco.MjData(m)
        mujoco.mj_integratePos(m, d.qpos, 0.02 * rng.standard_normal(m.nv), 1.0)
        d.qvel[:] = rng.standard_normal(m.nv)
        mujoco.mj_forward(m, d)
        yield d


SLOW = ("pyramidal", "elliptic, no midphase")


@pytest.mark.parametrize("name", [pytest.param(n, marks=[pytest.mark.slow] * (n in SLOW)) for n in SCENES])
def test_equals_the_c_engine(name):
    text, nconmax = SCENES[name]
    m = mujoco.MjModel.from_xml_string(text)
    model = put_model(m, nconmax=nconmax)
    theirs = list(states(m))
    data = make_data(model)
    batch = jax.tree.map(lambda *x: jnp.stack(x), *(put_state(model, d, data) for d in theirs))
    all_ours = jax.jit(jax.vmap(jaxsim.forward, (None, 0)))(model, batch)
    for k, d in enumerate(theirs):
        assert d.ncon >= 6
        assert int(all_ours.ncon[k]) == d.ncon
        for i in range(m.nsensor):
            at = slice(m.sensor_adr[i], m.sensor_adr[i] + m.sensor_dim[i])
            ours = all_ours.sensordata[k, at]
            # forces are the solver's, which C and we stop at different points
            assert error(ours, d.sensordata[at]) < 1e-6, (i, m.sensor_intprm[i], d.sensordata[at])
