"""From MjData to Data: everything is copied, contacts have their slots, and forces their rows."""

import jax
import mujoco
import numpy as np
import pytest

import jaxsim
from jaxsim.interop.layout import copied_fields
from tests.interop.test_get_data import COUNTS, FIELDS, ROWS, SCENES, full_J, state
from tests.pipeline.oracle import error


def engine(name, function=mujoco.mj_forward):
    m = mujoco.MjModel.from_xml_string(SCENES[name])
    m.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_ISLAND
    d = state(m, 1)
    function(m, d)
    return m, d


@pytest.mark.parametrize("name", SCENES)
def test_there_and_back(name):
    """All of MjData comes back, forces and rows included, in C's order."""
    m, d = engine(name, mujoco.mj_step)
    assert d.nefc
    back = jaxsim.get_data(m, jaxsim.put_data(m, d))
    for field in COUNTS:
        assert getattr(back, field) == getattr(d, field), field
    for field in (*FIELDS, *ROWS):
        if field != "crb":
            assert error(getattr(back, field), getattr(d, field)) < 1e-9, field
    for field in ("dist", "pos", "frame", "friction", "geom", "efc_address"):
        np.testing.assert_array_equal(getattr(back.contact, field), getattr(d.contact, field))
    assert error(full_J(m, back), full_J(m, d)) < 1e-9


FAST = """
<mujoco>
  <option timestep="0.02" jacobian="{}"><flag island="disable"/></option>
  <worldbody>
    <body><geom size=".1" pos="1 0 0"/><joint axis="0 0 1" range="-10 10" limited="true" solreflimit="9 1"/>
      <body><joint type="slide" range="-.1 .1" limited="true" armature=".1"/>
        <joint type="slide" range="-.2 .2" limited="true" armature=".2"/>
        <geom size=".1"/></body></body>
    <body pos="0 0 1"><joint axis="0 1 0" range="-2 2" limited="true"/><geom size=".1"/></body>
  </worldbody>
</mujoco>"""


@pytest.mark.parametrize("jacobian", ["dense", "sparse"])
def test_rows_of_before_a_long_step(jacobian):
    """A hinge turns by more than half a turn; two slides share an axis; a limit is passed, and the other comes near."""
    m = mujoco.MjModel.from_xml_string(FAST.format(jacobian))
    d = mujoco.MjData(m)
    d.qpos[:] = 0.25, -0.15, 0.28, -0.036
    d.qvel[:] = 230, 3, -1, 2.5
    mujoco.mj_step(m, d)
    assert d.nefc == 4
    assert abs(d.qpos[0]) > np.pi
    back = jaxsim.get_data(m, jaxsim.put_data(m, d))
    for field in (*FIELDS, *ROWS):
        assert error(getattr(back, field), getattr(d, field)) < 1e-9, field
    assert error(full_J(m, back), full_J(m, d)) < 1e-9


class Wrapped:
    """A struct of the C engine as dm_control hands it out."""

    def __init__(self, struct):
        self.struct = struct

    def __getattr__(self, name):
        value = getattr(self.struct, name)
        return Wrapped(value) if name == "model" else value


def test_wrapped_structs():
    m, d = engine("contacts, pyramids", mujoco.mj_step)
    data = jaxsim.put_data(Wrapped(m), Wrapped(d))
    for a, b in zip(jax.tree.leaves(data), jax.tree.leaves(jaxsim.put_data(m, d)), strict=True):
        np.testing.assert_array_equal(a, b)


def test_arms_of_adhesion_depend_on_contacts():
    m = mujoco.MjModel.from_xml_string("""<mujoco><worldbody><geom type="plane" size="1 1 1"/>
      <body name="b" pos="0 0 .09"><freejoint/><geom size=".1"/></body></worldbody>
      <actuator><adhesion body="b" ctrlrange="0 1" gain="3"/></actuator></mujoco>""")
    d = mujoco.MjData(m)
    mujoco.mj_forward(m, d)
    back = jaxsim.get_data(m, jaxsim.put_data(m, d))
    assert d.actuator_moment.any()
    np.testing.assert_allclose(back.actuator_moment, d.actuator_moment, atol=1e-12)


def test_numbers_of_contacts_and_rows():
    m, d = engine("contacts, pyramids")
    for model in (m, jaxsim.put_model(m)):
        data = jaxsim.put_data(model, d)
        assert {name: int(getattr(data, name)) for name in COUNTS[:-1]} == {
            n: getattr(d, n) for n in COUNTS[:-1]
        }
        assert int((data.contact.geom[:, 0] >= 0).sum()) == d.ncon
        assert int(data.warning) == 0
        assert (
            error(sorted(data.efc_force[data.efc_force != 0]), sorted(d.efc_force[d.efc_force != 0])) < 1e-12
        )


