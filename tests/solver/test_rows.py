"""Constraint rows against the C engine's."""

import jax
import jax.numpy as jnp
import mujoco
import numpy as np
import pytest

import jaxsim
from jaxsim import worlds
from jaxsim.data import Data
from jaxsim.interop.mujoco import put_model
from jaxsim.model import Model
from jaxsim.solver.constraint import BUILDERS, make_constraint
from jaxsim.solver.rows import product
from jaxsim.structure.constraints import CLASSES
from jaxsim.structure.rows import row_layout

from .scenes import SCENES, compiled, given, smooth, states


@jax.jit
def constrained(model: Model, data: Data) -> tuple[Data, jax.Array, jax.Array, jax.Array]:
    """The state with its counts, and the Jacobian, D and aref of all rows; native layout, one world.

    D is zero for rows out of use, and for friction loss of zero.
    """
    data = make_constraint(worlds.expand(model), smooth(model, data))
    rows = data.work.rows
    J = product(rows, jnp.eye(model.nv))
    flat = [J.scalar, *(x.reshape(-1, model.nv) for x in J.cones)]
    D = [rows.D, *(x.D.reshape(-1, 1) for x in rows.cones)]
    aref = [rows.aref, *(x.aref.reshape(-1, 1) for x in rows.cones)]
    D[0] = jnp.where(rows.low < rows.high, rows.D, 0)
    return data.replace(work=None), *(jnp.concatenate(x) for x in (flat, D, aref))


def ordered(J: np.ndarray, D: np.ndarray, aref: np.ndarray) -> np.ndarray:
    """Rows as (D, aref, J), in an order that does not depend on how they are stored."""
    table = np.column_stack([D, aref, J])
    keys = np.round(table @ np.random.default_rng(0).standard_normal((table.shape[1], 2)), 6)
    return table[np.lexsort(keys.T)]


@pytest.mark.parametrize("name", SCENES)
def test_rows_are_the_c_engines(name):
    m, model = compiled(name)
    for d in states(m):
        data, J, D, aref = constrained(model, given(model, d))
        for count in ("ne", "nf", "nl", "nefc"):
            assert int(getattr(data, count)[0]) == getattr(d, count), count
        used = np.asarray(D)[:, 0] > 0
        ours = ordered(np.asarray(J)[used], np.asarray(D)[used, 0], np.asarray(aref)[used, 0])
        theirs = ordered(d.efc_J.reshape(d.nefc, m.nv), d.efc_D, d.efc_aref)
        # 1e-9: both compute the same formulas in float64
        assert (np.abs(ours - theirs) <= 1e-9 * (1e-6 + np.abs(theirs).max(axis=0))).all()


def test_contacts_know_their_rows():
    m, model = compiled("pyramids")
    d = states(m)[2]
    data = jax.jit(jaxsim.forward)(model, given(model, d))
    force = np.asarray(data.efc_force)
    for i in np.flatnonzero(np.asarray(data.contact.efc_address) >= 0):
        geoms = set(np.asarray(data.contact.geom[i]).tolist())
        same = [
            c
            for c in d.contact
            if set(c.geom.tolist()) == geoms and np.allclose(c.pos, data.contact.pos[i], atol=1e-9)
        ]
        (theirs,) = same
        n = max(1, 2 * (theirs.dim - 1))
        first = int(data.contact.efc_address[i])
        expected = d.efc_force[theirs.efc_address : theirs.efc_address + n]
        # 1e-6: what a converged solver guarantees
        np.testing.assert_allclose(force[first : first + n], expected, rtol=1e-6, atol=1e-6)


def test_limits_know_their_rows():
    m, model = compiled("pyramids")
    layout = row_layout(model)
    h1, ball = m.joint("h1").id, 4
    assert m.jnt_type[ball] == mujoco.mjtJoint.mjJNT_BALL
    joint, ball_angle, tendon = (
        layout.classes[name] for name in ("joint_limit", "ball_limit", "tendon_limit")
    )
    assert len(joint.of(h1)) == 2
    assert len(ball_angle.of(ball)) == 1
    assert len(joint.of(0)) == len(ball_angle.of(0)) == 0
    assert len(tendon.of(0)) == 2
    rows = {*joint.of(h1), *ball_angle.of(ball), *tendon.of(0)}
    assert len(rows) == 5
    assert max(rows) < layout.contacts[0].start


def test_every_class_has_a_builder():
    assert list(BUILDERS) == [kind.name for kind in CLASSES]


