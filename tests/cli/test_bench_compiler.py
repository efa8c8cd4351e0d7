"""The table of compile times, on our own models."""

import cProfile
import json
from pathlib import Path

from benchmarks.compiler import find_models, main, measure, page
from jaxsim import load_model
from jaxsim.models import path

HUMANOID = Path(str(path("humanoid")))


def test_both_compilers_are_measured():
    found = measure(HUMANOID, 2)
    assert found["jaxsim_s"] > 0
    assert found["ratio"] == found["jaxsim_s"] / found["mujoco_s"]


def test_compiling_the_humanoid_takes_few_calls():
    """About a tenth of a second; calls of functions are counted, which do not depend on the machine."""
    load_model(HUMANOID)  # what is made once is there
    with cProfile.Profile() as profile:
        load_model(HUMANOID)
    assert sum(entry.callcount for entry in profile.getstats()) < 100_000


def test_models_of_folders_and_lists(tmp_path):
    folder = {name for name, _ in find_models(HUMANOID.parent)}
    assert folder >= {"humanoid.xml", "arm.xml"}
    (tmp_path / "part.xml").write_text("<mujocoinclude><geom/></mujocoinclude>")
    (tmp_path / "other.xml").write_text("<library/>")
    (tmp_path / "good.xml").write_text("<mujoco/>")
    assert find_models(tmp_path) == [("good.xml", tmp_path / "good.xml")]
    (tmp_path / "list.txt").write_text("good.xml\n\nsub/m.xml\n")
    assert [name for name, _ in find_models(tmp_path / "list.txt")] == ["good.xml", "sub/m.xml"]
    (tmp_path / "list.jsonl").write_text('{"file": "a.xml"}\n')
    assert find_models(tmp_path / "list.jsonl", HUMANOID.parent) == [("a.xml", HUMANOID.parent / "a.xml")]
    assert len(find_models(HUMANOID)) == 1


def test_report(tmp_path):
    (tmp_path / "bad.xml").write_text("<mujoco><worldbody><geom type='none'/></worldbody></mujoco>")
    (tmp_path / "good.xml").write_text("<mujoco/>")
    (tmp_path / "list.txt").write_text("good.xml\nbad.xml\n")
    main(tmp_path / "list.txt", repeats=1, out=tmp_path)
    report = json.loads((tmp_path / "compiler.json").read_text())
    assert [row["model"] for row in report["models"]] == ["good.xml", "bad.xml"]
    assert "error" in report["models"][1]
    text = (tmp_path / "compiler.md").read_text()
    assert text == page(report)
    assert "1 models; " in text
    assert "1 not compiled by both" in text
