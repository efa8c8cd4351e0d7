"""From Data to MjData: all that C would have there, in C's order, or nothing at all."""

import functools

import jax
import jax.numpy as jnp
import mujoco
import numpy as np
import pytest

import jaxsim
from tests.pipeline import scenes as pipeline_scenes
from tests.pipeline.oracle import error
from tests.solver import scenes

TOLERANCE = 1e-6  # through the constraint solver, both converged

SCENES = {
    "contacts, pyramids": scenes.CONTACTS.format(cone="pyramidal"),
    "contacts, cones, sparse": scenes.CONTACTS.format(cone="elliptic")
    .replace("dense", "sparse")
    .replace('type="plane"', 'type="plane" adhesion="2" gap=".05"'),
    "equalities": scenes.EQUALITIES,
    "sensors": pipeline_scenes.SENSORS,
    "runge-kutta": pipeline_scenes.hopper("RK4").replace('pos="0 0 .32"', 'pos="0 0 .31"'),
}

FIELDS = (
    "time", "qpos", "qvel", "act", "ctrl", "qacc_warmstart", "xpos", "xquat", "xmat", "geom_xmat",
    "subtree_com", "cdof", "cinert", "crb", "M", "qLD", "qLDiagInv", "ten_length", "ten_J", "actuator_length",
    "actuator_moment", "cvel", "qfrc_bias", "qfrc_passive", "actuator_force", "qacc", "qfrc_constraint", "sensordata",
    "energy",
)  # fmt: skip
ROWS = (
    "efc_type", "efc_id", "efc_pos", "efc_margin", "efc_frictionloss", "efc_diagA", "efc_KBIP", "efc_D", "efc_R",
    "efc_vel", "efc_aref", "efc_force", "efc_state",
)  # fmt: skip
CONTACT = (
    "dist", "pos", "frame", "includemargin", "friction", "solref", "solreffriction", "solimp", "adhesion", "mu", "dim",
    "geom", "geom1", "geom2", "exclude", "efc_address",
)  # fmt: skip
COUNTS = ("ncon", "nefc", "ne", "nf", "nl", "nJ")


@functools.cache
def problem(name):
    m = mujoco.MjModel.from_xml_string(SCENES[name])
    m.opt.tolerance, m.opt.iterations, m.opt.ls_iterations = 0, 200, 100
    m.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_ISLAND  # with islands C leaves efc_state in their order
    model = jaxsim.put_model(m)
    return (
        m,
        model,
        jax.jit(functools.partial(jaxsim.step, model)),
        jax.jit(functools.partial(jaxsim.forward, model)),
    )


def state(m, seed):
    """A state of the C engine near qpos0, moving."""
    rng = np.random.default_rng(seed)
    d = mujoco.MjData(m)
    mujoco.mj_integratePos(m, d.qpos, 0.02 * rng.standard_normal(m.nv), 1)
    d.qvel[:] = 0.3 * rng.standard_normal(m.nv)
    d.ctrl[:] = rng.uniform(-1, 1, m.nu)
    return d


def full_J(m, d):
    J = np.zeros((d.nefc, m.nv))
    if mujoco.mj_isSparse(m):
        mujoco.mju_sparse2dense(J, d.efc_J, d.efc_J_rownnz, d.efc_J_rowadr, d.efc_J_colind)
        return J
    return d.efc_J.reshape(d.nefc, m.nv)


def assert_same(m, ours, theirs):
    for name in COUNTS:
        assert getattr(ours, name) == getattr(theirs, name), name
    for name in (*FIELDS, *ROWS):
        assert error(getattr(ours, name), getattr(theirs, name)) < TOLERANCE, name
    for name in CONTACT:
        assert error(getattr(ours.contact, name), getattr(theirs.contact, name)) < TOLERANCE, name
    assert error(full_J(m, ours), full_J(m, theirs)) < TOLERANCE


@pytest.mark.parametrize("function", ["forward", "step"])
@pytest.mark.parametrize("name", SCENES)
def test_equals_the_c_engine(name, function):
    m, model, step, forward = problem(name)
    for seed in range(3):
        d = state(m, seed)
        data = jaxsim.put_data(model, d)
        data = (step if function == "step" else forward)(data)
        (mujoco.mj_step if function == "step" else mujoco.mj_forward)(m, d)
        assert d.nefc
        assert_same(m, jaxsim.get_data(m, data), d)


def test_contact_forces_are_ours():
    """What a viewer draws: mj_contactForce reads contacts, addresses and forces."""
    m, model, _, forward = problem("contacts, pyramids")
    d = state(m, 0)
    ours = jaxsim.get_data(m, forward(jaxsim.put_data(model, d)))
    mujoco.mj_forward(m, d)
    for i in range(d.ncon):
        a, b = np.zeros(6), np.zeros(6)
        mujoco.mj_contactForce(m, ours, i, a)
        mujoco.mj_contactForce(m, d, i, b)
        assert error(a, b) < TOLERANCE


