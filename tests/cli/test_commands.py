"""The command line: what it prints, writes and refuses."""

import importlib.util
import re
import runpy
import sys

import numpy as np
import pytest
from PIL import Image

from jaxsim import load_model
from jaxsim.cli import main
from jaxsim.recording import Recording

SLIDER = """<mujoco model="slider"><worldbody><body name="block"><joint name="slide" type="slide" axis="1 0 0"/>
<geom size="0.1"/></body></worldbody><actuator><motor joint="slide"/></actuator></mujoco>"""


@pytest.fixture(autouse=True)
def _wide_terminal(monkeypatch):
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.setenv("TERM", "dumb")


@pytest.fixture
def slider(tmp_path):
    file = tmp_path / "slider.xml"
    file.write_text(SLIDER)
    return str(file)


def refused(args, capsys):
    """The error that a command ends with; it must exit with code 2 and show no traceback."""
    with pytest.raises(SystemExit) as caught:
        main(args)
    assert caught.value.code == 2
    error = capsys.readouterr().err
    assert "Traceback" not in error
    return error


def test_rollout_prints_a_summary_and_writes_trajectories(slider, tmp_path, capsys):
    out = tmp_path / "traj.npz"
    main(["rollout", slider, "--worlds", "3", "--steps", "20", "--seed", "7", "--out", str(out)])
    text = capsys.readouterr().out
    for row in ("speed", "realtime factor", "compile", "contacts used", "contacts left out", "non-finite"):
        assert re.search(rf"{row}.*\d", text), row
    with np.load(out) as saved:
        assert saved["qpos"].shape == (3, 20, 1)
        assert saved["qvel"].shape == (3, 20, 1)
        assert saved["sensordata"].shape == (3, 20, 0)
        assert saved["time"][-1] == pytest.approx(20 * 0.002)
        assert not saved["warning"].any()
        assert np.ptp(saved["qpos"][:, -1]) > 0


def test_the_package_is_the_command(slider, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["jaxsim", "info", slider])
    runpy.run_module("jaxsim", run_name="__main__")
    assert re.search(r"nq\s+1", capsys.readouterr().out)


def test_the_seed_decides(slider, tmp_path):
    runs = []
    for k, seed in enumerate("112"):
        out = tmp_path / f"{k}.npz"
        main(["rollout", slider, "--worlds", "2", "--steps", "5", "--seed", seed, "--out", str(out)])
        with np.load(out) as saved:
            runs.append(saved["qpos"])
    np.testing.assert_array_equal(runs[0], runs[1])
    assert not np.array_equal(runs[0], runs[2])


def test_rollout_records_what_it_would_have_returned(slider, tmp_path, capsys):
    out, folder = tmp_path / "traj.npz", tmp_path / "run"
    main(["rollout", slider, "--worlds", "2", "--steps", "220", "--out", str(out)])
    main(["rollout", slider, "--worlds", "2", "--steps", "60", "--record", str(folder)])
    main(["rollout", slider, "--worlds", "2", "--steps", "220", "--record", str(folder)])
    said = capsys.readouterr().out
    assert "220 steps of 2 worlds" in said
    for row in (
        r"contacts at the end.* of \d+ slots",
        r"not converged in \d+ iterations.*0 worlds\W+non-finite.*0 worlds\W+\d+ steps of",
    ):
        assert len(re.findall(row, said)) == 2, row
    assert len(re.findall(r"speed, with writing.*\d steps/s", said)) == 1  # the first was too short
    with np.load(out) as saved:
        np.testing.assert_allclose(Recording.open(folder).load("qpos"), saved["qpos"], atol=1e-9)
    other = ["rollout", slider, "--worlds", "3", "--steps", "220", "--record", str(folder)]
    assert "another worlds" in refused(other, capsys)
    assert "nothing in memory" in refused([*other, "--out", str(out)], capsys)


def test_rollout_draws(slider, tmp_path):
    plot = tmp_path / "plot.png"
    main(["rollout", slider, "--worlds", "2", "--steps", "10", "--plot", str(plot)])
    with Image.open(plot) as image:
        assert min(image.size) > 500


def test_names_are_no_markup(tmp_path, capsys):
    file = tmp_path / "[a].xml"
    file.write_text(SLIDER.replace('model="slider"', 'model="[/b] [red]x"'))
    main(["info", str(file)])
    said = capsys.readouterr().out
    assert "[/b] [red]x" in said
    assert "[a].xml" in said
    main(["render", str(file), "--out", str(tmp_path / "[b].png"), "--size", "8", "8"])
    assert "[b].png" in capsys.readouterr().out


def test_info_tells_contents_and_buffers(capsys):
    main(["info", "quadruped"])
    text = capsys.readouterr().out
    for row in (
        r"bodies\s+13",
        r"joints, hinge\s+12",
        r"nq\s+19",
        r"contact slots\s+\d",
        r"keyframes\s+home",
    ):
        assert re.search(row, text), row


def test_benchmark_prints_a_table(slider, capsys):
    main(["benchmark", slider, "--peers", "mujoco", "--worlds", "4", "--steps", "10", "--repeats", "1"])
    text = capsys.readouterr().out
    assert re.search(r"jaxsim.*1.00 x.*4 devices", text)
    assert re.search(r"mujoco.*\d threads?", text)


@pytest.mark.parametrize("command", ["rollout", "info", "benchmark"])
def test_an_unknown_model_is_refused(command, capsys):
    assert "bundled models: arm, cartpole" in refused([command, "nosuch"], capsys)


