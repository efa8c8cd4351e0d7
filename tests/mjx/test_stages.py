"""Stages and support functions by MJX's names, one after the other, against the C engine."""

import jax
import jax.numpy as jnp
import mujoco
import numpy as np
import pytest

from jaxsim import mjx

from .scene import close, engine

TO_C = 1e-6
"""Through contacts both solvers stop at their own tolerance."""

POSITION = (
    "kinematics",
    "com_pos",
    "camlight",
    "tendon",
    "crb",
    "tendon_armature",
    "factor_m",
    "transmission",
)
VELOCITY = ("com_vel", "passive", "rne", "tendon_bias")


@pytest.fixture(scope="module")
def found():
    """The C engine's data after mj_forward, the model, and what a pipeline of stages makes of the state."""
    m, d = engine(3)
    mujoco.mj_forward(m, d)
    model = mjx.put_model(m)
    start = mjx.make_data(m).replace(time=d.time, qpos=d.qpos, qvel=d.qvel, ctrl=d.ctrl)

    @jax.jit
    def pipeline(data):
        for name in (*POSITION, "collision"):
            data = getattr(mjx, name)(model, data)
        data = mjx.fwd_velocity(model, data)
        for name in (
            *VELOCITY,
            "fwd_actuation",
            "fwd_acceleration",
            "make_constraint",
            "solve",
            "subtree_vel",
        ):
            data = getattr(mjx, name)(model, data)
        return mjx.rne_postconstraint(model, data)

    return m, d, model, pipeline(start)


SMOOTH = """
xpos subtree_com cinert cdof ten_length actuator_length actuator_velocity cvel qfrc_bias qfrc_passive actuator_force
qfrc_actuator qfrc_smooth qacc_smooth crb
"""


@pytest.mark.parametrize("name", SMOOTH.split())
def test_fields_before_constraints(found, name):
    _, d, _, data = found
    ours = getattr(data, name)
    close(ours, getattr(d, name).reshape(ours.shape))


def test_acceleration_and_forces(found):
    m, d, _, data = found
    mujoco.mj_rnePostConstraint(m, d)
    mujoco.mj_subtreeVel(m, d)
    for name in ("qacc", "qfrc_constraint", "cacc", "cfrc_int", "subtree_linvel", "subtree_angmom"):
        close(getattr(data, name), getattr(d, name), 1e-5)


def test_matrices(found):
    m, d, model, data = found
    M = np.zeros((m.nv, m.nv))
    mujoco.mj_fullM(m, d, M)
    close(mjx.full_m(model, data), M)
    close(data.qLD.T @ data.qLD, M)
    close(np.tril(data.qLD, -1), 0)
    x = np.arange(1.0, m.nv + 1)
    close(mjx.mul_m(model, data, x), M @ x)
    close(mjx.solve_m(model, data, x), np.linalg.solve(M, x))
    moment = np.zeros((m.nu, m.nv))
    mujoco.mju_sparse2dense(moment, d.actuator_moment, d.moment_rownnz, d.moment_rowadr, d.moment_colind)
    close(data.actuator_moment, moment)
    close(data.ten_J, [[0, 0, 0, 0, 0, 0, 1, -0.5]])
    assert mjx.is_sparse(model) == mjx.is_sparse(m) == (m.nv >= 60)


def test_constraint_rows(found):
    m, d, _, data = found
    used = np.flatnonzero(data.efc_D > 0)
    assert len(used) == d.nefc
    assert data.nefc == len(data.efc_type) == len(data.efc_force)
    assert data.ne + data.nf + data.nl == np.sum(data.efc_type < mjx.ConstraintType.CONTACT_FRICTIONLESS)
    J = d.efc_J.reshape(d.nefc, m.nv)
    close(data.efc_J[used], J)
    close(data.efc_D[used], d.efc_D)
    close(data.efc_aref[used], d.efc_aref)
    np.testing.assert_array_equal(data.efc_type[used], d.efc_type)
    close(data.efc_pos[used], d.efc_pos)
    close(data.efc_margin[used], d.efc_margin)
    close(data.efc_frictionloss, 0)
    unused = np.flatnonzero(data.efc_D == 0)
    for name in ("efc_J", "efc_aref", "efc_pos", "efc_margin"):
        close(getattr(data, name)[unused], 0)
    close(data.efc_J.T @ data.efc_force, data.qfrc_constraint)