def test_contacts_have_slots_of_their_pairs():
    """Slots and rows are those that collision gives to these geoms; which slot of a pair comes first is free."""
    m, d = engine("contacts, pyramids")
    model = jaxsim.put_model(m)
    data = jaxsim.put_data(model, d)
    ours = jax.jit(lambda data: jaxsim.forward(model, data))(data).contact
    theirs = data.contact
    both = (ours.geom[:, 0] >= 0) & (theirs.geom[:, 0] >= 0)
    assert int(both.sum()) >= 3
    for field in ("geom", "efc_address", "dim"):
        np.testing.assert_array_equal(getattr(theirs, field)[both], getattr(ours, field)[both])
    assert sorted(map(tuple, theirs.geom.tolist())) == sorted(map(tuple, ours.geom.tolist()))


def test_contacts_with_a_plane_leave_the_slots_that_are_shared():
    """Eight boxes in a block: 32 points on the plane, which have slots of their own, and 64 between boxes."""
    bodies = "".join(
        f'<body pos="{0.1999 * i} {0.1999 * j} .0995"><freejoint/><geom type="box" size=".1 .1 .1"/></body>'
        for i in range(4)
        for j in range(2)
    )
    m = mujoco.MjModel.from_xml_string(
        f'<mujoco><worldbody><geom type="plane" size="9 9 1"/>{bodies}</worldbody></mujoco>'
    )
    d = mujoco.MjData(m)
    mujoco.mj_forward(m, d)
    data = jaxsim.put_data(m, d)
    assert d.ncon == 96
    assert int((data.contact.geom[:, 0] >= 0).sum()) == d.ncon
    assert not data.warning & jaxsim.WarningBit.CONTACT_OVERFLOW


def test_nothing_is_shared():
    m, d = engine("sensors")
    data = jaxsim.put_data(m, d)
    before = jax.tree.map(np.array, data)
    for name in copied_fields():
        theirs = getattr(d, name)
        if isinstance(theirs, np.ndarray):
            theirs[...] = 1 - theirs
    d.contact.pos[...] += 1
    d.efc_force[...] += 1
    for a, b in zip(jax.tree.leaves(before), jax.tree.leaves(data), strict=True):
        np.testing.assert_array_equal(a, b)


def test_too_many_contacts():
    m, d = engine("contacts, pyramids")
    assert d.ncon > 2
    model = jaxsim.put_model(m, nconmax=2)
    data = jaxsim.put_data(model, d)
    slots = data.contact.geom[:, 0] >= 0
    assert int(slots.sum()) == len(data.contact.dist) < d.ncon
    assert int(data.ncon) == d.ncon
    assert data.warning & jaxsim.WarningBit.CONTACT_OVERFLOW


def test_another_model():
    _, d = engine("contacts, pyramids")
    other, _ = engine("sensors")
    with pytest.raises(ValueError, match=r"put_data: qpos has \d+ numbers, the model needs \d+"):
        jaxsim.put_data(other, d)


def test_what_is_no_model():
    with pytest.raises(TypeError, match=r"put_model: expected a mujoco\.MjModel, not Model"):
        jaxsim.put_model(jaxsim.load_model("<mujoco/>"))


def test_height_fields_without_cells():
    xml = """<mujoco><asset><hfield name="wall" nrow="1" ncol="3" size="1 1 1 1" elevation="0 1 0"/></asset>
      <worldbody><geom type="hfield" hfield="wall"/></worldbody></mujoco>"""
    with pytest.raises(ValueError, match="put_model: height field 'wall' has fewer than 2 rows or columns"):
        jaxsim.put_model(mujoco.MjModel.from_xml_string(xml))


def test_a_changed_model_is_converted_again():
    m, _ = engine("sensors")
    ours = jaxsim.make_data(m)
    m.qpos0[0] += 0.25
    np.testing.assert_allclose(jaxsim.make_data(m).qpos[0], ours.qpos[0] + 0.25)


@pytest.mark.parametrize(
    ("section", "sizes"),
    [
        ("", (-1, -1, "")),
        ('<size nconmax="9"/>', (9, -1, "")),
        ('<size nconmax="9" njmax="30"/>', (-1, -1, "")),
        ('<custom><numeric name="max_contact_points" data="7"/></custom>', (7, -1, "")),
        ('<custom><numeric name="max_geom_pairs" data="12"/></custom>', (-1, -1, "12")),
        ('<custom><text name="max_geom_pairs" data="box box 4, 9"/></custom>', (-1, -1, "box box 4, 9")),
    ],
)
def test_buffers_that_a_model_asks_for_are_those_of_load_model(section, sizes):
    xml = f"<mujoco>{section}<worldbody><geom size='.1'/></worldbody></mujoco>"
    m = mujoco.MjModel.from_xml_string(xml)
    for model in (jaxsim.put_model(m), jaxsim.load_model(xml)):
        assert (model.nconmax, model.njmax, model.max_geom_pairs) == sizes
    by_hand = jaxsim.put_model(m, nconmax=-1, njmax=-1, max_geom_pairs="")
    assert (by_hand.nconmax, by_hand.njmax, by_hand.max_geom_pairs) == (-1, -1, "")
