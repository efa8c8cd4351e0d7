"""Jacobians, inertia and forces: against the C engine, against differences, and under transformations."""

import functools

import jax
import jax.numpy as jnp
import mujoco
import numpy as np
import pytest

import jaxsim
from jaxsim.enums import ObjType
from jaxsim.support.force import apply_ft, contact_force, xfrc_accumulate
from jaxsim.support.inertia import full_m, mul_m, solve_m
from jaxsim.support.jacobian import jac, jac_body, jac_body_com, jac_dot, jac_geom, jac_site
from jaxsim.support.momentum import angmom_mat, jac_subtree_com
from jaxsim.support.motion import object_acceleration, object_velocity
from jaxsim.support.position import differentiate_pos, integrate_pos
from tests.pipeline import scenes
from tests.pipeline.oracle import error, load, put_state, smooth, states
from tests.solver.scenes import SCENES as CONTACT_SCENES
from tests.solver.scenes import states as contact_states

ELEMENTS = {
    "body": (jac_body, mujoco.mj_jacBody),
    "body com": (jac_body_com, mujoco.mj_jacBodyCom),
    "geom": (jac_geom, mujoco.mj_jacGeom),
    "site": (jac_site, mujoco.mj_jacSite),
}


@functools.cache
def situations():
    """(C data, our data) at some states, all smooth stages done."""
    m, model = load(scenes.MIXED)
    compiled = jax.jit(smooth)
    pairs = []
    for d in states(m):
        data = compiled(model, put_state(model, d))
        mujoco.mj_forward(m, d)
        pairs.append((d, data.replace(qacc=jnp.asarray(d.qacc))))
    return m, model, pairs


def both(m):
    return np.zeros((3, m.nv)), np.zeros((3, m.nv))


def test_points():
    m, model, pairs = situations()
    for d, data in pairs:
        for body in range(m.nbody):
            point = np.array([0.1, 0.7, -0.3])
            theirs = both(m)
            mujoco.mj_jac(m, d, *theirs, point, body)
            assert error(jac(model, data, point, body), theirs) < 1e-13
            mujoco.mj_jacDot(m, d, *theirs, point, body)
            assert error(jac_dot(model, data, point, body), theirs) < 1e-12


@pytest.mark.parametrize("what", ELEMENTS)
def test_elements(what):
    m, model, pairs = situations()
    ours, c = ELEMENTS[what]
    count = {"geom": m.ngeom, "site": m.nsite}.get(what, m.nbody)
    for d, data in pairs[1:]:
        for i in range(count):
            theirs = both(m)
            c(m, d, *theirs, i)
            assert error(ours(model, data, i), theirs) < 1e-13


def test_subtrees():
    m, model, pairs = situations()
    for d, data in pairs:
        for body in range(m.nbody):
            theirs = np.zeros((3, m.nv))
            mujoco.mj_jacSubtreeCom(m, d, theirs, body)
            assert error(jac_subtree_com(model, data, body), theirs) < 1e-12
            mujoco.mj_angmomMat(m, d, theirs, body)
            assert error(angmom_mat(model, data, body), theirs) < 1e-12


def test_inertia_is_one_operator_in_three_forms():
    m, model, pairs = situations()
    d, data = pairs[1]
    vec = np.random.default_rng(0).standard_normal(m.nv)
    theirs = np.zeros((m.nv, m.nv))
    mujoco.mj_fullM(m, d, theirs)
    assert error(full_m(model, data), theirs) < 1e-12
    assert error(mul_m(model, data, vec), theirs @ vec) < 1e-12
    assert error(solve_m(model, data, mul_m(model, data, vec)), vec) < 1e-10


def test_forces_at_points():
    m, model, pairs = situations()
    d, data = pairs[2]
    force, torque, point = np.random.default_rng(0).standard_normal((3, 3))
    for body in range(m.nbody):
        theirs = np.zeros(m.nv)
        mujoco.mj_applyFT(m, d, force, torque, point, body, theirs)
        assert error(apply_ft(model, data, force, torque, point, body), theirs) < 1e-12
    theirs = np.zeros(m.nv)
    for body in range(1, m.nbody):
        wrench = d.xfrc_applied[body]
        mujoco.mj_applyFT(m, d, wrench[:3].copy(), wrench[3:].copy(), d.xipos[body], body, theirs)
    assert error(xfrc_accumulate(model, data), theirs) < 1e-12


