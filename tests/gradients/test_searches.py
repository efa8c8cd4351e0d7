"""A derivative is told what its step found by searching: it searches nothing again, and is the same."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxsim
from jaxsim.math.choices import Choices

SCENE = """
<mujoco>
  <option timestep=".002" tolerance="1e-12" iterations="50"><flag autoreset="disable"/></option>
  <asset>
    <hfield name="hills" nrow="4" ncol="4" size=".4 .4 .1 .1" elevation="1 3 2 4  2 4 3 1  3 1 4 2  4 2 1 3"/>
    <mesh name="wedge" vertex="-1 -1 0  1 -1 0  1 1 0  -1 1 0  0 0 .7" scale=".1 .1 .1"/>
  </asset>
  <default><geom condim="3" friction=".6"/></default>
  <worldbody>
    <geom name="ground" {}/>
    {}
  </worldbody>
</mujoco>
"""
FLOOR = 'type="box" size="2 2 .1" pos="0 0 -.1"'
KINDS = (
    'type="mesh" mesh="wedge"',
    'type="cylinder" size=".06 .05" pos="0 0 .049"',
    'type="ellipsoid" size=".06 .07 .05" pos="0 0 .049"',
)
HILLS = 'type="hfield" hfield="hills"'
ON_HILLS = (
    'type="capsule" size=".05 .06" pos="0 0 .1" euler="80 20 0"',
    'type="sphere" size=".06" pos="0 0 .1"',
)


def model_of(*kinds: str, ground: str = FLOOR) -> jaxsim.Model:
    """Free bodies in a row on the ground, a little apart."""
    bodies = (
        f'<body pos="{0.21 * k:.2f} 0 -.004"><freejoint/><geom {kind}/></body>'
        for k, kind in enumerate(kinds)
    )
    return jaxsim.load_model(SCENE.format(ground, "\n".join(bodies)))


@pytest.mark.parametrize(
    ("kinds", "ground", "worlds"),
    [
        pytest.param(KINDS[:2], FLOOR, 3, id="all pairs"),
        pytest.param(KINDS[1:], FLOOR, 120, id="those that are asked"),
        pytest.param(ON_HILLS, HILLS, 3, id="prisms of a height field"),
        pytest.param(KINDS * 6, FLOOR, 12, id="the nearest of many", marks=pytest.mark.slow),
    ],
)
def test_a_step_has_the_derivative_of_its_halves(kinds, ground, worlds):
    """The first half is searched again by its derivative."""
    model = model_of(*kinds, ground=ground)
    data = jaxsim.make_data(model)
    rng = np.random.default_rng(3)
    turns = 0.01 * rng.normal(size=(worlds, model.nv))
    turns[:, 2::6] = 0  # none is lifted off the floor
    weights = rng.normal(size=model.nv)

    def halves(model, data):
        return jaxsim.step2(model, jaxsim.step1(model, data))

    def gradients(step, turns):
        def loss(turn):
            qpos = jaxsim.integrate_pos(model, data.qpos, turn, 1.0)
            after = step(model, data.replace(qpos=qpos))
            return after.qvel @ weights, after.ncon

        return jax.vmap(jax.grad(loss, has_aux=True))(turns)

    whole, ncon = jax.jit(lambda x: gradients(jaxsim.step, x))(turns)
    assert (ncon > 0).all()
    assert np.isfinite(whole).all()
    parts, _ = jax.jit(lambda x: gradients(halves, x))(turns)
    np.testing.assert_allclose(whole, parts, rtol=1e-7, atol=1e-9 * np.abs(parts).max())


def test_a_world_that_fails_spoils_no_other():
    model = model_of(*KINDS[:2])
    data = jaxsim.make_data(model)
    forces = np.zeros((3, model.nv))
    forces[1] = np.nan

    def velocity(force, start):
        return jaxsim.step(model, data.replace(qfrc_applied=force, qvel=start)).qvel.sum()

    found = jax.jit(jax.vmap(jax.grad(velocity, argnums=1)))(forces, np.zeros_like(forces))
    assert np.isfinite(found).all()
    np.testing.assert_array_equal(found[1], 1)  # it stays where it is
    np.testing.assert_array_equal(found[0], found[2])
    assert (found[0] != 0).any()


def test_a_derivative_contains_no_search():
    model = model_of(*KINDS[:2])
    data = jaxsim.make_data(model)

    def velocity(qpos):
        return jaxsim.step(model, data.replace(qpos=qpos)).qvel.sum()

    def searches(function):
        text = jax.jit(function).lower(data.qpos).as_text()
        return [text.count(f"func private @{name}") for name in ("_rim", "_moved", "_at_most", "_cut")]

    once = searches(velocity)
    assert min(once) > 0
    assert searches(jax.grad(velocity)) == once


def test_choices_are_made_once():
    asked = []

    def choose(x, *, n):
        asked.append(n)
        return x + n, None

    first = Choices(())
    found = [first.of(choose, jnp.ones(2), n=n) for n in (1, 2)]
    second = Choices(first.made)
    told = [second.of(choose, jnp.ones(2), n=n) for n in (1, 2)]
    assert asked == [1, 2]
    np.testing.assert_array_equal(found[1][0], told[1][0])
    # only those that are made and wanted are kept
    assert [c.kept for c in (first, second, Choices(None))] == [True, False, False]


def _lying_pairs():
    """Contact positions of pairs of the general collider, of which some touch in several points, by their motion."""
    pairs = 2 * [("cylinder", "cylinder", 0.19)] + [("cylinder", "ellipsoid", 0.19)]
    size = {"cylinder": ".1 .1", "ellipsoid": ".1 .12 .1"}
    bodies = "".join(
        f"<body pos='{k} 0 {z}'><freejoint/><geom type='{kind}' size='{size[kind]}'/></body>"
        for k, (one, other, height) in enumerate(pairs)
        for kind, z in ((one, 0), (other, height))
    )
    model = jaxsim.load_model(f"<mujoco><worldbody>{bodies}</worldbody></mujoco>")
    data = jaxsim.make_data(model)

    def positions(v):
        moved = data.replace(qpos=jaxsim.integrate_pos(model, data.qpos, v, 1.0))
        found = jaxsim.forward(model, moved).contact
        return jnp.where(found.dist[:, None] < 0, found.pos, 0)

    return positions, jnp.asarray(1e-3 * np.random.default_rng(0).normal(size=model.nv))


def test_a_derivative_may_compute_together_what_was_computed_apart():
    """Of one world each pair is computed apart, with a few cotangents, which are as many worlds, all together."""
    positions, v = _lying_pairs()
    found = jax.eval_shape(
        jax.vmap(jax.vjp(positions, v)[1]), jnp.ones((2, *jax.eval_shape(positions, v).shape))
    )
    assert found[0].shape == (2, v.size)


@pytest.mark.slow
def test_few_cotangents_at_once():
    positions, v = _lying_pairs()
    rng = np.random.default_rng(1)
    u = rng.normal(size=v.size)
    pushed = jax.jit(lambda v: jax.jvp(positions, (v,), (u,))[1])(v)
    weights = rng.normal(size=(3, *pushed.shape))
    pulled = jax.jit(lambda v, w: jax.vmap(jax.vjp(positions, v)[1])(w)[0])(v, jnp.asarray(weights))
    assert np.sum(np.any(pushed != 0, axis=1)) > 4
    np.testing.assert_allclose(pulled @ u, np.sum(weights * pushed, axis=(1, 2)), rtol=1e-9)
