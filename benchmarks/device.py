"""Programs that are compiled all at once, and then measured one after the other: for a GPU that is lent for minutes.

    python -m benchmarks.device --limit 300                                # all cases and engines
    python -m benchmarks.device --cases humanoid G1 robot.xml --engines jaxsim --kernels
    python -m benchmarks.device --cases --programs programs/*              # compiled before, see benchmarks/ahead.py

`benchmarks.run` compares more closely, and compiles one program after the other. Here each engine of a case is a
process that compiles, says so and waits for its turn; what is not ready in time is measured as it becomes ready, and
left out in the end. Worlds start from 1,024 states of the C engine, repeated.
"""

from __future__ import annotations

import dataclasses
import itertools
import json
import lzma
import multiprocessing
import os
import pickle
import tempfile
import time
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

import jax
import numpy as np
import tyro
from jax.experimental import serialize_executable
from rich.console import Console

from benchmarks.run import CASES, locate
from benchmarks.scenes import SCENES
from jaxsim.cli.compare import machine, workload
from jaxsim.cli.engines import ENGINES, JaxEngine, Workload

__all__ = ["Program", "Task", "file_of", "main", "measure", "page", "work_of"]

_STATES = 1024
"""States that worlds start from."""


@dataclasses.dataclass(frozen=True)
class Task:
    """What a process measures.

    Attributes:
        case: Name of the case.
        path: Its MJCF file.
        engine: Name of the engine.
        worlds: Number of worlds.
        steps: Steps of a rollout, which is one call.
        repeats: Rollouts that are measured.
        kernels: Whether to add the time of each kernel of a GPU.
        gradient: Whether to measure the gradient of a rollout instead, with respect to all controls.
        program: A file of `benchmarks.ahead`, which is measured as it is.
    """

    case: str
    path: Path
    engine: str
    worlds: int
    steps: int
    repeats: int
    kernels: bool
    gradient: bool = False
    program: Path | None = None


class Program:
    """A rollout of `benchmarks.ahead`.

    Args:
        file: Where it is.

    Attributes:
        task: What it was compiled for.
    """

    def __init__(self, file: Path) -> None:
        with lzma.open(file) as stream:  # the rest, which is large, is not read yet
            self.task = Task(path=file, repeats=1, kernels=False, program=file, **pickle.load(stream))

    def load(self) -> dict[str, Any]:
        """Places it and its arguments on the device; seconds that it took to compile, and bytes of a call."""
        with lzma.open(self.task.path) as stream:
            pickle.load(stream)
            kept = pickle.load(stream)
        self._call = serialize_executable.deserialize_and_load(
            *kept["program"], execution_devices=jax.devices()[:1]
        )
        self._args = jax.tree.map(jax.device_put, kept["args"])
        return kept["found"]

    def run(self, budget: float) -> tuple[int, float]:
        """See `Engine.run`; always runs to the end."""
        start = time.perf_counter()
        self._final = jax.block_until_ready(self._call(*self._args))
        return self.task.worlds * self.task.steps, time.perf_counter() - start

    def final_state(self) -> tuple[np.ndarray, ...]:
        """See `Engine.final_state`."""
        return tuple(np.asarray(self._final[name]) for name in ("qpos", "qvel", "act"))


def main(
    cases: tuple[str, ...] = (*CASES, *SCENES),
    engines: tuple[str, ...] = ("jaxsim", "mjx", "mujoco"),
    worlds: tuple[int, ...] = (4096,),
    steps: int = 50,
    repeats: int = 3,
    kernels: bool = False,
    gradients: bool = False,
    limit: float = 600.0,
    programs: tuple[Path, ...] = (),
    out: Path = Path(__file__).parent / "results",
    name: str = "device",
) -> None:
    """Measures every case with every engine and number of worlds.

    Args:
        cases: Names of models or scenes, or MJCF files.
        engines: Names of engines.
        worlds: Numbers of worlds.
        steps: Steps of a rollout.
        repeats: Rollouts that are measured.
        kernels: Whether to add the time of each kernel of a GPU, for jaxsim.
        gradients: Whether to measure the gradients of rollouts too, for jaxsim.
        limit: Seconds after which what is not measured is left out; after half of them measuring begins.
        programs: Files of `benchmarks.ahead`, which are measured too.
        out: Folder for the results.
        name: Name of the results' files.
    """
    console, begin = Console(), time.monotonic()
    os.environ["XLA_PYTHON_CLIENT_PREALLOCATE"] = "false"  # processes share the device's memory
    results: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as folder:
        tasks: list[Task] = []
        for case in cases:
            runs = list(itertools.product(engines, worlds))
            try:
                file = file_of(case, Path(folder))
            except FileNotFoundError as error:
                results += [{"case": case, "engine": e, "worlds": n, "left_out": str(error)} for e, n in runs]
                continue
            tasks += [Task(case, file, e, n, steps, repeats, kernels and e == "jaxsim") for e, n in runs]
            if gradients and "jaxsim" in engines:
                tasks += [Task(case, file, "jaxsim", n, steps, repeats, False, True) for n in worlds]
        tasks += [
            dataclasses.replace(Program(file).task, repeats=repeats, kernels=kernels) for file in programs
        ]
        for task, found in _measured(tasks, begin, limit):
            results.append(
                {
                    "case": task.case,
                    "engine": task.engine,
                    "worlds": task.worlds,
                    "gradient": task.gradient,
                    **found,
                }
            )
            console.print(_line(results[-1]), highlight=False)
            out.mkdir(parents=True, exist_ok=True)
            (out / f"{name}.json").write_text(json.dumps(results, indent=1) + "\n")
            (out / f"{name}.md").write_text(page(results, name))


