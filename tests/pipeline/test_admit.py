"""Wrong shapes are errors that say what to do, before anything is traced."""

import functools

import jax
import jax.numpy as jnp
import pytest

import jaxsim
from tests.pipeline import scenes

FUNCTIONS = {
    "step": jaxsim.step,
    "forward": jaxsim.forward,
    "step1": jaxsim.step1,
    "step2": jaxsim.step2,
    "rollout": functools.partial(jaxsim.rollout, steps=1),
}


@functools.cache
def problem():
    model = jaxsim.load_model(scenes.hopper())
    return model, jaxsim.make_data(model)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_many_worlds_without_vmap(name):
    model, data = problem()
    four = jax.tree.map(lambda x: jnp.broadcast_to(x, (4, *x.shape)), data)
    with pytest.raises(ValueError, match=rf"{name}: data holds 4 worlds .*jax.vmap\({name}, \(None, 0\)\)"):
        FUNCTIONS[name](model, four)
    with pytest.raises(ValueError, match="4 worlds"):
        jax.eval_shape(lambda d: FUNCTIONS[name](model, d), four)
    with pytest.raises(ValueError, match="2x4 worlds"):
        FUNCTIONS[name](model, jax.tree.map(lambda x: jnp.stack([x, x]), four))
    jax.eval_shape(jax.vmap(lambda d: FUNCTIONS[name](model, d)), four)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_field_of_the_wrong_shape(name):
    model, data = problem()
    with pytest.raises(ValueError, match=rf"{name}: data.ctrl has shape \(3,\), the model needs \(2,\)"):
        FUNCTIONS[name](model, data.replace(ctrl=jnp.zeros(3)))
    with pytest.raises(ValueError, match=r"data.qvel has shape \(1,\).*; data.act has shape \(\)"):
        jax.jit(lambda d: FUNCTIONS[name](model, d))(data.replace(qvel=jnp.zeros(1), act=jnp.zeros(())))


def test_controls_of_a_rollout():
    model, data = problem()
    with pytest.raises(ValueError, match=r"ctrl has shape \(5, 3\); expected \(T, 2\)"):
        jaxsim.rollout(model, data, jnp.zeros((5, 3)))
