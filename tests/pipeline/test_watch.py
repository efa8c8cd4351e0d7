"""Worlds that are no longer finite: what becomes of them, of their neighbours, and of derivatives."""

import functools

import jax
import jax.numpy as jnp
import mujoco
import numpy as np
import pytest

import jaxsim
from jaxsim import WarningBit
from tests.pipeline import scenes
from tests.pipeline.oracle import error

STATE = ("qpos", "qvel", "act", "ctrl", "qfrc_applied")
GOOD, BAD = 0, 1


@functools.cache
def problem(autoreset):
    xml = scenes.hopper(autoreset=autoreset)
    model = jaxsim.load_model(xml)
    two = jax.vmap(lambda v: jaxsim.make_data(model).replace(qvel=v, act=jnp.ones(1)))(jnp.full((2, 3), 0.1))
    return (
        mujoco.MjModel.from_xml_string(xml),
        model,
        two,
        jax.jit(jax.vmap(functools.partial(jaxsim.step, model))),
    )


def spoiled(two, field, value):
    x = getattr(two, field)
    return two.replace(**{field: x.at[BAD].set(value)})


def assert_good_world_is_untouched(after, alone):
    for name in (*STATE, "qacc", "sensordata", "warning"):
        np.testing.assert_array_equal(getattr(after, name)[GOOD], getattr(alone, name)[GOOD], err_msg=name)


@pytest.mark.parametrize(
    ("field", "value", "flag"),
    [
        ("qpos", np.nan, WarningBit.BAD_QPOS),
        ("qvel", 1e11, WarningBit.BAD_QVEL),
        ("qfrc_applied", 1e30, WarningBit.BAD_QACC),
        ("xfrc_applied", np.inf, WarningBit.BAD_QACC),
    ],
)
def test_reset_as_in_c(field, value, flag):
    """State, controls and forces are those of a fresh start, the flag stays, and nothing is left that is not finite."""
    m, model, two, step = problem("enable")
    two = two.replace(ctrl=jnp.full((2, 2), 0.2))
    bad = spoiled(two, field, value)
    after = step(bad)
    assert int(after.warning[BAD]) == flag
    assert_good_world_is_untouched(after, step(two))
    for x in jax.tree.leaves(jax.tree.map(lambda x: x[BAD], after)):
        assert np.isfinite(x).all() or np.isposinf(x).all()
    d = mujoco.MjData(m)
    d.qvel[:], d.act[:], d.ctrl[:] = 0.1, 1, 0.2
    getattr(d, field)[:] = value
    mujoco.mj_step(m, d)
    if flag == WarningBit.BAD_QACC:  # C takes a step from the fresh start at once
        assert after.time[BAD] == 0
        fresh = jaxsim.make_data(model)
        for name in STATE:
            np.testing.assert_array_equal(getattr(after, name)[BAD], getattr(fresh, name), err_msg=name)
        after = step(after)
    for name in (*STATE, "time"):
        assert error(getattr(after, name)[BAD], getattr(d, name)) < 1e-9, name
    assert int(after.warning[BAD]) == flag


@pytest.mark.parametrize(
    ("field", "value", "flag"),
    [
        ("qpos", np.nan, WarningBit.BAD_QPOS | WarningBit.BAD_QACC),
        ("qvel", 1e11, WarningBit.BAD_QVEL),
        ("qfrc_applied", 1e30, WarningBit.BAD_QACC),
    ],
)
def test_without_autoreset_a_world_stays_where_it_was(field, value, flag):
    _, _, two, step = problem("disable")
    bad = spoiled(two, field, value)
    after = step(bad)
    assert int(after.warning[BAD]) & flag == flag
    assert_good_world_is_untouched(after, step(two))
    for name in (*STATE, "time"):
        np.testing.assert_array_equal(getattr(after, name)[BAD], getattr(bad, name)[BAD], err_msg=name)


@pytest.mark.parametrize("function", ["step", "halves", "forward"])
def test_a_world_that_overflows_does_not_spoil_a_shared_gradient(function):
    """Single precision and a speed of 1e7: forces overflow inside the step, in a world that the loss leaves out."""
    with jax.enable_x64(False):
        model = jaxsim.load_model(scenes.hopper())
        run = {
            "step": jaxsim.step,
            "forward": jaxsim.forward,
            "halves": lambda m, d: jaxsim.step2(m, jaxsim.step1(m, d)),
        }[function]

        def loss(damping, speed):
            def one(speed):
                changed = model.replace(dof_damping=model.dof_damping * damping)
                return run(changed, jaxsim.make_data(model).replace(qvel=speed * jnp.ones(3)))

            after = jax.vmap(one)(speed)
            value = jnp.sum(after.qacc**2, axis=1) + jnp.sum(after.qvel**2, axis=1)
            return jnp.sum(jnp.where(jnp.abs(speed) < 1e6, value, 0)), after

        gradient = jax.jit(jax.grad(loss, has_aux=True))
        both, after = gradient(jnp.float32(1.0), jnp.asarray([0.5, 1e7, 3e9], jnp.float32))
        alone, _ = gradient(jnp.float32(1.0), jnp.asarray([0.5, 0.5, 3e9], jnp.float32))
        assert np.isfinite(both)
        assert both != 0
        np.testing.assert_allclose(2 * both, alone, rtol=1e-5)
        if function != "forward":
            assert (np.asarray(after.warning[1:]) != 0).any()


@pytest.mark.parametrize(("function", "mode"), [("step", jax.jacfwd), ("halves", jax.jacrev)])
def test_the_derivative_of_a_failed_world_is_that_of_its_reset(function, mode):
    _, model, _, _ = problem("enable")
    run = jaxsim.step if function == "step" else lambda m, d: jaxsim.step2(m, jaxsim.step1(m, d))

    def f(qpos0, force):
        changed = model.replace(qpos0=qpos0)
        data = jaxsim.make_data(model).replace(qfrc_applied=force * jnp.ones(3))
        after = run(changed, data)
        return after.qpos, after.qacc, after.xpos

    jacobians = jax.jit(mode(f, (0, 1)))(model.qpos0, jnp.asarray(1e30))
    np.testing.assert_array_equal(jacobians[0][0], np.eye(3))
    for x in jax.tree.leaves((jacobians[0][1:], jacobians[0][1], jacobians[1:])):
        np.testing.assert_array_equal(x, np.zeros_like(x))
