"""World frames from the root on, as programs for accelerators compute them."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxsim
from jaxsim.math.stage import lowering_for
from jaxsim.pipeline import kinematics
from jaxsim.pipeline.frames_kernel import compose_in_kernel
from tests.elsewhere import program_for
from tests.pipeline import scenes
from tests.pipeline.oracle import load


def frames(rng, n, width):
    """Positions and unit quaternions, (n, 7, width)."""
    turn = rng.standard_normal((n, 4, width))
    turn /= np.linalg.norm(turn, axis=1, keepdims=True)
    return jnp.asarray(np.concatenate([rng.standard_normal((n, 3, width)), turn], axis=1))


@pytest.mark.parametrize(("platform", "width"), [("cuda", 32), ("cuda", 5), ("tpu", 40)])
def test_kernel_equals_pointer_jumping(platform, width):
    """Bodies with several joints, with none, with mocap and with free joints."""
    _, model = load(scenes.MIXED)
    rng, plan = np.random.default_rng(0), kinematics._plan(model.static)
    motion, base = (frames(rng, n, width) for n in (model.njnt, model.nbody))
    base = base.at[0].set(np.eye(7)[3, :, None])  # the world
    local = jnp.concatenate([motion, base])
    with lowering_for(platform):
        ours = compose_in_kernel(plan.order, plan.above, local, interpret=True)
    # 1e-13: another order of the same products
    expected = kinematics._by_jumps(model.static, motion, base)
    np.testing.assert_allclose(ours[plan.own], expected, rtol=0, atol=1e-13)


@functools.cache
def _chain():
    body = "<body><joint type='hinge' axis='0 1 0'/><geom size='.1'/>{}</body>"
    xml = functools.reduce(lambda inner, _: body.format(inner), range(3), "")
    return jaxsim.load_model(f"<mujoco><worldbody>{xml}</worldbody></mujoco>")


@pytest.mark.parametrize("platform", ["cuda", "tpu"])
def test_programs_for_accelerators_compose_in_one_kernel(platform):
    model = _chain()
    data = jaxsim.make_data(model)
    many = jax.tree.map(lambda x: jnp.broadcast_to(x, (64, *x.shape)), data)
    if platform == "tpu":  # which know no float64
        model, many = jax.tree.map(
            lambda x: x.astype(jnp.float32) if x.dtype == jnp.float64 else x, (model, many)
        )
    step = jax.jit(jax.vmap(jaxsim.kinematics, in_axes=(None, 0)))
    assert "world_frames" in program_for(platform, step, model, many)
    assert "world_frames" not in program_for("cpu", step, model, many)
    one = jax.tree.map(lambda x: x[0], many)
    assert "world_frames" not in program_for(platform, jax.jit(jaxsim.kinematics), model, one)


def test_derivatives_are_those_of_pointer_jumping():
    """The kernel itself has none: a derivative that is lowered for a GPU does without it."""
    model = _chain()
    data = jaxsim.make_data(model)

    def height(q):
        return jaxsim.kinematics(model, data.replace(qpos=q)).xpos[:, 2].sum()

    text = program_for("cuda", jax.jit(jax.vmap(jax.grad(height))), jnp.zeros((64, model.nq)))
    assert "world_frames" not in text
    with lowering_for("cuda"):
        static = model.static
        motion, base = (frames(np.random.default_rng(1), n, 2) for n in (model.njnt, model.nbody))
        tangents = jax.tree.map(jnp.ones_like, (motion, base))
        _, ours = jax.jvp(functools.partial(kinematics._in_kernel, static), (motion, base), tangents)
        _, expected = jax.jvp(functools.partial(kinematics._by_jumps, static), (motion, base), tangents)
    np.testing.assert_array_equal(ours, expected)
