"""Smooth quantities equal the C engine's."""

import jax
import mujoco
import numpy as np
import pytest

import jaxsim
from jaxsim.structure.trees import m_entries
from tests.pipeline import scenes
from tests.pipeline.oracle import error, load, put_state, smooth, states

FIELDS = (
    "xpos", "xquat", "xmat", "xipos", "ximat", "xanchor", "xaxis", "geom_xpos", "geom_xmat",
    "site_xpos", "site_xmat", "cam_xpos", "cam_xmat", "light_xpos", "light_xdir", "subtree_com",
    "cinert", "cdof", "ten_length", "actuator_length", "ten_velocity", "actuator_velocity", "cvel",
    "cdof_dot", "qfrc_bias", "qfrc_spring", "qfrc_damper", "qfrc_gravcomp", "qfrc_fluid",
    "qfrc_passive", "actuator_force", "qfrc_actuator", "act_dot", "qfrc_smooth", "qacc_smooth",
)  # fmt: skip
TOLERANCE = 1e-9  # float64, conditioning of M included

jitted = jax.jit(smooth)


def inertia(m, d):
    full = np.zeros((m.nv, m.nv))
    mujoco.mj_fullM(m, d, full)
    return full


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"disableactuator": 0b100},
        {"disableflags": int(mujoco.mjtDisableBit.mjDSBL_GRAVITY | mujoco.mjtDisableBit.mjDSBL_DAMPER)},
        {"disableflags": int(mujoco.mjtDisableBit.mjDSBL_SPRING | mujoco.mjtDisableBit.mjDSBL_CLAMPCTRL)},
        {"disableflags": int(mujoco.mjtDisableBit.mjDSBL_SPRING | mujoco.mjtDisableBit.mjDSBL_DAMPER)},
        {"disableflags": int(mujoco.mjtDisableBit.mjDSBL_ACTUATION)},
    ],
    ids=["default", "group off", "no gravity, damper", "no spring, clamp", "no passive", "no actuation"],
)
def test_equals_the_c_engine(options):
    m, model = load(scenes.MIXED, **options)
    rows, cols = m_entries(model.static)
    for d in states(m, n=1 if options else 3, seed=len(options)):
        ours = jitted(model, put_state(model, d))
        mujoco.mj_forward(m, d)
        errors = {name: error(getattr(ours, name), getattr(d, name)) for name in FIELDS}
        errors["M"] = error(ours.M, inertia(m, d)[rows, cols])
        assert max(errors.values()) < TOLERANCE, {k: v for k, v in errors.items() if v >= TOLERANCE}


def test_world_alone_and_tiny():
    """A model without a moving body, and one whose only joint is a slide, have no special case to fall over."""
    for xml in (
        "<mujoco><worldbody><geom size='1'/></worldbody></mujoco>",
        "<mujoco><worldbody><body><joint type='slide'/><geom size='1'/></body></worldbody></mujoco>",
    ):
        m, model = load(xml)
        for d in states(m, n=1):
            ours = smooth(model, put_state(model, d))
            mujoco.mj_forward(m, d)
            assert max(error(getattr(ours, name), getattr(d, name)) for name in FIELDS) < TOLERANCE


def test_bad_controls_are_zeroed_and_flagged():
    m, model = load(scenes.MIXED)
    d = next(states(m))
    data = put_state(model, d)
    data = data.replace(ctrl=data.ctrl.at[3].set(np.nan))
    ours = jitted(model, data)
    d.ctrl[:] = 0
    mujoco.mj_forward(m, d)
    assert error(ours.actuator_force, d.actuator_force) < TOLERANCE
    assert int(ours.warning) != 0


def test_float32_follows_its_inputs():
    """In single precision nothing is promoted, and results differ from float64 by rounding alone."""
    m, model = load(scenes.MIXED)
    data = put_state(model, list(states(m))[1])
    exact = jitted(model, data)
    single = jax.tree.map(lambda x: x.astype(np.float32) if x.dtype == np.float64 else x, (model, data))
    rounded = jitted(*single)
    for name in FIELDS:
        ours = getattr(rounded, name)
        assert ours.dtype == np.float32, name
        if name != "qacc_smooth":  # amplified by the condition number of M
            assert error(ours, getattr(exact, name)) < 1e-4, name
    assert error(rounded.qacc_smooth, exact.qacc_smooth) < 1e-2


def test_the_world_stays_where_it_is():
    """Its frame in the model has no meaning, in C too, so that all of `body_pos` may be randomised."""
    m, model = load(scenes.MIXED)
    data = put_state(model, next(iter(states(m))))
    moved = model.replace(body_pos=model.body_pos.at[0].add(1.0), body_quat=model.body_quat.at[0].add(0.3))
    assert error(jitted(moved, data).xpos, jitted(model, data).xpos) == 0


def test_centres_of_mass_follow_masses_that_are_replaced():
    """Without set_const, which C needs: a centre must not move with the distance to the origin."""
    m, model = load(scenes.MIXED)
    heavier = m.body_mass * np.linspace(1, 2, m.nbody)
    (d,) = states(m, n=1)
    model = model.replace(body_mass=heavier)
    ours = jaxsim.subtree_vel(model, jitted(model, put_state(model, d)))
    m.body_mass[:] = heavier
    mujoco.mj_setConst(m, mujoco.MjData(m))
    mujoco.mj_forward(m, d)
    mujoco.mj_subtreeVel(m, d)
    for name in ("subtree_com", "cinert", "cdof", "cvel", "subtree_linvel"):
        assert error(getattr(ours, name), getattr(d, name)) < TOLERANCE, name
