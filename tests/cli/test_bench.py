"""The benchmark harness on models that compile fast."""

import dataclasses
import json
import lzma
import time
from pathlib import Path

import mujoco
import numpy as np
import pytest

import jaxsim
from benchmarks import device
from benchmarks.ahead import compile_ahead
from benchmarks.figure import draw
from benchmarks.run import CASES, compare_within, locate, page
from benchmarks.scenes import SCENES, installed
from jaxsim.cli.compare import compare, machine, tables
from jaxsim.cli.engines import ENGINES
from jaxsim.models import path


def test_the_cases_come_with_the_packages(tmp_path):
    for case in CASES:
        assert locate(case, tmp_path).is_file()


@pytest.mark.parametrize("case", SCENES)
def test_scenes_are_models_of_both_engines(case, tmp_path):
    try:
        path = locate(case, tmp_path)
    except FileNotFoundError as error:
        pytest.skip(str(error))
    ours, theirs = jaxsim.load_model(path), mujoco.MjModel.from_xml_path(str(path))
    assert (ours.nv, ours.ngeom, ours.nmesh) == (theirs.nv, theirs.ngeom, theirs.nmesh)
    assert ours.ngeom > 50


def test_a_package_that_is_not_there():
    with pytest.raises(
        FileNotFoundError, match=r"none\.xml comes with no_such_package, which is not installed"
    ):
        installed("no_such_package", "none.xml")
    with pytest.raises(FileNotFoundError, match=r"the installed mujoco holds no none\.xml"):
        installed("mujoco", "none.xml")


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


def test_a_peer_that_does_not_take_the_model_is_reported(tmp_path):
    file = tmp_path / "pendulum.xml"
    file.write_text(
        "<mujoco><option integrator='implicit'/><worldbody>"
        "<body><joint/><geom size='.1' pos='.3 0 0'/></body></worldbody></mujoco>"
    )
    result = compare(file, ("jaxsim", "mjx"), worlds=2, steps=2, repeats=1, gradient_worlds=1)
    assert list(result) == ["jaxsim", "mjx"]
    assert list(result["mjx"]) == ["refused"]
    rollouts, gradients = tables("pendulum", result)
    assert list(rollouts.columns[1].cells)[1] == "refused"
    assert "IMPLICIT" in rollouts.caption
    assert gradients.row_count == 1
    report = {"machine": machine(), "results": [{"case": "pendulum", "worlds": 2, "engines": result}]}
    draw(report, tmp_path / "report.png")
    assert "| mjx | refused |" in page(report, "report")
    with pytest.raises(NotImplementedError):
        compare(file, ("mjx", "jaxsim"), worlds=2, steps=2, repeats=1)


def _mjx_hangs(path, engines, say, worlds):
    """Stands for `compare`; a new process imports it."""
    say(f"{engines[0]}: compiling a step")
    if path.stem == "ends":
        raise ValueError("no such model")
    if "mjx" in engines:
        say("mjx: compiling a step")
        time.sleep(600)
    return dict.fromkeys(engines, worlds)


@pytest.mark.slow
def test_an_engine_that_hangs_is_left_out():
    said = []
    engines = ("jaxsim", "mjx", "mujoco")
    result, left_out = compare_within(20, Path("ant.xml"), engines, said.append, _mjx_hangs, worlds=3)
    assert result == {"jaxsim": 3, "mujoco": 3}
    assert list(left_out) == ["mjx"]
    assert "compiling a step" in left_out["mjx"]
    assert said == ["jaxsim: compiling a step", "mjx: compiling a step", "jaxsim: compiling a step"]
    report = {
        "machine": machine(),
        "results": [{"case": "ant", "worlds": 3, "engines": {}, "left_out": left_out}],
    }
    ours = {"steps_per_s": [1.0], "compile_s": 1.0, "memory_bytes": 0, "place": "one thread"}
    report["results"][0]["engines"]["jaxsim"] = ours
    assert "mjx is left out: no result within 20 s (compiling a step)." in page(report, "cpu")


@pytest.mark.slow
def test_nothing_is_measured_without_the_first_engine():
    with pytest.raises(RuntimeError, match=r"ends\.xml: the measurement ended without a result"):
        compare_within(60, Path("ends.xml"), ("jaxsim",), measure=_mjx_hangs, worlds=1)
    with pytest.raises(RuntimeError, match=r"ant\.xml: mjx took over 20 s \(compiling a step\)"):
        compare_within(20, Path("ant.xml"), ("mjx",), measure=_mjx_hangs, worlds=1)


def test_a_task_of_a_device():
    """What a process of it measures, and the page; a CPU has no kernels to show."""
    results = []
    for engine in ("jaxsim", "mujoco"):
        task = device.Task("cartpole", path("cartpole"), engine, 12, 5, 2, engine == "jaxsim")
        results.append({"case": task.case, "engine": engine, "worlds": task.worlds, **device.measure(task)})
    ours, theirs = results
    assert len(ours["steps_per_s"]) == len(theirs["steps_per_s"]) == 2
    assert ours["finite"]
    assert theirs["finite"]
    assert ours["kernels_ms"] == []
    left_out = {"case": "cartpole", "engine": "mjx", "worlds": 12, "left_out": "no reason."}
    kernels = ours | {"worlds": 16, "kernels_ms": [("solve_tree", 5, 0.25), ("search_line", 5, 0.125)]}
    text = device.page([left_out, *results, kernels], "name")
    assert text.count("| cartpole | 12 | jaxsim |") == 1
    assert "cartpole, mjx, 12 worlds: left out, no reason.\n" in text
    assert "16 worlds: 0.375 ms of kernels a step" in text
    assert "| solve_tree | 5 | 0.2500 |" in text


def test_a_program_that_was_compiled_before(tmp_path):
    """It does what the engine does that it was compiled from, and is measured like it."""
    task = device.Task("cartpole", path("cartpole"), "jaxsim", 12, 5, 2, kernels=False)
    compile_ahead(task, None, tmp_path / "cartpole.program")
    program = device.Program(tmp_path / "cartpole.program")
    program.load()
    assert program.run(0.0)[0] == 60
    engine = ENGINES["jaxsim"](task.path)
    engine.prepare(device.work_of(task), task.steps)
    engine.run(0.0)
    for ours, theirs in zip(program.final_state(), engine.final_state(), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-12)
    found = device.measure(dataclasses.replace(program.task, repeats=2))
    assert found["finite"]
    assert found["compile_s"] > 0
    assert len(found["steps_per_s"]) == 2
    with lzma.open(tmp_path / "cartpole.program") as stream:
        assert b"pathlib" not in stream.read()  # another version of Python may load it


@pytest.mark.slow
def test_a_device_measures_all_that_it_can(tmp_path):
    device.main(
        cases=("none.xml", "fish", str(path("cartpole"))),
        engines=("jaxsim", "mjx", "mujoco"),
        worlds=(8,),
        steps=5,
        repeats=1,
        limit=300.0,
        out=tmp_path / "new",
        name="small",
    )
    found = json.loads((tmp_path / "new" / "small.json").read_text())
    assert "neither a case" in found[0]["left_out"]
    assert sum("left_out" in r for r in found if r["case"] == str(path("cartpole"))) == 0
    results = {r["engine"]: r for r in found if r["case"] == "fish"}
    assert "not implemented" in results["mjx"]["left_out"]
    assert results["jaxsim"]["finite"]
    assert results["mujoco"]["steps_per_s"][0] > 0
    assert (tmp_path / "new" / "small.md").read_text().count("| fish | 8 |") == 2