@pytest.mark.parametrize("local", [False, True])
def test_motions(local):
    m, model, pairs = situations()
    d, data = pairs[1]
    mujoco.mj_rnePostConstraint(m, d)
    counts = {
        ObjType.BODY: m.nbody,
        ObjType.XBODY: m.nbody,
        ObjType.GEOM: m.ngeom,
        ObjType.SITE: m.nsite,
        ObjType.CAMERA: m.ncam,
    }
    for kind, count in counts.items():
        i = count - 1
        theirs = np.zeros(6)
        mujoco.mj_objectVelocity(m, d, int(kind), i, theirs, local)
        assert error(object_velocity(model, data, kind, i, local), theirs) < 1e-12
        mujoco.mj_objectAcceleration(m, d, int(kind), i, theirs, local)
        assert error(object_acceleration(model, data, kind, i, local), theirs) < 1e-11


def test_positions():
    m, model, pairs = situations()
    d, _ = pairs[1]
    vel = np.random.default_rng(0).standard_normal(m.nv)
    theirs = d.qpos.copy()
    mujoco.mj_integratePos(m, theirs, vel, 0.3)
    moved = integrate_pos(model, d.qpos, vel, 0.3)
    assert error(moved, theirs) < 1e-13
    assert error(differentiate_pos(model, 0.3, d.qpos, moved), vel) < 1e-12


@pytest.mark.parametrize("name", ["small pyramids", "small elliptic cones"])
def test_contact_forces(name):
    m, model = load(CONTACT_SCENES[name])
    forward = jax.jit(jaxsim.forward)
    d = contact_states(m, (220,))[0]
    data = forward(model, jaxsim.make_data(model).replace(qpos=jnp.asarray(d.qpos), qvel=jnp.asarray(d.qvel)))
    mujoco.mj_forward(m, d)
    used = np.flatnonzero(np.asarray(data.contact.geom[:, 0]) >= 0)
    assert len(used) == d.ncon > 0
    # contacts are not in C's order: each of ours is the one of C at the same point
    for slot in used:
        distance = np.linalg.norm(d.contact.pos - np.asarray(data.contact.pos[slot]), axis=1)
        i = int(np.argmin(distance))
        theirs = np.zeros(6)
        mujoco.mj_contactForce(m, d, i, theirs)
        frame = d.contact.frame[i].reshape(3, 3)
        inside = contact_force(model, data, int(slot))
        assert error(inside, theirs) < 1e-8
        world = np.concatenate([frame.T @ theirs[:3], frame.T @ theirs[3:]])
        assert error(contact_force(model, data, int(slot), to_world_frame=True), world) < 1e-8


def test_indices_are_checked_or_traced():
    m, model, pairs = situations()
    _, data = pairs[1]
    with pytest.raises(IndexError, match=f"body {m.nbody}"):
        jac_body(model, data, m.nbody)
    with pytest.raises(IndexError, match="site -1"):
        jac_site(model, data, -1)
    with pytest.raises(ValueError, match="no motion"):
        object_velocity(model, data, ObjType.TENDON, 0)
    many = jax.vmap(lambda i: jac_body(model, data, i)[0])(jnp.arange(m.nbody))
    np.testing.assert_array_equal(many[3], jac_body(model, data, 3)[0])


def test_jacobian_is_the_derivative_of_kinematics():
    """jac_site is what jax.jacfwd finds of the site's position, and jac_dot its derivative along the motion."""
    m, model, pairs = situations()
    _, data = pairs[1]
    site = m.nsite - 1

    def moved(v):
        return data.replace(qpos=integrate_pos(model, data.qpos, v, 1.0))

    stage = jax.jit(lambda v: smooth(model, moved(v)))
    h = 1e-6
    ahead, behind = (stage(s * h * data.qvel) for s in (1, -1))
    rate = (jac_site(model, ahead, site)[0] - jac_site(model, behind, site)[0]) / (2 * h)
    found = jac_dot(model, data, data.site_xpos[site], int(m.site_bodyid[site]))[0]
    assert error(found, rate) < 1e-8  # rounding / h
    zero = jnp.zeros(m.nv)
    _, velocity = jax.jvp(lambda v: stage(v).site_xpos[site], (zero,), (data.qvel,))
    assert error(jac_site(model, data, site)[0] @ data.qvel, velocity) < 1e-12


def test_what_has_another_shape_or_a_name_is_refused():
    m = mujoco.MjModel.from_xml_string(scenes.MIXED)
    model = jaxsim.put_model(m)
    data = jaxsim.make_data(model)
    for call in (
        lambda: mul_m(model, data, np.zeros(m.nv + 1)),
        lambda: solve_m(model, data, np.zeros((m.nv, 1))),
        lambda: integrate_pos(model, data.qpos, np.zeros(m.nv - 1), 0.1),
        lambda: differentiate_pos(model, 0.1, data.qpos, np.zeros(3)),
        lambda: apply_ft(model, data, np.zeros(2), np.zeros(3), np.zeros(3), 1),
    ):
        with pytest.raises(ValueError, match=r"has shape \(.*\); expected \(\d+,\)"):
            call()
    with pytest.raises(TypeError, match="body 'torso': expected a number"):
        jac_body(model, data, "torso")