def test_what_stages_filled_is_dropped_by_a_step(found):
    _, _, model, data = found
    after = jax.eval_shape(mjx.step, model, data)
    assert after.efc_J is None
    assert jax.tree.structure(after) == jax.tree.structure(mjx.make_data(model))


def test_jacobians_and_forces(found):
    m, d, model, data = found
    tip, point = m.body("tip").id, np.array([1.2, 0.1, 0.9])
    jacp, jacr = np.zeros((3, m.nv)), np.zeros((3, m.nv))
    mujoco.mj_jac(m, d, jacp, jacr, point, tip)
    for ours, theirs in zip(mjx.jac(model, data, point, tip), (jacp, jacr), strict=True):
        close(ours, theirs.T)
    mujoco.mj_jacDot(m, d, jacp, jacr, point, tip)
    for ours, theirs in zip(mjx.jac_dot(model, data, point, tip), (jacp, jacr), strict=True):
        close(ours, theirs.T)
    force, torque, expected = np.array([1.0, 2, 3]), np.array([0.1, -0.2, 0.3]), np.zeros(m.nv)
    mujoco.mj_applyFT(m, d, force, torque, point, tip, expected)
    close(mjx.apply_ft(model, data, force, torque, point, tip), expected)
    pushed = data.replace(xfrc_applied=data.xfrc_applied.at[tip, :3].set(force))
    expected[:] = 0
    mujoco.mj_applyFT(m, d, force, np.zeros(3), d.xipos[tip], tip, expected)
    close(mjx.xfrc_accumulate(model, pushed), expected)


@pytest.mark.parametrize("exclude", [-1, (0,)])
def test_rays(found, exclude):
    m, d, model, data = found
    start, way, geom = np.array([0.02, 0.01, 1.0]), np.array([0.0, 0, -1]), np.zeros(1, np.int32)
    body = -1 if exclude == -1 else m.body("ball").id
    expected = mujoco.mj_ray(m, d, start, way, None, 1, body, geom)
    dist, geomid = mjx.ray(model, data, jnp.asarray(start), jnp.asarray(way), (), True, body)
    close(dist, expected)
    assert geomid == geom[0]


def test_names(found):
    m, _, model, _ = found
    for kind in (mujoco.mjtObj.mjOBJ_BODY, mujoco.mjtObj.mjOBJ_JOINT, mujoco.mjtObj.mjOBJ_ACTUATOR):
        for i in range(-1, 5):
            name = mujoco.mj_id2name(m, kind, i) if i >= 0 else None
            assert mjx.id2name(model, kind, i) == mjx.id2name(m, kind, i) == name
            assert mjx.name2id(model, kind, name or "nobody") == (i if name else -1)


def test_inverse_and_integrators(found):
    m, d, model, data = found
    close(jax.jit(mjx.inverse)(model, data).qfrc_inverse, data.qfrc_actuator, TO_C)
    mujoco.mj_Euler(m, d)
    after = jax.jit(mjx.euler)(model, data)
    close(after.qvel, d.qvel, TO_C)
    close(after.time, d.time)


def test_rne_of_accelerations(found):
    m, _, model, data = found
    d = mujoco.MjData(m)
    d.qpos[:], d.qvel[:] = data.qpos, data.qvel
    mujoco.mj_fwdPosition(m, d)
    mujoco.mj_fwdVelocity(m, d)
    d.qacc[:] = data.qacc
    expected = np.zeros(m.nv)
    mujoco.mj_rne(m, d, 1, expected)
    close(mjx.rne(model, data, flg_acc=True).qfrc_bias, expected, TO_C)


def test_sensordata_is_kept_while_sensors_are_off():
    m, d = engine(2)
    m.opt.disableflags = mjx.DisableBit.SENSOR
    model, kept = mjx.put_model(m), np.linspace(1, 2, m.nsensordata)
    data = mjx.put_data(m, d).replace(sensordata=jnp.asarray(kept))
    for function in (mjx.forward, mjx.step):
        close(function(model, data).sensordata, kept)


def test_rows_of_a_model_without_constraints():
    m, _ = engine()
    m.opt.disableflags = mjx.DisableBit.CONSTRAINT
    data = mjx.make_constraint(mjx.put_model(m), mjx.make_data(m))
    assert data.efc_J.shape == (0, m.nv)
    assert data.nefc == data.ne == 0


def test_what_is_not_there_says_so():
    with pytest.raises(AttributeError, match="render"):
        _ = mjx.render