def file_of(case: str, folder: Path) -> Path:
    """The MJCF file of a case; scenes are written to a folder."""
    if case in CASES or case in SCENES:
        return locate(case, folder)
    if not Path(case).is_file():
        raise FileNotFoundError(f"{case} is neither a case of the benchmarks nor a file")
    return Path(case)


def _measured(tasks: list[Task], begin: float, limit: float) -> Any:
    """Pairs of a task and what was found, or why nothing was, in the order in which they are measured."""
    context = multiprocessing.get_context("spawn")
    waiting: dict[Connection, Task] = {}
    processes = []
    for task in tasks:
        ours, theirs = context.Pipe()
        processes.append(context.Process(target=_work, args=(theirs, task), daemon=True))
        processes[-1].start()
        theirs.close()
        waiting[ours] = task
    ready: list[Connection] = []
    try:
        while waiting and time.monotonic() - begin < limit:
            compiling = len(ready) < len(waiting) and time.monotonic() - begin < limit / 2
            quiet = [p for p in waiting if p not in ready]
            ready += [p for p in quiet if p in wait(quiet, timeout=0.2)]
            # the C engine runs on the cores that others compile on
            able = [p for p in ready if waiting[p].engine != "mujoco" or len(ready) == len(waiting)]
            if compiling or not able:
                continue
            pipe = able[0]
            ready.remove(pipe)
            task = waiting.pop(pipe)
            try:
                found = pipe.recv()
                if not found:
                    pipe.send(None)
                    found = pipe.recv()
            except EOFError:
                found = {"left_out": "its process ended"}
            yield task, found
        for task in waiting.values():
            yield task, {"left_out": f"not compiled in {limit:.0f} s"}
    finally:
        for process in processes:
            process.kill()
            process.join()


def _work(pipe: Connection, task: Task) -> None:
    """What a process does: compiles, says so by an empty dictionary, measures when it is told to."""

    def ready() -> None:
        pipe.send({})
        pipe.recv()

    jax.config.update("jax_enable_x64", False)
    try:
        pipe.send(measure(task, ready))
    except (NotImplementedError, ValueError) as error:
        pipe.send({"left_out": str(error)})


def measure(task: Task, ready: Any = lambda: None) -> dict[str, Any]:
    """Compiles a task's rollout and measures it.

    Args:
        task: What to measure.
        ready: Called between the two.

    Returns:
        Machine, seconds to lower and compile, bytes of a call, steps a second of each rollout, and with `kernels` the
        time of the device and of each kernel, ms a step; with `gradient` steps a second with the gradient, and beside
        them those of the same rollout without.
    """
    engine: Any
    if task.program is not None:
        engine = Program(task.program)
        found = engine.load()
    else:
        engine, work = ENGINES[task.engine](task.path), work_of(task)
        if task.gradient:
            return _gradient(engine, work, task.repeats, ready)
        start = time.perf_counter()
        found = {"memory_bytes": engine.prepare(work, task.steps)}
        found["compile_s"] = time.perf_counter() - start
    found["machine"] = machine()
    ready()
    engine.run(0.0)
    rates = [engine.run(float("inf")) for _ in range(task.repeats)]
    found["steps_per_s"] = [count / seconds for count, seconds in rates]
    found["finite"] = bool(np.isfinite(engine.final_state()[0]).all())
    if task.kernels and isinstance(engine, JaxEngine | Program):
        found["kernels_ms"] = _kernels(engine, task.steps)
    return found


