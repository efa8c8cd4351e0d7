"""Worlds on eight devices are the worlds of one, and the devices do not wait for each other."""

from __future__ import annotations

import re
import subprocess
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxsim
from jaxsim import parallel
from jaxsim.envs import randomise
from tests.parallel.worker import MODEL, WORLDS, start

STEPS = 25


@pytest.fixture(scope="module")
def model() -> jaxsim.Model:
    return jaxsim.load_model(MODEL)


def _after(model: jaxsim.Model, data: jaxsim.Data, ctrl: jax.Array) -> jaxsim.Data:
    return jaxsim.rollout(model, data.replace(ctrl=ctrl), steps=STEPS)[0]


@pytest.fixture(scope="module")
def batch(model):
    return start(model), jnp.asarray(np.random.default_rng(1).normal(size=(WORLDS, 1)))


def test_trajectories_are_those_of_one_device(model, batch):
    data, ctrl = batch
    mesh = parallel.worlds_mesh(WORLDS)
    assert mesh.size == 8
    run = jax.jit(parallel.vmap(_after, in_axes=(None, 0, 0)))
    compiled = run.lower(model, *parallel.spread((data, ctrl))).compile()
    found = compiled(model, *parallel.spread((data, ctrl)))
    assert len(found.qpos.sharding.device_set) == 8
    wanted = jax.jit(jax.vmap(_after, (None, 0, 0)))(model, data, ctrl)
    assert np.ptp(np.asarray(wanted.ncon)) > 0
    for one, many in zip(jax.tree.leaves(wanted), jax.tree.leaves(found), strict=True):
        np.testing.assert_allclose(many, one, atol=1e-11)
    words = r"all-reduce|all-gather|collective-permute|all-to-all|reduce-scatter"
    assert not re.findall(words, compiled.as_text())
    # under jit alone the devices ask each other before each round of a loop
    alone = jax.jit(jax.vmap(_after, (None, 0, 0))).lower(model, *parallel.spread((data, ctrl))).compile()
    assert re.findall(words, alone.as_text())


ELLIPSOIDS = """
<mujoco>
  <worldbody>
    <geom type="ellipsoid" size=".1 .2 .3"/>
    <body pos=".2 0 0"><joint type="slide" axis="1 0 0"/><geom type="ellipsoid" size=".15 .2 .1"/></body>
  </worldbody>
</mujoco>
"""


def test_searches_of_worlds_that_jit_alone_divides():
    """On one device they are functions of machine code, in which no devices ask each other."""
    model = jaxsim.load_model(ELLIPSOIDS)
    empty = jaxsim.make_data(model)
    data = jax.vmap(lambda x: empty.replace(qpos=x[None]))(jnp.linspace(-0.1, 0.2, 64))

    def contacts(model: jaxsim.Model, data: jaxsim.Data) -> jax.Array:
        return jaxsim.collision(model, jaxsim.kinematics(model, data)).contact.dist

    found = jax.jit(jax.vmap(contacts, (None, 0)))
    np.testing.assert_allclose(found(model, parallel.spread(data)), found(model, data), atol=1e-12)


def test_models_that_differ_between_worlds(model, batch):
    data, ctrl = batch
    models, axes = randomise(model, parallel.world_keys(jax.random.key(2), WORLDS))
    run = jax.jit(parallel.vmap(_after, in_axes=(axes, 0, 0)))
    placed = parallel.spread(models, axes=axes)
    assert not placed.body_mass.sharding.is_fully_replicated
    assert placed.body_pos.sharding.is_fully_replicated
    wanted = jax.jit(jax.vmap(_after, (axes, 0, 0)))(models, data, ctrl)
    np.testing.assert_allclose(run(placed, *parallel.spread((data, ctrl))).qpos, wanted.qpos, atol=1e-11)


def test_a_second_call_does_not_compile_again(model, batch):
    data = parallel.spread(batch[0])
    step = jax.jit(parallel.vmap(jaxsim.step, in_axes=(None, 0)))
    shared = parallel.share(model)
    assert len(shared.body_mass.sharding.device_set) == 8
    found = step(shared, step(shared, data))
    assert step._cache_size() == 1
    alone = jax.jit(jax.vmap(jaxsim.step, (None, 0)))
    np.testing.assert_allclose(found.qpos, alone(model, alone(model, batch[0])).qpos, atol=1e-12)


