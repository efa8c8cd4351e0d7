"""Stages as kernels of a TPU, run without one: they compute what the stages do."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxsim
from jaxsim import worlds
from jaxsim.math import straight_kernel
from jaxsim.math.axis import add_rows, take
from jaxsim.math.stage import lowering_for
from jaxsim.math.straight_kernel import straight, straight_stages
from jaxsim.pipeline.blank import blank
from jaxsim.pipeline.stages import POSITION, VELOCITY, integration_state
from jaxsim.pipeline.work import Found, Work

WORLDS = 5


@pytest.fixture(autouse=True)
def kernels(monkeypatch):
    """Kernels that run where there is no TPU, and the names of those that ran."""
    names = []
    run = functools.partial(straight_kernel.in_lanes, interpret=True)

    def counted(kernel, name, *args, **options):
        names.append(name)
        return run(kernel, name, *args, **options)

    monkeypatch.setattr(straight_kernel, "in_lanes", counted)
    with jax.enable_x64(False):
        yield names


def _on_tpu(function, *args):
    with lowering_for("tpu"):
        return function(*args)


SCENE = """
<mujoco>
  <worldbody>
    <camera mode="trackcom" pos="0 -1 1"/>
    <light mode="targetbodycom" target="hand" pos="1 0 2"/>
    <geom type="plane" size="1 1 .1"/>
    <body name="trunk" pos="0 0 .05">
      <freejoint/>
      <geom type="sphere" size=".1"/>
      <body pos=".2 0 0">
        <joint name="ball" type="ball" damping=".2"/>
        <geom type="capsule" size=".04 .1"/>
        <body name="hand" pos="0 .1 .2">
          <joint name="slide" type="slide" axis="0 1 1" stiffness="3"/>
          <geom type="box" size=".03 .04 .05" contype="0" conaffinity="0"/>
          <site name="tip" pos="0 0 .1"/>
        </body>
      </body>
    </body>
  </worldbody>
  <tendon><fixed><joint joint="slide" coef="2"/></fixed></tendon>
  <actuator><motor joint="slide" gear="2"/></actuator>
</mujoco>
"""


@pytest.fixture
def scene():
    """A model and some worlds, before any stage; native."""
    with jax.enable_x64(False):
        model = jaxsim.load_model(SCENE)
        rng = np.random.default_rng(0)

        def world(change):
            data = jaxsim.make_data(model)
            return data.replace(
                qpos=data.qpos + change, qvel=jnp.linspace(-1, 1, model.nv) + change[: model.nv]
            )

        many = jax.vmap(world)(jnp.asarray(rng.normal(size=(WORLDS, model.nq)) / 10, jnp.float32))
        state = {name: jnp.moveaxis(x, 0, -1) for name, x in integration_state(many).items()}
        model = worlds.expand(model)
        data = worlds.expand(blank(model)).replace(work=Work(**Found()._asdict()), **state)
    return model, data


def test_stages_are_one_kernel_and_find_the_same(scene, kernels):
    stages = (*POSITION, *VELOCITY)
    found = _on_tpu(straight_stages, stages, *scene)
    assert kernels == ["kinematics_to_tendon_bias"]
    expected = straight_stages(stages, *scene)
    for name, x in vars(expected).items():
        if name != "work":
            jax.tree.map(
                functools.partial(np.testing.assert_allclose, rtol=1e-5, atol=1e-5), getattr(found, name), x
            )


def test_derivatives_are_those_of_the_stages(scene, kernels):
    model, data = scene

    def energy(run, qpos):
        moved = run(straight_stages, POSITION, model, data.replace(qpos=qpos))
        return jnp.sum(moved.geom_xpos**2) + jnp.sum(moved.contact.dist**2)

    alone = functools.partial(energy, lambda function, *args: function(*args))
    on_tpu = functools.partial(energy, _on_tpu)
    change = jnp.ones_like(data.qpos)
    for derivative in (jax.grad, lambda f: lambda x: jax.jvp(f, (x,), (change,))[1]):
        np.testing.assert_allclose(
            derivative(on_tpu)(data.qpos), derivative(alone)(data.qpos), rtol=1e-4, atol=1e-4
        )


X = jnp.linspace(-2, 2, 4 * WORLDS, dtype=jnp.float32).reshape(4, WORLDS)
SHARED = jnp.asarray([[0.5], [-1], [2], [0]], jnp.float32)


def _mixed(x, flags, shared):
    padded = jnp.pad(take(x, np.array([2, 0, 0])), ((1, 1), (0, 0)), constant_values=3)
    summed = add_rows(padded, np.array([0, 1, 0, 1, 0]), 2)
    many = add_rows(jnp.concatenate([x, x]), np.zeros(8, int), 3)
    signs = jnp.sign(x) + jnp.round(3 * x) + jnp.where(flags, shared, x)
    return {
        "sums": summed,
        "many": many,
        "signs": signs,
        "flags": ~flags,
        "alone": 2 * shared,
        "none": x[:0],
        "same": x,
    }


def test_functions_of_numbers_flags_and_shared_arrays(kernels):
    args = X, X > 0.3, SHARED
    found, expected = _on_tpu(straight(_mixed), *args), _mixed(*args)
    assert kernels == ["_mixed"]
    for name, x in expected.items():
        np.testing.assert_allclose(found[name], x, rtol=1e-6, err_msg=name)
        assert found[name].dtype == x.dtype


@pytest.mark.parametrize(
    "function",
    [
        lambda x: jax.lax.while_loop(lambda c: jnp.any(c > 1), lambda c: 0.5 * c, x),
        lambda x: jnp.arcsin(0.1 * x),
        lambda x: functools.reduce(lambda y, _: jnp.sin(y), range(3), x),
        lambda x: jnp.sum(x, axis=0, keepdims=True).astype(jnp.float16),
        lambda x: jnp.max(x, axis=1, keepdims=True) + x[:1],
    ],
    ids=["loop", "unknown to a TPU's Pallas", "long", "another type", "of all worlds"],
)
def test_what_is_no_kernel_is_computed_as_it_is(function, kernels, monkeypatch):
    monkeypatch.setattr(straight_kernel, "_LONGEST", 10)
    np.testing.assert_array_equal(_on_tpu(straight(function), X), function(X))
    assert kernels == []


def test_elsewhere_and_of_one_world_there_are_no_kernels(kernels):
    for args, platform in (((X,), "cpu"), ((X,), "cuda"), ((X[:, :1],), "tpu")):
        with lowering_for(platform):
            straight(jnp.sin)(*args)
    assert kernels == []
