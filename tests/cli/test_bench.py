"""The benchmark harness on models that compile fast."""

import json

import numpy as np
import pytest

from benchmarks.figure import draw
from benchmarks.run import CASES, locate, page
from jaxsim.cli.compare import compare, machine, tables
from jaxsim.models import path


def test_the_cases_come_with_the_packages():
    for case in CASES:
        assert locate(case).is_file()


@pytest.mark.slow
def test_engines_run_the_same_work(tmp_path):
    result = compare(
        path("cartpole"),
        ("jaxsim", "mjx", "mujoco"),
        worlds=8,
        steps=20,
        repeats=2,
        gradient_worlds=2,
    )
    assert list(result) == ["jaxsim", "mjx", "mujoco"]
    for name, measured in result.items():
        assert measured["steps_done"] == 20
        assert len(measured["steps_per_s"]) == 2
        assert measured["memory_bytes"] > 0
        if name != "mujoco":
            # smooth and in float64: only rounding separates the engines
            assert measured["qpos_difference"] < 1e-9
            assert measured["compile_s"] > 0
    assert result["jaxsim"]["gradient"]["finite"]
    assert result["jaxsim"]["gradient"]["gradient_bytes"] > 0
    report = {
        "machine": machine(),
        "results": [{"case": "cartpole", "worlds": 8, "steps": 20, "engines": result}],
    }
    assert np.isfinite(json.loads(json.dumps(report))["results"][0]["engines"]["jaxsim"]["steps_per_s"]).all()
    draw(report, tmp_path / "report.png")
    assert (tmp_path / "report.png").stat().st_size > 10_000
    assert [table.row_count for table in tables("cartpole", result)] == [3, 2]
    text = page(report, "report")
    assert text.count("| jaxsim |") == 2
    assert "![](report.png)" in text
