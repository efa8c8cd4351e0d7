"""Two real processes on one machine: the trajectories of one; and what is left when one of them dies."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from jaxsim.recording import Recording

ROOT = Path(__file__).parents[2]


def _launch(
    folder: Path, steps: int, processes: int, devices: int, patience: float, log: Path
) -> list[subprocess.Popen]:
    with socket.socket() as own:
        own.bind(("127.0.0.1", 0))
        port = own.getsockname()[1]
    flags = {k: v for k, v in os.environ.items() if k != "XLA_FLAGS"} | {"JAX_PLATFORMS": "cpu"}
    started = []
    for k in range(processes):
        arguments = map(str, (k, processes, port, devices, folder, steps, patience))
        with (log / f"{folder.name}-{k}").open("w") as out:
            started.append(
                subprocess.Popen(
                    [sys.executable, "-m", "tests.parallel.worker", *arguments],
                    cwd=ROOT, env=flags, stdout=out, stderr=subprocess.STDOUT,
                )
            )  # fmt: skip
    return started


def _until(log: Path, text: str) -> str:
    """What a process said, once it said this."""
    end = time.monotonic() + 240.0
    while not re.search(text, log.read_text()):
        assert time.monotonic() < end, log.read_text()
        time.sleep(0.1)
    return log.read_text()


@pytest.fixture(scope="module")
def alone(tmp_path_factory) -> tuple[Path, str]:
    """One process with four devices, and what it said."""
    folder = tmp_path_factory.mktemp("alone")
    (process,) = _launch(folder / "run", 30, 1, 4, 60.0, folder)
    process.wait(240)
    return folder / "run", (folder / "run-0").read_text()


def test_two_processes_give_the_trajectories_of_one(alone, tmp_path):
    started = _launch(tmp_path / "run", 30, 2, 2, 60.0, tmp_path)
    assert [process.wait(240) for process in started] == [0, 0]
    said = [(tmp_path / f"run-{k}").read_text() for k in range(2)]
    keys = [list(map(int, re.search(r"keys (\d+) (\d+) (\d+)", text).groups())) for text in (alone[1], *said)]
    assert keys[0][:2] == [0, 8]
    assert [k[:2] for k in keys[1:]] == [[0, 4], [4, 8]]
    assert keys[0][2] == keys[1][2] + keys[2][2]
    found, wanted = Recording.open(tmp_path / "run"), Recording.open(alone[0])
    assert found.steps == wanted.steps == 30
    # as many devices: programs of as many worlds, hence the same bits
    np.testing.assert_array_equal(found.load("qpos"), wanted.load("qpos"))


@pytest.mark.slow
def test_when_a_process_is_lost_the_other_says_so_and_the_run_goes_on(alone, tmp_path):
    folder = tmp_path / "run"
    started = _launch(folder, 2000, 2, 1, 10.0, tmp_path)
    _until(tmp_path / "run-1", "done 10\n")
    started[1].kill()
    said = _until(tmp_path / "run-0", "their process is lost")
    started[0].kill()  # JAX waits for the lost one before it ends
    for process in started:
        process.wait(60)
    step = int(re.search(r"worlds 4 to 7 have not reached step \d+ .* goes on from step (\d+)", said)[1])
    reached: dict[str, int] = {}
    for _, _, stop, *own in (path.stem.split("-") for path in folder.glob("data-*.npz")):
        reached[own[1]] = max(int(stop), reached.get(own[1], 0))
    assert len(reached) == 2
    assert min(reached.values()) == step > 0
    # killed between its trajectory of a chunk of ten and its state, a process leaves the one without the other
    assert Recording.open(folder).steps in (step, step + 10)
    (process,) = _launch(folder, step + 20, 1, 2, 60.0, tmp_path)
    assert process.wait(240) == 0
    found = Recording.open(folder)
    assert found.steps == step + 20
    wanted = Recording.open(alone[0]).load("qpos")[:, :10]
    np.testing.assert_allclose(found.load("qpos")[:, :10], wanted, atol=1e-11)
