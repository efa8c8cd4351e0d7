"""One process may work in both precisions, in any order: what is cached of a model suits both."""

import jax
import jax.numpy as jnp
import pytest

import jaxsim
from jaxsim import models
from tests.pipeline import scenes
from tests.solver.scenes import CONTACTS

MODELS = {
    "contacts": CONTACTS.format(cone="elliptic"),
    "sensors and equalities": scenes.SENSORS,
    "more candidates than slots": models.path("humanoid"),
}


@pytest.mark.parametrize("name", MODELS)
def test_float32_after_float64_and_back(name):
    for x64 in (True, False, True):
        with jax.enable_x64(x64):
            model = jaxsim.load_model(MODELS[name])
            after = jax.eval_shape(jaxsim.step, model, jaxsim.make_data(model))
            assert after.qacc.dtype == (jnp.float64 if x64 else jnp.float32)
            assert after.contact.dist.dtype == after.qacc.dtype