@pytest.mark.parametrize("command", ["rollout", "info", "benchmark"])
def test_a_broken_model_is_refused_with_its_line(command, tmp_path, capsys):
    file = tmp_path / "broken.xml"
    file.write_text("<mujoco>\n <worldbody>\n  <goem/>\n </worldbody>\n</mujoco>")
    error = refused([command, str(file)], capsys)
    assert "broken.xml" in error
    assert ":3:" in error
    assert "goem" in error


def test_bad_arguments_are_refused(slider, tmp_path, capsys):
    assert "at least 1" in refused(["rollout", slider, "--worlds", "0"], capsys)
    assert "no folder" in refused(["rollout", slider, "--out", str(tmp_path / "no" / "t.npz")], capsys)
    assert "is a folder" in refused(["rollout", slider, "--out", str(tmp_path)], capsys)
    assert "too long" in refused(["rollout", slider, "--out", str(tmp_path / ("t" * 300))], capsys)
    assert "a seed is 0 or more" in refused(["rollout", slider, "--seed", "-1"], capsys)
    assert "suffix is one of .avif" in refused(["rollout", slider, "--plot", str(tmp_path / "p.xyz")], capsys)
    (tmp_path / "t.npz").write_bytes(b"no archive")
    assert "is no .npz file" in refused(["render", slider, "--trajectory", str(tmp_path / "t.npz")], capsys)
    (tmp_path / "p.png").mkdir()
    assert "is a folder" in refused(["render", slider, "--out", str(tmp_path / "p.png")], capsys)
    assert "at least 1" in refused(["benchmark", slider, "--worlds", "0"], capsys)
    assert "peers are mjx, mujoco" in refused(["benchmark", slider, "--peers", "bullet"], capsys)
    refused(["fly", slider], capsys)
    file = tmp_path / "binary.xml"
    file.write_bytes(bytes(range(256)))
    refused(["info", str(file)], capsys)


def test_a_missing_matplotlib_is_found_before_the_rollout(slider, tmp_path, capsys, monkeypatch):
    found = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name: None if name == "matplotlib" else found(name)
    )
    monkeypatch.setitem(
        main.__globals__["rollout"].__globals__, "simulate", lambda *_: pytest.fail("a rollout was started")
    )
    error = refused(["rollout", slider, "--plot", str(tmp_path / "plot.png")], capsys)
    assert "pip install 'jaxsim-engine[plot]'" in error


def crowd(sizes=""):
    """Twenty balls in a bowl of walls: more candidate points than get slots of their own."""
    balls = "".join(
        f'<body pos="{x / 4} {y / 4} {0.3 + z / 4}"><freejoint/><geom size=".1"/></body>'
        for x in range(3)
        for y in range(3)
        for z in range(3)
    )
    return f"""<mujoco model="crowd">{sizes}<worldbody><geom type="plane" size="5 5 1"/>
      {balls}</worldbody></mujoco>"""


@pytest.mark.slow
def test_tune_finds_sizes_that_hold(tmp_path, capsys):
    file, out = tmp_path / "crowd.xml", tmp_path / "sizes.xml"
    file.write_text(crowd('<custom><text name="max_geom_pairs" data="sphere sphere 300"/></custom>'))
    args = ["--worlds", "2", "--steps", "10"]
    main(["tune", str(file), *args, "--out", str(out)])
    text = capsys.readouterr().out
    row = re.search(r"contact slots\W+(\d+)\W+(\d+)\W+(\d+)", text)
    assert row, text
    now, seen, enough = map(int, row.groups())
    assert 0 < seen <= enough < now
    assert f'<size nconmax="{enough}"/>' in out.read_text()
    near = re.search(r"near pairs, sphere sphere\W+(\d+)\W+(\d+)\W+(\d+)", text)
    assert near, text
    assert int(near[2]) <= int(near[3]) < int(near[1])

    # the written file is what a model includes, and the loader reads it
    file.write_text(crowd('<include file="sizes.xml"/>'))
    model = load_model(file)
    assert model.nconmax == enough
    assert f"sphere sphere {near[3]}" in model.max_geom_pairs


def test_an_interrupted_command_says_so(slider, tmp_path, monkeypatch, capsys):
    def interrupted(*args, **options):
        raise KeyboardInterrupt

    ended = []
    monkeypatch.setattr(sys.modules["jaxsim.cli.rollout"], "load", interrupted)
    monkeypatch.setattr("os._exit", ended.append)
    for name in ("use_cores", "keep_programs"):  # they would change the suite's settings
        monkeypatch.setattr(sys.modules["jaxsim.cli"], name, lambda: None)
    monkeypatch.setattr(sys, "argv", ["jaxsim", "rollout", slider, "--record", str(tmp_path / "run")])
    main()
    assert ended == [130]
    assert "interrupted; the same command goes on where it stopped" in capsys.readouterr().err


def test_files_that_are_not_to_be_written(slider, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("os.access", lambda path, mode: False)
    assert "is not writable here" in refused(["rollout", slider, "--out", str(tmp_path / "t.npz")], capsys)
    assert "is not writable here" in refused(["render", slider, "--out", str(tmp_path / "t.png")], capsys)


@pytest.mark.parametrize(
    ("option", "message"),
    [
        (["--port", "99999"], "port 99999: between 0 and 65535"),
        (["--serve", "99999"], "port 99999: between 0 and 65535"),
        (["--host", "192.0.2.1"], "cannot listen at 192.0.2.1"),
    ],
)
def test_addresses_where_nobody_can_listen(slider, option, message, capsys):
    pytest.importorskip("viser")
    assert message in refused(["view", slider, *option], capsys)


def test_tune_refuses_what_it_cannot_do(slider, tmp_path, capsys):
    assert "at least 1" in refused(["tune", slider, "--worlds", "0"], capsys)
    assert "no folder" in refused(["tune", slider, "--out", str(tmp_path / "no" / "x.xml")], capsys)
