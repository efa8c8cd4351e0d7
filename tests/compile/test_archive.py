"""Saved models."""

import dataclasses
import zipfile

import jax
import numpy as np
import pytest

from jaxsim.compile import archive, load_model, save_model
from jaxsim.mjcf import MjcfError
from tests.compile.oracle import differences
from tests.compile.test_relations import TENDONS, model

XML = model(
    TENDONS + '<custom><text name="t" data="hello"/></custom><sensor><clock name="c"/></sensor>',
    '<option cone="elliptic" timestep=".003"/>',
)


def test_a_saved_model_is_the_same(tmp_path):
    saved, path = load_model(XML), tmp_path / "m.npz"
    save_model(saved, path)
    loaded = load_model(path)
    assert differences(loaded, saved) == {}
    assert loaded.static == saved.static
    assert jax.tree.structure(loaded) == jax.tree.structure(saved)
    for a, b in zip(jax.tree.leaves(loaded), jax.tree.leaves(saved), strict=True):
        np.testing.assert_array_equal(a, b)
    assert load_model(path, nconmax=7).nconmax == 7
    assert {f.name for f in dataclasses.fields(loaded)} == set(vars(loaded)) - {"_static"}


def test_batched_leaves_are_kept(tmp_path):
    saved, path = load_model(XML), tmp_path / "m.npz"
    mass = np.stack([saved.body_mass, 2 * saved.body_mass])
    save_model(saved.replace(body_mass=mass), path)
    np.testing.assert_array_equal(load_model(path).body_mass, mass)


@pytest.mark.parametrize("damage", ["cut", "flip", "text", "empty"])
def test_damaged_files_are_refused(tmp_path, damage):
    path = tmp_path / "m.npz"
    save_model(load_model(XML), path)
    content = bytearray(path.read_bytes())
    if damage == "flip":
        with zipfile.ZipFile(path) as archived:
            largest = max(archived.infolist(), key=lambda entry: entry.compress_size)
        content[largest.header_offset + largest.compress_size // 2 + 100] ^= 1
    path.write_bytes({"cut": content[:-100], "text": b"<mujoco/>", "empty": b""}.get(damage, content))
    with pytest.raises(MjcfError, match=r"m\.npz"):
        load_model(path)


def test_a_changed_value_is_noticed(tmp_path):
    path = tmp_path / "m.npz"
    save_model(load_model(XML), path)
    with np.load(path) as stored:
        arrays = dict(stored)
    arrays["body_mass"] = arrays["body_mass"] + 1e-9
    np.savez(path, **arrays)
    with pytest.raises(MjcfError, match="checksum"):
        load_model(path)


def test_other_versions_are_refused(tmp_path, monkeypatch):
    path = tmp_path / "m.npz"
    with monkeypatch.context() as patch:
        patch.setattr(archive, "FORMAT", 99)
        save_model(load_model(XML), path)
    with pytest.raises(MjcfError, match="format 99"):
        load_model(path)


def test_names_have_the_ending_that_load_model_knows(tmp_path):
    with pytest.raises(ValueError, match=r"ends in \.npz"):
        save_model(load_model("<mujoco/>"), tmp_path / "model")


def test_missing_file():
    with pytest.raises(MjcfError, match="cannot read"):
        load_model("does_not_exist.npz")
