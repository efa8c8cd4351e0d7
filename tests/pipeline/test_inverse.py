"""Inverse dynamics: against the C engine, against forward dynamics, and their derivatives."""

import functools

import jax
import jax.numpy as jnp
import mujoco
import numpy as np
import pytest

import jaxsim
from jaxsim.enums import EnableBit, IntegratorType
from jaxsim.pipeline.integrate import integrate_pos
from tests.pipeline import scenes
from tests.pipeline.oracle import error, load, put_state, states

FIELDS = ("qfrc_inverse", "qfrc_constraint", "qfrc_passive", "qfrc_bias", "sensordata", "qacc")
DISCRETE = [
    IntegratorType.IMPLICITFAST,
    *(pytest.param(k, marks=pytest.mark.slow) for k in (IntegratorType.EULER, IntegratorType.IMPLICIT)),
]


@functools.cache
def problem(integrator=IntegratorType.EULER, flags=0, disable=0):
    m, model = load(
        scenes.INVERSE, integrator=int(integrator), enableflags=int(flags), disableflags=int(disable)
    )
    return m, model, jax.jit(jaxsim.inverse)


@functools.cache
def stepper():
    return jax.jit(jaxsim.step), jax.jit(jaxsim.forward)


def given(m, d):
    """Forces that matter to inverse dynamics alone."""
    d.qvel *= 0.5
    d.ctrl[:] *= 0.3
    return d


def applied(m, data):
    """What inverse dynamics of our data should find; a data of the C engine turns wrenches into forces."""
    d = mujoco.MjData(m)
    d.qpos[:] = data.qpos
    mujoco.mj_kinematics(m, d)
    mujoco.mj_comPos(m, d)
    total = np.array(data.qfrc_applied + data.qfrc_actuator)
    for body in range(1, m.nbody):
        wrench = np.asarray(data.xfrc_applied[body])
        mujoco.mj_applyFT(m, d, wrench[:3], wrench[3:], d.xipos[body], body, total)
    return total


def test_equals_the_c_engine():
    m, model, inverse = problem()
    rng = np.random.default_rng(0)
    for d in states(m, spread=0.005):
        d.qacc[:] = 3 * rng.standard_normal(m.nv)
        ours = inverse(model, put_state(model, d).replace(qacc=jnp.asarray(d.qacc)))
        qacc = d.qacc.copy()
        mujoco.mj_forward(m, d)  # forces of actuators, which sensors read
        d.qacc[:] = qacc
        mujoco.mj_inverse(m, d)
        for name in FIELDS:
            assert error(getattr(ours, name), getattr(d, name)) < 1e-9, name
        assert int(ours.nefc) == d.nefc > 1


def test_of_forward_dynamics_is_the_applied_force():
    m, model, inverse = problem()
    for d in states(m, spread=0.005):
        data = stepper()[1](model, put_state(model, given(m, d)))
        assert error(inverse(model, data).qfrc_inverse, applied(m, data)) < 1e-8


@pytest.mark.parametrize("integrator", DISCRETE)
def test_of_a_step_is_the_applied_force(integrator):
    """With discrete inverse dynamics: ours and the C engine's explain the same step."""
    m, model, inverse = problem(integrator, EnableBit.INVDISCRETE)
    for d in states(m, spread=0.005):
        before = put_state(model, given(m, d))
        after = stepper()[0](model, before)
        qacc = (after.qvel - before.qvel) / model.opt.timestep
        ours = inverse(model, before.replace(qacc=qacc))
        force = applied(m, after.replace(qpos=before.qpos))
        assert error(ours.qfrc_inverse, force) < 1e-8
        np.testing.assert_array_equal(ours.qacc, qacc)
        mujoco.mj_forward(m, d)
        d.qacc[:] = qacc
        mujoco.mj_inverse(m, d)
        assert error(ours.qfrc_inverse, d.qfrc_inverse) < 1e-8
        assert error(ours.sensordata, d.sensordata) < 1e-8


