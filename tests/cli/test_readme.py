"""The README tells the truth: its Python runs as printed, its commands exist."""

import re
from pathlib import Path

import jax
import pytest

README = (Path(__file__).parents[2] / "README.md").read_text()


@pytest.mark.slow
def test_the_python_runs():
    names = {}
    for code in re.findall(r"```python\n(.*?)```", README, re.S):
        exec(compile(code, "README.md", "exec"), names)
    assert names["trajectory"]["qpos"].shape == (1000, 100, names["model"].nq)
    gradients = names["by_mass"], names["by_ctrl"]
    for gradient in gradients:
        assert jax.numpy.isfinite(gradient).all()
        assert abs(gradient).max() > 0
    assert names["state"].reward.shape == (64,)


def test_the_commands_are_the_ones_that_ci_runs():
    ci = (Path(__file__).parents[2] / ".ci" / "run").read_text()
    (tests,) = re.findall(r"-m (pytest .*)", README)
    assert tests.removeprefix("pytest ") in ci
