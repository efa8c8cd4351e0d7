"""Contacts that are not made yet: steps stay the same, gradients learn of them, modes agree."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxsim
from jaxsim import optimise

XML = """
<mujoco>
  <compiler autolimits="true"/>
  <option timestep="0.01" cone="{cone}"/>
  <worldbody>
    <geom name="floor" type="plane" size="2 2 .1"/>
    <body pos="-0.13 0 0.05">
      <joint type="slide" axis="1 0 0" damping="2"/><geom type="sphere" size=".03" mass="0.2"/>
    </body>
    <body pos="0 0 .05">
      <joint type="slide" axis="1 0 0"/><joint type="slide" axis="0 0 1"/>
      <geom type="box" size=".05 .05 .05" mass="0.3"/>
    </body>
  </worldbody>
  <actuator><motor joint="{joint}" gear="8" ctrlrange="-1 1"/></actuator>
</mujoco>
"""
GAP = 0.05  # between finger and box, m
STEPS = 40


@functools.cache
def scene(cone="pyramidal"):
    xml = XML.format(cone=cone, joint="finger").replace("slide", 'slide" name="finger', 1)
    model = jaxsim.load_model(xml)
    return model, jaxsim.make_data(model)


def moved(model, data, ctrl):
    """Where the box ends."""
    return jaxsim.rollout(model, data, ctrl, fields=("qpos",))[1]["qpos"][-1, 1]


@functools.cache
def programs(cone="pyramidal"):
    """The place of the box with its gradient, for models with and without onset."""
    _, data = scene(cone)
    return jax.jit(jax.value_and_grad(lambda u, model: moved(model, data, u)))


@pytest.mark.parametrize("cone", ["pyramidal", pytest.param("elliptic", marks=pytest.mark.slow)])
def test_a_box_at_rest_is_felt_before_it_is_touched(cone):
    """No control moves the box yet; with onset the finger's force towards it does, beyond the reach nothing does."""
    model, _ = scene(cone)
    still = jnp.zeros((STEPS, 1))
    value, g = programs(cone)(still, model)
    assert not g.any()
    smooth, felt = programs(cone)(still, optimise.smooth_onset(model, 2 * GAP))
    assert smooth == value
    assert (felt[:-1] > 0).all()
    _, far = programs(cone)(still, optimise.smooth_onset(model, 0.9 * GAP))
    assert not far.any()


def test_the_bias_vanishes_with_the_reach():
    """Where the contact is made, the felt gradient comes to the exact one as the reach goes to zero."""
    model, _ = scene()
    push = jnp.full((STEPS, 1), 0.8)
    place, exact = programs()(push, model)
    assert place > 0.02
    errors = []
    for reach in (0.2, 1e-3, 1e-4, 1e-5):  # the box chatters some 1e-4 m above the floor
        value, g = programs()(push, optimise.smooth_onset(model, reach))
        assert value == place
        errors.append(float(jnp.linalg.norm(g - exact) / jnp.linalg.norm(exact)))
    assert sorted(errors, reverse=True) == errors
    assert errors[0] > 0.5
    assert errors[-1] < 1e-9


def test_steps_are_the_same_to_the_last_bit():
    model, data = scene()
    ctrl = jnp.full((STEPS, 1), 0.9)
    run = jax.jit(lambda model: jaxsim.rollout(model, data, ctrl, fields=("qpos", "qvel", "ncon"))[1])
    exact, felt = run(model), run(optimise.smooth_onset(model, 0.2))
    assert exact["qpos"][-1, 1] > 0.02
    jax.tree.map(np.testing.assert_array_equal, exact, felt)


def test_a_program_without_onset_has_no_trace_of_it():
    model, data = scene()
    ctrl = jnp.zeros((2, 1))
    slope = jax.jit(jax.grad(lambda u, model: moved(model, data, u)))
    off = slope.lower(ctrl, model).as_text()
    on = slope.lower(ctrl, optimise.smooth_onset(model, 0.1)).as_text()
    again = slope.lower(ctrl, optimise.smooth_onset(model, 0.1).replace(onset=None)).as_text()
    assert off == again
    assert len(on) > len(off)


@pytest.mark.slow
def test_modes_agree():
    """Columns of the forward mode are rows of the reverse one, and worlds do not mix."""
    model, data = scene()
    model = optimise.smooth_onset(model, 2 * GAP)

    def after(q):
        out = jaxsim.step(model, data.replace(qpos=q[:3], qvel=q[3:]))
        return jnp.concatenate([out.qpos, out.qvel])

    states = jnp.array([[0.0, 0, 0, 0, 0, 0], [0.03, 0, 0.01, 0.5, 0, -0.2]])
    forward = jax.jit(jax.vmap(jax.jacfwd(after)))(states)
    reverse = jax.jit(jax.vmap(jax.jacrev(after)))(states)
    assert np.isfinite(forward).all()
    assert (forward[:, 4, 3] > 0).all()  # the finger's speed drives the box's
    np.testing.assert_allclose(forward, reverse, rtol=1e-9, atol=1e-10)


def test_randomised_finds_the_slope_of_a_step_function():
    """Gradients see nothing of a jump; values do, and both together find it where it is and smooth slopes elsewhere."""

    def jump(x):
        return jnp.where(x[0] > 0.1, 1.0, 0.0) + 3 * x[1]

    x, key = jnp.zeros(2), jax.random.key(0)
    true = np.exp(-0.5 * (0.1 / 0.2) ** 2) / (0.2 * np.sqrt(2 * np.pi))
    found = {
        by: optimise.randomised(jump, x, key, deviation=0.2, samples=4000, by=by)
        for by in ("gradients", "values", "both")
    }
    np.testing.assert_allclose(found["gradients"].gradient, [0, 3], atol=1e-12)
    for by in ("values", "both"):
        error = np.abs(found[by].gradient - np.array([true, 3]))
        assert (error < 4 * found[by].deviation + 0.1).all()
    assert found["both"].share[1] > found["both"].share[0]
    np.testing.assert_allclose(found["both"].value, 0.3085, atol=0.05)


def test_randomised_is_exact_for_linear_functions():
    slope = jnp.arange(6.0).reshape(2, 3)
    found = optimise.randomised(
        lambda x: jnp.sum(slope * x), jnp.ones((2, 3)), jax.random.key(1), deviation=0.1, by="gradients"
    )
    np.testing.assert_allclose(found.gradient, slope, rtol=1e-12)


@pytest.mark.parametrize("arguments", [{"by": "luck"}, {"samples": 5}, {"samples": 2}])
def test_randomised_refuses(arguments):
    with pytest.raises(ValueError, match="randomised: by="):
        optimise.randomised(jnp.sum, jnp.zeros(2), jax.random.key(0), deviation=1.0, **arguments)
    with pytest.raises(ValueError, match=r"deviation=0\.0; expected a positive"):
        optimise.randomised(jnp.sum, jnp.zeros(2), jax.random.key(0), deviation=0.0)


def test_smooth_onset_inside_of_jit():
    model, _ = scene()
    assert jax.jit(lambda model: optimise.smooth_onset(model, 0.3))(model).onset == 0.3
    assert jax.jit(optimise.smooth_onset)(model, 0.3).onset == 0.3


def test_smooth_onset_refuses_what_is_no_distance():
    with pytest.raises(ValueError, match=r"reach=.*positive number"):
        optimise.smooth_onset(scene()[0], 0.0)
