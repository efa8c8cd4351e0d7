"""A run on disk is the same whether it was interrupted or not."""

from __future__ import annotations

import jax
import numpy as np
import pytest

import jaxsim
from jaxsim import parallel
from jaxsim.enums import DisableBit
from jaxsim.envs import randomise
from jaxsim.hooks import Hooks
from jaxsim.keys import digest
from jaxsim.recording import Recording, _program, record
from tests.parallel.worker import CHUNK, MODEL, WORLDS, control, start

OPTIONS = {"fields": ("qpos", "time"), "control": control, "chunk": CHUNK, "every": 2}


@pytest.fixture(scope="module")
def model() -> jaxsim.Model:
    return jaxsim.load_model(MODEL)


@pytest.fixture(scope="module")
def whole(model, tmp_path_factory) -> Recording:
    seen = []
    found = record(
        model,
        start(model),
        tmp_path_factory.mktemp("whole") / "run",
        steps=34,
        progress=seen.append,
        **OPTIONS,
    )
    assert seen == [10, 20, 30, 34]
    return found


def test_a_recording_is_the_rollout(model, whole):
    def one(data, world):
        def body(data, k):
            data = jaxsim.step(model, data.replace(ctrl=control(data, k, world)))
            return data, data.qpos

        return jax.lax.scan(body, data, np.arange(34))[1]

    wanted = jax.jit(jax.vmap(one))(start(model), np.arange(WORLDS))
    found = whole.load("qpos")
    assert whole.steps == 34
    assert found.shape == (WORLDS, 17, model.nq)
    np.testing.assert_allclose(found, wanted[:, 1::2], atol=1e-11)
    np.testing.assert_allclose(whole.load("time")[0], 0.01 * np.arange(2, 35, 2), atol=1e-12)
    np.testing.assert_array_equal(whole.load("qpos", slice(5, 2, -2)), found[5:2:-2])
    assert [part.shape[1] for part in whole.chunks("qpos")] == [5, 5, 5, 2]
    np.testing.assert_array_equal(whole.last("qpos"), found[:, -1])


def test_a_run_that_was_interrupted_goes_on_bit_for_bit(model, whole, tmp_path):
    def stop(done):
        if done == 20:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        record(model, start(model), tmp_path, steps=34, progress=stop, **OPTIONS)
    assert Recording.open(tmp_path).steps == 20
    # a file that was not finished does not count
    (tmp_path / ".steps-0000000020-0000000030-worlds-00000000-00000008.npz.0").write_bytes(b"half")
    seen = []
    found = record(model, start(model), tmp_path, steps=34, progress=seen.append, **OPTIONS)
    assert seen == [30, 34]
    np.testing.assert_array_equal(found.load("qpos"), whole.load("qpos"))
    # the data of before are gone
    assert len(list(tmp_path.glob("data-*"))) == 1


def test_a_run_goes_on_with_other_devices_and_longer(model, whole, tmp_path):
    record(model, start(model), tmp_path, steps=24, **OPTIONS)
    one = parallel.worlds_mesh(devices=jax.devices()[:1])
    found = record(model, start(model), tmp_path, steps=34, mesh=one, **OPTIONS)
    assert [part.shape[1] for part in found.chunks("qpos")] == [5, 5, 2, 3, 2]
    np.testing.assert_allclose(found.load("qpos"), whole.load("qpos"), atol=1e-10)


def test_models_that_differ_between_worlds(model, tmp_path):
    models, axes = randomise(model, jax.random.split(jax.random.key(0), WORLDS), mass=(0.2, 5.0))
    options = {"fields": ("qvel", "contact.dist"), "chunk": 6, "model_axes": axes}
    found = record(models, start(model), tmp_path, steps=6, **options)
    one = jax.vmap(lambda m, d: jaxsim.rollout(m, d, steps=6, fields=("qvel", "contact")), (axes, 0))
    _, wanted = jax.jit(one)(models, start(model))
    np.testing.assert_allclose(found.load("qvel"), wanted["qvel"], atol=1e-11)
    np.testing.assert_allclose(found.load("contact.dist"), wanted["contact"].dist, atol=1e-11)


def test_the_static_part_of_a_model_is_known_in_all_processes(model):
    """Of functions their names are, not their places in memory."""

    def hooked():
        def passive(model, data):
            return -data.qvel

        return digest(_program(model.replace(hooks=Hooks(passive=passive, sensors=((0, passive),)))))

    assert hooked() == hooked() != digest(_program(model))


def test_what_a_run_begins_with_stays(model, tmp_path):
    """Each chunk's memory becomes that of the next, but not that of what the caller gave."""
    data = start(model)
    data = parallel.spread(data, parallel.worlds_mesh(WORLDS))
    options = OPTIONS | {"folder": tmp_path / "run"}
    record(model, data, steps=10, **options)
    longer = record(model, data, steps=20, **options)
    assert np.isfinite(data.qpos).all()
    assert longer.load("time").shape[1] == 10 or longer.load("time").size


def test_wrong_arguments_are_refused(model, whole, tmp_path):
    data = start(model)
    with pytest.raises(ValueError, match=r"no field 'qposs' \(did you mean 'qpos'\?\)"):
        record(model, data, tmp_path, steps=10, fields=("qposs",))
    with pytest.raises(ValueError, match="fields is empty"):
        record(model, data, tmp_path, steps=10, fields=())
    with pytest.raises(ValueError, match=r"contact is no array; name those in it, contact\.dist, "):
        record(model, data, tmp_path, steps=10, fields=("qpos", "contact"))
    with pytest.raises(ValueError, match=r"fields='qpos' is one name; expected a sequence, \('qpos',\)"):
        record(model, data, tmp_path, steps=10, fields="qpos")
    with pytest.raises(ValueError, match="every=3 must divide chunk=10 and steps=30"):
        record(model, data, tmp_path, steps=30, chunk=10, every=3)
    with pytest.raises(ValueError, match=r"shape \(8,\); expected \(W, 8\)"):
        record(model, jaxsim.make_data(model), tmp_path, steps=10)
    with pytest.raises(ValueError, match="holds a run with another every, fields"):
        record(model, data, whole.folder, steps=34)
    with pytest.raises(ValueError, match="another model"):
        record(model.replace(body_mass=2 * model.body_mass), data, whole.folder, steps=34, **OPTIONS)
    other = model.replace(opt=model.opt.replace(disableflags=DisableBit.GRAVITY))
    with pytest.raises(ValueError, match="another options, sizes or hooks"):
        record(other, data, whole.folder, steps=34, **OPTIONS)
    other = model.replace(hooks=Hooks(passive=lambda model, data: -data.qvel))
    with pytest.raises(ValueError, match="another options, sizes or hooks"):
        record(other, data, whole.folder, steps=34, **OPTIONS)
    models, _ = randomise(model, jax.random.split(jax.random.key(0), WORLDS))
    with pytest.raises(ValueError, match=r"one world has .* \(record: model_axes\)"):
        record(models, data, tmp_path, steps=10)
    with pytest.raises(FileNotFoundError, match=r"no run\.json"):
        Recording.open(tmp_path)
    with pytest.raises(ValueError, match="'qvel' was not recorded; there are qpos, time"):
        next(whole.chunks("qvel"))