@pytest.mark.parametrize(
    ("flag", "count"), [("CONTACT", None), ("LIMIT", "nl"), ("FRICTIONLOSS", "nf"), ("CONSTRAINT", "nefc")]
)
def test_disabled_classes_have_no_rows(flag, count):
    m = mujoco.MjModel.from_xml_string(SCENES["small pyramids"])
    m.opt.disableflags |= getattr(mujoco.mjtDisableBit, f"mjDSBL_{flag}")
    model = put_model(m)
    d = states(m, (30,))[0]
    data = jax.jit(jaxsim.forward)(model, given(model, d))
    assert int(data.nefc) == d.nefc
    assert count is None or int(getattr(data, count)) == 0
    np.testing.assert_allclose(data.qacc, d.qacc, rtol=1e-6, atol=1e-6 * np.abs(d.qacc).max())


def test_constraints_of_what_does_not_move_have_no_rows():
    """Of two bodies of the world, or one of them and a mocap body, and of a tendon between them."""
    m = mujoco.MjModel.from_xml_string("""<mujoco><worldbody>
      <body name="a"><geom size=".1"/><site name="a"/></body>
      <body name="b" pos="1 0 0"><geom size=".1"/><site name="b"/></body>
      <body name="c" mocap="true" pos="2 0 0"><geom size=".1"/></body>
      <body name="d" pos="3 0 0"><freejoint/><geom size=".1"/></body></worldbody>
      <tendon><spatial range="0 .5" frictionloss="1"><site site="a"/><site site="b"/></spatial></tendon>
      <equality><weld body1="a" body2="b"/><connect body1="a" body2="c" anchor="0 0 0"/>
        <weld body1="c" body2="d"/><weld body1="c" body2="b"/></equality></mujoco>""")
    d = mujoco.MjData(m)
    mujoco.mj_forward(m, d)
    model = put_model(m)
    data = jax.jit(jaxsim.forward)(model, given(model, d))
    for count in ("ne", "nf", "nl", "nefc"):
        assert int(getattr(data, count)) == getattr(d, count), count
    np.testing.assert_allclose(data.qacc, d.qacc, atol=1e-9)


def _pile(njmax: int) -> Model:
    spheres = "".join(f"<body pos='{0.15 * i} 0 .09'><freejoint/><geom size='.1'/></body>" for i in range(4))
    return jaxsim.load_model(
        f"<mujoco><worldbody><geom type='plane' size='2 2 1'/>{spheres}</worldbody></mujoco>", njmax=njmax
    )


def test_njmax_bounds_the_rows_and_is_flagged():
    free = jaxsim.make_data(_pile(-1))
    model = _pile(24 + 4 * 4)  # friction loss of 24 dofs, and four contacts
    data = jaxsim.make_data(model)
    assert data.efc_force.shape == (40,)
    assert free.efc_force.shape[0] > 40
    out = jax.jit(jaxsim.forward)(model, data)
    assert int(out.ncon) == 4
    assert int(out.warning) & jaxsim.WarningBit.CONTACT_OVERFLOW
    with pytest.raises(ValueError, match="njmax=23 rows are too few"):
        jaxsim.make_data(_pile(23))


def test_explicit_pairs_that_cannot_move_have_no_rows() -> None:
    """Of static geoms, with a mocap body, and within a link: listed, without force, and nothing else feels them."""
    text = """<mujoco><worldbody><geom name="floor" type="plane" size="1 1 .1"/>
      <geom name="a" type="box" size=".2 .2 .2" pos="2 0 0"/><geom name="b" size=".2" pos="2 0 .1"/>
      <body mocap="true" pos="2 0 .2"><geom name="c" size=".2" contype="0" conaffinity="0"/></body>
      <body pos="0 0 .09"><freejoint/><geom name="box" type="box" size=".1 .1 .1"/>
      <body pos="0 0 .2"><geom name="top" size=".15" contype="0"/></body></body></worldbody><contact>
      <pair geom1="a" geom2="b"/><pair geom1="a" geom2="c"/><pair geom1="box" geom2="top"/></contact></mujoco>"""
    mj_model = mujoco.MjModel.from_xml_string(text)
    mj_data = mujoco.MjData(mj_model)
    mj_data.qvel[:] = 1, 0.3, -1, 0.5, 2, 0.2
    model = jaxsim.load_model(text)
    data = jaxsim.make_data(model).replace(qvel=jnp.asarray(mj_data.qvel))
    step = jax.jit(jaxsim.step)
    for _ in range(3):
        mujoco.mj_step(mj_model, mj_data)
        data = step(model, data)
        assert (int(data.ncon), int(data.nefc)) == (mj_data.ncon, mj_data.nefc)
        np.testing.assert_allclose(data.qacc, mj_data.qacc, atol=1e-6)
