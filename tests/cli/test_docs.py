"""The documentation tells the truth: its examples run as printed."""

import re
from pathlib import Path

import jax
import numpy as np
import pytest

DOCS = Path(__file__).parents[2] / "docs"


def run(name: str) -> dict:
    names = {}
    for code in re.findall(r"```python\n(.*?)```", (DOCS / name).read_text(), re.S):
        exec(compile(code, name, "exec"), names)
    return names


def test_coming_from_mujoco():
    names = run("coming-from-mujoco.md")
    assert names["data"].time == names["d"].time > 0
    assert [names["model"].body(k).name for k in range(3)] == ["world", "arm", "left_palm"]
    assert names["model"].ngeom == 3
    np.testing.assert_allclose(names["model"].dof_damping, 0.1)


def test_concepts(capsys):
    run("concepts.md")
    assert "BAD_CTRL (in 1 of 2 worlds)" in capsys.readouterr().out


@pytest.mark.slow
def test_scaling():
    names = run("scaling.md")
    assert len(names["batch"].qpos.sharding.device_set) == names["mesh"].size > 1
    assert names["qpos"].shape == (8, 20, names["model"].nq)
    assert np.ptp(names["qpos"][:, -1], axis=0).max() > 1e-3


@pytest.mark.slow
def test_start(capsys):
    names = run("index.md")
    assert "no warnings" in capsys.readouterr().out
    assert np.isfinite(names["slope"]).all()
    assert np.abs(names["slope"]).max() > 0


@pytest.mark.slow
def test_fitting(capsys):
    names = run("fitting.md")
    np.testing.assert_allclose(names["fit"].values, [0.1, 1.0], rtol=0.02)
    assert "hinge.damping" in capsys.readouterr().out
    np.testing.assert_allclose(names["better"].dof_damping, 0.1, rtol=0.02)


@pytest.mark.slow
def test_planning():
    names = run("planning.md")
    plan = names["plan"]
    assert float(plan.cost) < float(plan.history[0]) / 2
    assert jax.numpy.isfinite(plan.gains).all()
    assert names["run"].qpos.shape == (21, names["model"].nq)


@pytest.mark.slow
def test_extending():
    names = run("extending.md")
    path = names["path"]
    assert (path["ctrl"][1:] != 0).all()
    assert (path["sensordata"][2:, 2] != 0).all()
    assert 0 < abs(float(names["slope"][0])) < 10
    assert 0 < abs(float(names["balls"].qpos[2])) < 0.3
    assert abs(float(names["ring"].qpos[2]) - 0.15) < 0.02


@pytest.mark.slow
def test_viewer(tmp_path, monkeypatch):
    pytest.importorskip("embreex")
    monkeypatch.chdir(tmp_path)
    names = run("viewer.md")
    assert names["pictures"].shape == (20, 120, 160, 3)
    assert (tmp_path / "reacher.gif").exists()