@pytest.mark.slow
@pytest.mark.parametrize("flag", [mujoco.mjtDisableBit.mjDSBL_EULERDAMP, mujoco.mjtDisableBit.mjDSBL_DAMPER])
def test_of_a_step_with_explicit_damping(flag):
    m, model, inverse = problem(IntegratorType.EULER, EnableBit.INVDISCRETE, flag)
    d = given(m, list(states(m, spread=0.005))[1])
    before = put_state(model, d)
    after = stepper()[0](model, before)
    mujoco.mj_step(m, d)
    assert error(after.qvel, d.qvel) < 1e-9
    ours = inverse(model, before.replace(qacc=(after.qvel - before.qvel) / model.opt.timestep))
    assert error(ours.qfrc_inverse, applied(m, after.replace(qpos=before.qpos))) < 1e-8


def test_discrete_inverse_of_runge_kutta_is_refused():
    _, model, _ = problem(IntegratorType.RK4, EnableBit.INVDISCRETE)
    with pytest.raises(jaxsim.UnsupportedError, match="RK4"):
        jaxsim.inverse(model, jaxsim.make_data(model))


def test_forward_and_inverse_are_compared_on_request():
    m, model, inverse = problem(IntegratorType.EULER, EnableBit.FWDINV)
    d = given(m, list(states(m, spread=0.005))[1])
    data = stepper()[1](model, put_state(model, d))
    assert (data.solver_fwdinv < 1e-8).all()
    rough = model.replace(opt=model.opt.replace(iterations=0))
    gap = stepper()[1](rough, put_state(model, d))
    missing = np.linalg.norm(applied(m, gap) - inverse(rough, gap).qfrc_inverse)
    assert missing > 1
    assert abs(gap.solver_fwdinv[1] - missing) < 1e-9 * missing


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["moving", "at rest"])
def test_derivatives(kind):
    """Of the discrete inverse: forward mode against central differences on the manifold, reverse mode by duality."""
    m, model, function, push, pull = derivatives()
    d = list(states(m, n=2, spread=0.005))[kind == "moving"]
    if kind == "at rest":
        d.qvel[:] = 0
    data = put_state(model, given(m, d))
    rng = np.random.default_rng(0)
    zero = {k: jnp.zeros(m.nv) for k in ("qpos", "qvel", "qacc")} | {"mass": jnp.zeros(m.nbody)}
    dx = {k: jnp.asarray(rng.standard_normal(v.shape)) for k, v in zero.items()}
    h = 1e-6
    ahead, behind = (function({k: s * h * v for k, v in dx.items()}, data) for s in (1, -1))
    forward = push(zero, data, dx)
    assert error(forward, (ahead - behind) / (2 * h)) < 1e-6  # contacts are stiff: differences lose digits
    dy = jnp.asarray(rng.standard_normal(forward.shape))
    reverse = pull(zero, data, dy)
    left, right = sum(float(jnp.vdot(reverse[k], dx[k])) for k in dx), float(jnp.vdot(dy, forward))
    assert abs(left - right) < 1e-9 * (1 + abs(right))


@functools.cache
def derivatives():
    m, model, _ = problem(IntegratorType.IMPLICITFAST, EnableBit.INVDISCRETE)

    def force(x, data):
        qpos = integrate_pos(model, data.qpos[:, None], x["qpos"][:, None], jnp.ones(1))[:, 0]
        moved = data.replace(qpos=qpos, qvel=data.qvel + x["qvel"], qacc=data.qacc + x["qacc"])
        return jaxsim.inverse(model.replace(body_mass=model.body_mass + x["mass"]), moved).qfrc_inverse

    def push(x, data, dx):
        return jax.jvp(lambda x: force(x, data), (x,), (dx,))[1]

    def pull(x, data, dy):
        return jax.vjp(lambda x: force(x, data), x)[1](dy)[0]

    return m, model, *(jax.jit(f) for f in (force, push, pull))