def work_of(task: Task) -> Workload:
    """The states that a task's worlds start from, and their controls."""
    few = workload(task.path, ENGINES["mujoco"](task.path), min(_STATES, task.worlds), task.steps, 0)
    times = -(-task.worlds // few.worlds)
    qpos, qvel, act = (np.concatenate([x] * times) for x in (few.qpos, few.qvel, few.act))
    return Workload(task.path, qpos, qvel, act, np.concatenate([few.ctrl] * times, 1)).head(task.worlds)


def _gradient(engine: Any, work: Workload, repeats: int, ready: Any) -> dict[str, Any]:
    """What `measure` finds of a rollout's gradient."""
    rollout, both, _, memory, seconds = engine.gradient(work)
    found = {"memory_bytes": memory, "compile_s": seconds, "machine": machine()}
    ready()
    for name, run in (("rollout_steps_per_s", rollout), ("steps_per_s", both)):
        times = []
        for _ in range(repeats + 1):
            start = time.perf_counter()
            run()
            times.append(time.perf_counter() - start)
        found[name] = [work.worlds * work.steps / t for t in times[1:]]
    return found


def _kernels(engine: JaxEngine | Program, steps: int) -> list[tuple[str, int, float]]:
    """Name, number of runs and ms a step of each kernel of a rollout, the longest first; none of a CPU's."""
    total: dict[str, list[float]] = {}
    with tempfile.TemporaryDirectory() as folder:
        with jax.profiler.trace(folder):
            engine.run(0.0)
        for file in Path(folder).rglob("*.xplane.pb"):
            planes: Any = jax.profiler.ProfileData.from_file(str(file)).planes
            streams = [line for p in planes if "GPU" in p.name for line in p.lines if "Stream" in line.name]
            for event in (event for stream in streams for event in stream.events):
                entry = total.setdefault(event.name, [0, 0.0])
                entry[0] += 1
                entry[1] += event.duration_ns / 1e6 / steps
    return sorted(((name, int(n), ms) for name, (n, ms) in total.items()), key=lambda x: -x[2])


def _line(result: dict[str, Any]) -> str:
    what = " gradient" if result.get("gradient") else ""
    at = f"{result['case']}, {result['engine']}{what}, {result['worlds']:,} worlds: "
    if "left_out" in result:
        return at + f"left out, {result['left_out'].rstrip('.')}"
    return at + f"{max(result['steps_per_s']):,.0f} steps/s"


def page(results: list[dict[str, Any]], name: str) -> str:
    """The results as Markdown: the best of each task's rollouts."""
    first = list(dict.fromkeys(r["case"] for r in results))
    results = sorted(
        results, key=lambda r: (first.index(r["case"]), r["worlds"], list(ENGINES).index(r["engine"]))
    )
    gradients = [r for r in results if r.get("gradient") and "left_out" not in r]
    measured = [r for r in results if not r.get("gradient") and "left_out" not in r]
    lines = [f"# Engines on a device ({name})", ""]
    if measured:
        on = next((r["machine"] for r in measured if r["engine"] != "mujoco"), measured[0]["machine"])
        versions = ", ".join(f"{package} {v}" for package, v in on["versions"].items())
        dates = sorted(r["machine"]["date"] for r in measured)
        date = " to ".join(dict.fromkeys([dates[0], dates[-1]]))
        lines += [
            f"{on['device']}, {on['cores']} cores for the C engine, {on['dtype']}; {versions}; {date}. "
            "Written by `python -m benchmarks.device`.",
            "",
        ]
    lines += [
        "| case | worlds | engine | steps/s | jaxsim is | memory |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    ours = {(r["case"], r["worlds"]): max(r["steps_per_s"]) for r in measured if r["engine"] == "jaxsim"}
    for r in measured:
        rate, own = max(r["steps_per_s"]), ours.get((r["case"], r["worlds"]))
        cells = [
            r["case"],
            f"{r['worlds']:,}",
            r["engine"],
            f"{rate:,.0f}",
            f"{own / rate:.2f} x" if own else "",
        ]
        memory = f"{r['memory_bytes'] / 1e6:,.1f} MB" if r["memory_bytes"] else "-"
        lines.append(f"| {' | '.join(cells)} | {memory} |")
    lines += [f"\n{_line(r)}." for r in results if "left_out" in r]
    if gradients:
        lines += ["", "Gradients of jaxsim's rollouts with respect to all controls:", ""]
        lines += ["| case | worlds | steps/s | times the rollout | memory | compiled in |"]
        lines += ["| --- | --- | --- | --- | --- | --- |"]
    for r in gradients:
        rate = max(r["steps_per_s"])
        ratio = max(r["rollout_steps_per_s"]) / rate
        memory = f"{r['memory_bytes'] / 1e6:,.1f} MB"
        lines.append(
            f"| {r['case']} | {r['worlds']:,} | {rate:,.0f} | {ratio:.2f} x | {memory} | {r['compile_s']:.0f} s |"
        )
    for r in measured:
        if r.get("kernels_ms"):
            whole = sum(ms for _, _, ms in r["kernels_ms"])
            lines += ["", f"**{r['case']}, {r['worlds']:,} worlds: {whole:.3f} ms of kernels a step**", ""]
            lines += ["| kernel | runs | ms a step |", "| --- | --- | --- |"]
            lines += [f"| {kernel} | {runs} | {ms:.4f} |" for kernel, runs, ms in r["kernels_ms"][:15]]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    tyro.cli(main)