def test_the_c_engine_goes_on_from_there():
    m, _, step, _ = problem("sensors")
    d = state(m, 1)
    data = step(jaxsim.put_data(m, d))
    mujoco.mj_step(m, d)
    ours = jaxsim.get_data(m, data)
    for _ in range(3):
        mujoco.mj_step(m, d)
        mujoco.mj_step(m, ours)
    assert error(ours.qpos, d.qpos) < TOLERANCE
    assert error(ours.qvel, d.qvel) < TOLERANCE


def test_many_worlds_are_a_list():
    m, model, _, forward = problem("contacts, pyramids")
    states = [jaxsim.put_data(model, state(m, seed)) for seed in range(2)]
    many = jax.jit(jax.vmap(forward))(jax.tree.map(lambda *x: jnp.stack(x), *states))
    found = jaxsim.get_data(m, many)
    assert isinstance(found, list)
    assert len(found) == 2
    for one, start in zip(found, states, strict=True):
        assert_same(m, one, jaxsim.get_data(m, forward(start)))


def test_writes_all_or_nothing():
    m, model, _, forward = problem("contacts, pyramids")
    data = forward(jaxsim.put_data(model, state(m, 0)))
    target = state(m, 5)
    mujoco.mj_forward(m, target)

    def contents():
        return [np.array(x) for x in (target.qpos, target.ncon, target.efc_force, target.xpos)]

    before = contents()

    def untouched():
        return all(np.array_equal(a, b) for a, b in zip(before, contents(), strict=True))

    with pytest.raises(ValueError, match="geom_xpos has shape"):
        jaxsim.get_data_into(target, m, data.replace(geom_xpos=data.geom_xpos[:-1]))
    assert untouched()
    many = jax.tree.map(lambda x: jnp.stack([x, x, x]), data)
    with pytest.raises(ValueError, match="2 MjData given"):
        jaxsim.get_data_into([target, mujoco.MjData(m)], m, many)
    with pytest.raises(ValueError, match="holds 3 worlds"):
        jaxsim.get_data_into(target, m, many)
    assert untouched()
    jaxsim.get_data_into(target, m, data)
    assert not untouched()
    np.testing.assert_array_equal(target.qpos, data.qpos)


def test_fresh_data_and_first_halves():
    m, model, _, _ = problem("contacts, pyramids")
    fresh = jaxsim.get_data(m, jaxsim.make_data(model))
    assert fresh.ncon == fresh.nefc == 0
    np.testing.assert_array_equal(fresh.qpos, m.qpos0)
    d = state(m, 0)
    half = jaxsim.get_data(m, jaxsim.step1(model, jaxsim.put_data(model, d)))
    mujoco.mj_step1(m, d)
    assert half.ncon == d.ncon
    assert half.nefc == 0
    for name in ("xpos", "M", "qLD", "cvel", "qfrc_bias"):
        assert error(getattr(half, name), getattr(d, name)) < TOLERANCE, name


def test_a_tendon_without_rows_has_no_first_one():
    hinge = '<body><joint name="j"/><geom size=".1"/></body>'
    fixed = '<fixed limited="true" range="-1 1"><joint joint="j" coef="1"/></fixed>'
    m = mujoco.MjModel.from_xml_string(
        f"<mujoco><worldbody>{hinge}</worldbody><tendon>{fixed}</tendon></mujoco>"
    )
    model = jaxsim.put_model(m)
    for angle, first in ((0.0, -1), (1.5, 0)):
        data = jaxsim.forward(model, jaxsim.make_data(model).replace(qpos=jnp.array([angle])))
        np.testing.assert_array_equal(jaxsim.get_data(m, data).tendon_efcadr, [first])


def test_warnings():
    m, model, step, _ = problem("contacts, pyramids")
    data = jaxsim.make_data(model)
    bad = step(data.replace(qvel=data.qvel.at[0].set(1e20)))
    found = jaxsim.get_data(m, bad)
    assert found.warning[mujoco.mjtWarning.mjWARN_BADQVEL].number == 1
    assert found.warning[mujoco.mjtWarning.mjWARN_BADQACC].number == 0


def test_wrong_types():
    m = problem("equalities")[0]
    data = jaxsim.make_data(m)
    with pytest.raises(TypeError, match=r"get_data: expected the mujoco\.MjModel .*, not Model"):
        jaxsim.get_data(jaxsim.put_model(m), data)
    with pytest.raises(TypeError, match="get_data: data is of type MjModel, not Data"):
        jaxsim.get_data(m, m)
    with pytest.raises(TypeError, match="get_data_into: data is of type MjData, not Data"):
        jaxsim.get_data_into(mujoco.MjData(m), m, mujoco.MjData(m))