def test_pmap_gives_the_same(model, batch):
    data, ctrl = batch
    folded = jax.tree.map(lambda x: x.reshape(4, WORLDS // 4, *x.shape[1:]), (data, ctrl))
    found = jax.pmap(jax.vmap(_after, (None, 0, 0)), in_axes=(None, 0, 0))(model, *folded)
    wanted = jax.jit(jax.vmap(_after, (None, 0, 0)))(model, data, ctrl)
    np.testing.assert_allclose(found.qpos.reshape(WORLDS, -1), wanted.qpos, atol=1e-11)


def test_gradients_by_what_is_shared_are_summed(model, batch):
    data, ctrl = batch

    def loss(run, mass, ctrl):
        def one(mass, data, ctrl):
            heavier = model.replace(body_mass=mass)
            return jnp.sum(jaxsim.rollout(heavier, data.replace(ctrl=ctrl), steps=3)[0].qvel ** 2)

        return jnp.sum(run(one, in_axes=(None, 0, 0))(mass, data, ctrl))

    found, wanted = (
        jax.jit(jax.grad(lambda m, c, run=run: loss(run, m, c), (0, 1)))(model.body_mass, ctrl)
        for run in (parallel.vmap, jax.vmap)
    )
    for one, many in zip(wanted, found, strict=True):
        assert np.abs(one).max() > 1e-3
        np.testing.assert_allclose(many, one, rtol=1e-10, atol=1e-12)


def test_loops_may_start_from_constants():
    """As a user's own controller does."""

    def settled(x):
        return jax.lax.while_loop(lambda s: s[0] < 3, lambda s: (s[0] + 1, s[1] + x), (0, jnp.zeros(())))[1]

    x = np.arange(8.0)
    np.testing.assert_array_equal(jax.jit(parallel.vmap(settled))(x), 3 * x)


def test_keys_do_not_depend_on_devices():
    key = jax.random.key(7)
    found = [
        jax.random.key_data(parallel.world_keys(key, 8, parallel.worlds_mesh(devices=jax.devices()[:n])))
        for n in (1, 2, 8)
    ]
    for other in found[1:]:
        np.testing.assert_array_equal(other, found[0])
    assert len(np.unique(np.asarray(found[0]), axis=0)) == 8
    keys = jax.random.split(key, 16)
    np.testing.assert_array_equal(
        jax.random.key_data(parallel.spread(keys)), jax.random.key_data(keys), strict=True
    )


def test_what_a_process_has():
    numbers = {"a": np.arange(16.0), "none": np.zeros((16, 0))}
    own, found = parallel.own_worlds(parallel.spread(numbers))
    assert (own.start, own.stop) == (0, 16)
    np.testing.assert_array_equal(found["a"], numbers["a"])
    assert found["none"].shape == (16, 0)
    np.testing.assert_array_equal(parallel.collect(parallel.spread(numbers))["a"], numbers["a"])
    np.testing.assert_array_equal(parallel.collect(numbers)["a"], numbers["a"])
    with pytest.raises(ValueError, match="different worlds"):
        parallel.own_worlds({"a": np.zeros(4), "b": np.zeros(8)})


def test_a_mesh_has_as_many_devices_as_divide_the_worlds():
    assert [parallel.worlds_mesh(n).size for n in (8, 12, 7, 9, 1)] == [8, 6, 7, 3, 1]
    with pytest.raises(ValueError, match="no devices"):
        parallel.worlds_mesh(devices=[])
    with pytest.raises(ValueError, match="0 worlds; expected at least one"):
        parallel.worlds_mesh(0)


def test_wrong_numbers_of_worlds_are_refused(model, batch):
    with pytest.raises(ValueError, match="12 worlds cannot be spread evenly over 8 devices; take 8 or 16"):
        parallel.spread(np.zeros((12, 3)))
    with pytest.raises(ValueError, match=r"one number of worlds; found \(16, 2\), \(8, 2\)"):
        parallel.spread((np.zeros((16, 2)), np.zeros((8, 2))))
    with pytest.raises(ValueError, match="found no arrays"):
        parallel.spread({})
    with pytest.raises(ValueError, match=r"found \(\)"):
        parallel.spread(jaxsim.make_data(model).time)
    with pytest.raises(ValueError, match=r"\(0, 4\), \.\.\. \(one world is made many by jax\.vmap\)"):
        parallel.spread(jaxsim.make_data(model))
    with pytest.raises(ValueError, match="in_axes holds int 1; expected 0"):
        parallel.vmap(_after, in_axes=1)
    with pytest.raises(ValueError, match=r"in_axes holds ArrayImpl .* or by field"):
        parallel.vmap(_after, in_axes=(None, model))
    with pytest.raises(ValueError, match="in_axes holds None alone"):
        parallel.vmap(_after, in_axes=None)
    with pytest.raises(ValueError, match="in_axes names 2 arguments, but there are 3"):
        parallel.vmap(_after, in_axes=(None, 0))(model, *batch)
    with pytest.raises(ValueError, match="vmap: 4 worlds"):
        parallel.vmap(jnp.sin)(np.zeros(4))


def test_cores_are_chosen_before_jax_runs():
    jax.devices()
    assert parallel.use_cores(8) == parallel.use_cores() == 8
    with pytest.raises(RuntimeError, match="with 8 CPU devices; call it before"):
        parallel.use_cores(3)
    with pytest.raises(ValueError, match="0 devices"):
        parallel.use_cores(0)
    code = "import jax; from jaxsim import parallel; print(parallel.use_cores(), len(jax.devices('cpu')))"
    found = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120
    )
    count, devices = map(int, found.stdout.split())
    assert 1 <= count == devices <= parallel.cores()
    assert count & (count - 1) == 0
