"""Wrong shapes are errors that say what to do, before anything is traced."""

import functools

import jax
import jax.numpy as jnp
import mujoco
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


def test_a_model_of_the_wrong_shape():
    model, data = problem()
    masses = jnp.ones((3, model.nbody))
    with pytest.raises(
        ValueError, match=r"step: model.body_mass has shape \(3, \d+\), one world.*use jax.vmap"
    ):
        jaxsim.step(model.replace(body_mass=masses), data)
    with pytest.raises(ValueError, match=r"forward: model.opt.gravity has shape \(\), one world has \(3,\)"):
        jaxsim.forward(model.replace(opt=model.opt.replace(gravity=-9.81)), data)
    with pytest.raises(ValueError, match=r"model.geom_size has shape \(\d+, 2\)"):
        jaxsim.step(model.replace(geom_size=model.geom_size[:, :2]), data)
    axes = jax.tree.map(lambda _: None, model).replace(body_mass=0)
    jax.eval_shape(jax.vmap(jaxsim.step, (axes, None)), model.replace(body_mass=masses), data)


def test_what_is_not_a_model_or_its_data():
    model, data = problem()
    theirs = mujoco.MjModel.from_xml_string("<mujoco/>")
    with pytest.raises(TypeError, match=r"step: model is of type MjModel, not Model; jaxsim\.put_model"):
        jaxsim.step(theirs, data)
    with pytest.raises(TypeError, match=r"forward: data is of type MjData, not Data; jaxsim\.put_data"):
        jaxsim.forward(model, mujoco.MjData(theirs))
    with pytest.raises(TypeError, match="step: model is of type Data, not Model"):
        jaxsim.step(data, model)


def test_numbers_in_lists():
    model, data = problem()
    still = model.replace(opt=model.opt.replace(gravity=[0, 0, 0]))
    assert float(jnp.abs(jaxsim.forward(still, data.replace(ctrl=[0.0, 0.0])).qfrc_gravcomp).sum()) == 0
    end, _ = jaxsim.rollout(still, data, [[0.0, 0.0]] * 3)
    assert end.qpos.shape == data.qpos.shape


@pytest.mark.parametrize("name", ["step", "rollout"])
def test_steps_and_substeps_that_are_none(name):
    model, data = problem()
    with pytest.raises(ValueError, match="substeps=0; expected 1 or more"):
        FUNCTIONS[name](model, data, substeps=0)
    with pytest.raises(ValueError, match="steps=-3; expected 0 or more"):
        jaxsim.rollout(model, data, steps=-3)
    with pytest.raises(ValueError, match=r"Data has no field 'qpus' \(did you mean 'qpos'\?\), 'replace'"):
        jaxsim.rollout(model, data, steps=1, fields=("qpus", "time", "replace"))
    with pytest.raises(ValueError, match=r"fields='qpos' is one name; expected a sequence, \('qpos',\)"):
        jaxsim.rollout(model, data, steps=1, fields="qpos")


def test_numbers_of_other_types():
    """Whole controls are numbers; those of a model and of its data are of one precision."""
    model, data = problem()
    whole = jax.tree.map(lambda x: x, data)
    # as an unflattened tree may hold
    whole.__dict__.update(ctrl=jnp.ones(2, int), qpos=jnp.zeros(model.nq, int))
    after = jax.eval_shape(jaxsim.step, model, whole)
    assert after.ctrl.dtype == after.qpos.dtype == data.qpos.dtype
    single = jax.tree.map(lambda x: x.astype("float32") if x.dtype.kind == "f" else x, data)
    with pytest.raises(
        TypeError, match="step: the model's numbers are float64, the state's float32; set jax_enable"
    ):
        jax.eval_shape(jaxsim.step, model, single)


def test_substeps_are_static():
    model, data = problem()
    for wrong in (2.0, data.ctrl):
        with pytest.raises(TypeError, match=r"substeps=.*jax\.jit\(step, static_argnums=2\)"):
            jaxsim.step(model, data, wrong)
    with pytest.raises(TypeError, match="substeps"):
        jax.jit(jaxsim.step)(model, data, 2)
