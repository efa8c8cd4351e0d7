"""Which geoms may touch, and with which parameters, against the C engine."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

from jaxsim.interop.mujoco import put_model
from jaxsim.structure.slots import slot_count, slot_layout, unsupported_pairs
from tests.collision import oracle

TREE = """
<mujoco>
  {option}
  <default><geom type="sphere" size="1"/></default>
  <worldbody>
    <geom name="floor" type="plane" size="1 1 1"/>
    <geom name="rock" contype="2" conaffinity="3"/>
    <body name="fixed"><geom/><geom contype="4" conaffinity="4"/></body>
    <body name="mocap" mocap="true"><geom type="capsule" size="1 1"/></body>
    <body name="a">
      <freejoint/><geom/><geom contype="0" conaffinity="1"/><geom contype="0" conaffinity="0"/>
      <body name="a1"><geom name="welded"/>
        <body name="a2"><joint/><geom contype="6"/>
          <body name="a3"><geom/>
            <body name="a4"><joint/><geom type="box" size="1 1 1"/></body>
          </body>
        </body>
      </body>
    </body>
    <body name="b"><joint/><geom conaffinity="2"/><body name="b1"><joint/><geom name="tip"/></body></body>
    <body name="c"><freejoint/><geom name="ball"/></body>
  </worldbody>
  <contact>
    <exclude body1="c" body2="a2"/>
    <exclude body1="a4" body2="b"/>
    <pair geom1="tip" geom2="welded"/>
    <pair geom1="ball" geom2="floor" condim="6" margin=".3" gap=".1" friction="1 2 .1 .2 .3" solref="-100 -3"
      solreffriction=".01 1.1" solimp=".8 .9 .01 .4 3"/>
  </contact>
</mujoco>
"""


@pytest.mark.parametrize("flag", ["", '<option><flag filterparent="disable"/></option>'])
def test_filters(flag: str) -> None:
    """All geoms overlap, so the C engine's contacts are exactly the pairs that pass its filters."""
    mj_model = mujoco.MjModel.from_xml_string(TREE.format(option=flag))
    rng = np.random.default_rng(4)
    qpos = mj_model.qpos0 + 1e-3 * rng.normal(size=mj_model.nq)
    xpos, xmat, contacts = oracle.detect(mj_model, qpos[None])
    layout = slot_layout(put_model(mj_model))
    found = {(int(a), int(b)) for a, b in zip(layout.pairs.geom1, layout.pairs.geom2, strict=True)}
    assert found == {(int(c[0]), int(c[1])) for c in contacts[0]}
    # more contacts at once than any sane state has: room for all candidates by hand
    model = oracle.native_model(mj_model, nconmax=400)
    data = oracle.run(model, oracle.native_data(model, xpos, xmat))
    oracle.assert_same_contacts(oracle.ours(data), contacts, 1e-9)


@pytest.mark.parametrize("flag", ["contact", "constraint"])
def test_switched_off(flag: str) -> None:
    xml = TREE.format(option=f'<option><flag {flag}="disable"/></option>')
    mj_model = mujoco.MjModel.from_xml_string(xml)
    assert slot_count(put_model(mj_model)) == 0
    data = oracle.check(mj_model, mj_model.qpos0[None], 1e-9)
    assert data.contact.dist.shape[0] == 0


MIXING = """
<mujoco>
  {option}
  <worldbody>
    <geom type="plane" size="1 1 1" friction=".3 .1 .01" solref=".03 .8" solimp=".7 .8 .01 .3 3" condim="1"/>
    <body><freejoint/><geom size=".5" {one}/></body>
    <body><freejoint/><geom size=".5" {two}/></body>
  </worldbody>
</mujoco>
"""


@pytest.mark.parametrize(
    ("one", "two"),
    [
        ('priority="1" condim="4"', 'priority="2" condim="1"'),
        ('solmix="3" margin=".1"', 'solmix=".5" gap=".2" margin=".05"'),
        ('solmix="0"', 'solmix="2"'),
        ('solmix="0"', 'solmix="0"'),
        ('solref="-500 -20"', 'solref=".05 .9"'),
        ('solref="-500 -20" solmix="2"', 'solref="-100 -30"'),
        ('friction="0 0 0" condim="6"', 'friction="2 .3 .04" condim="3"'),
    ],
)
def test_mixing(one: str, two: str) -> None:
    mj_model = mujoco.MjModel.from_xml_string(MIXING.format(option="", one=one, two=two))
    qpos = oracle.random_qpos(mj_model, 50, np.random.default_rng(5), 0.5)
    oracle.check(mj_model, qpos, 1e-12)


def test_override() -> None:
    option = '<option o_margin=".07" o_solref=".04 .7" o_solimp=".6 .7 .02 .4 2" o_friction="1 .9 .8 .7 .6">'
    option += '<flag override="enable"/></option>'
    mj_model = mujoco.MjModel.from_xml_string(MIXING.format(option=option, one='margin=".3"', two=""))
    qpos = oracle.random_qpos(mj_model, 50, np.random.default_rng(6), 0.5)
    oracle.check(mj_model, qpos, 1e-12)


def test_unsupported_pairs_are_named() -> None:
    mj_model = mujoco.MjModel.from_xml_string(
        """<mujoco><asset><hfield name="hills" nrow="3" ncol="3" size="1 1 1 1"/>
        <mesh name="rock" vertex="0 0 0 1 0 0 0 1 0 0 0 1"/></asset>
        <worldbody><geom name="ground" type="hfield" hfield="hills"/>
        <body><freejoint/><geom name="cam" type="sdf" mesh="rock"/></body></worldbody></mujoco>"""
    )
    (line,) = unsupported_pairs(put_model(mj_model))
    assert "'cam'" in line
    assert "'ground'" in line
    assert "hfield against sdf" in line
    assert "more" not in line
