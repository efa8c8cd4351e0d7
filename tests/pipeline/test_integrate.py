"""Integration on the manifold and the Euler step, against the C engine."""

import jax
import jax.numpy as jnp
import mujoco
import numpy as np

from jaxsim import worlds
from jaxsim.pipeline.implicit import euler
from jaxsim.pipeline.integrate import difference_pos, integrate_pos
from tests.pipeline import scenes
from tests.pipeline.oracle import error, load, native_smooth, put_state, states

SCENE = load(scenes.MIXED)


def test_positions_integrate_and_differ_as_in_c():
    m, model = SCENE
    native = worlds.expand(model)
    rng = np.random.default_rng(0)
    for d in states(m):
        v, dt = rng.standard_normal(m.nv), 0.7
        moved = d.qpos.copy()
        mujoco.mj_integratePos(m, moved, v, dt)
        ours = integrate_pos(native, jnp.asarray(d.qpos)[:, None], jnp.asarray(v)[:, None], jnp.array([dt]))
        assert error(ours, moved) < 1e-13
        back = np.zeros(m.nv)
        mujoco.mj_differentiatePos(m, back, dt, d.qpos, moved)
        args = (jnp.asarray(q)[:, None] for q in (d.qpos, moved))
        assert error(difference_pos(native, *args, jnp.array([dt])), back) < 1e-13


def test_euler_step_without_constraints():
    """Implicit joint damping, activations and warm start after one step, at three states."""
    m, model = load(scenes.MIXED, disableflags=int(mujoco.mjtDisableBit.mjDSBL_CONSTRAINT))

    def step(model, data):
        data = native_smooth(model, data)
        return euler(model, data.replace(qacc=data.qacc_smooth))

    step = jax.jit(worlds.lift(step))
    for d in states(m):
        ours = step(model, put_state(model, d))
        mujoco.mj_step(m, d)
        for name in ("qpos", "qvel", "act", "time", "qacc_warmstart"):
            assert error(getattr(ours, name), getattr(d, name)) < 1e-10, name
