"""Runs jaxsim, MJX and the C engine side by side and saves a table, JSON and a plot.

    python -m benchmarks.run                        # everything; about half an hour on two cores
    python -m benchmarks.run --cases ant --repeats 5
    python -m benchmarks.run --cases G1 Panda clutter --gradient-worlds 0   # scenes, see benchmarks/scenes.py

On a GPU the default is 1,024, 2,048, 4,096 and 8,192 worlds, on a CPU 1,024. Close everything else first.
"""

from __future__ import annotations

import json
import multiprocessing
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import jax
import tyro
from rich.console import Console

from benchmarks.figure import draw
from benchmarks.scenes import SCENES, installed
from jaxsim.cli.compare import compare, machine, tables
from jaxsim.parallel import use_cores

__all__ = ["CASES", "compare_within", "locate", "main", "page"]

CASES = {
    "humanoid": ("mujoco", "mjx/test_data/humanoid/humanoid.xml"),
    "ant": ("gymnasium", "envs/mujoco/assets/ant.xml"),
    "cheetah": ("dm_control", "suite/cheetah.xml"),
    "quadruped": ("jaxsim", "models/quadruped.xml"),
    "own humanoid": ("jaxsim", "models/humanoid.xml"),
    "barkour": ("mujoco", "mjx/test_data/barkour_v0/assets/barkour_v0_mjx.xml"),
    "shadow hand": ("mujoco", "mjx/test_data/shadow_hand/scene_right.xml"),
    "muscle arm": ("mujoco", "mjx/test_data/actuator/arm26.xml"),
    "fish": ("dm_control", "suite/fish.xml"),
    "ten humanoids": ("mujoco", "mjx/test_data/humanoid/10_humanoids.xml"),
}
"""Model by name: the installed package that carries it and its path there."""


def locate(case: str, folder: Path) -> Path:
    """File of a case; scenes are written to a folder.

    Raises:
        FileNotFoundError: The package is not installed, or does not hold the file.
    """
    if case not in SCENES:
        return installed(*CASES[case])
    file = folder / f"{case}.xml"
    file.write_text(SCENES[case]().to_xml())
    return file


def main(
    cases: tuple[str, ...] = tuple(CASES),
    engines: tuple[str, ...] = ("jaxsim", "mjx", "mujoco"),
    worlds: tuple[int, ...] = (),
    steps: int = 50,
    repeats: int = 3,
    gradient_worlds: int = 256,
    out: Path = Path(__file__).parent / "results",
    name: str = "",
    limit: float = 900.0,
) -> None:
    """Measures every case with every number of worlds.

    Args:
        cases: Names of models or scenes.
        engines: Names of engines; ratios are of the first to the others.
        worlds: Numbers of worlds; default: 1,024, on a GPU up to 8,192.
        steps: Steps of a rollout.
        repeats: Measurements of each engine.
        gradient_worlds: Worlds of the rollout with gradient; 0: none.
        out: Folder for the results.
        name: Name of the results' files; default: the device's kind.
        limit: Seconds that one measurement may take; the engine that takes longer is left out of its case.
    """
    console = Console()
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        backend, at = pool.submit(_device).result()  # a GPU belongs to the process that measures
    worlds = worlds or ((1024,) if backend == "cpu" else (1024, 2048, 4096, 8192))
    name = name or backend
    out.mkdir(parents=True, exist_ok=True)
    report = {"machine": at, "results": []}
    for case in cases:
        for k, count in enumerate(worlds):
            with console.status(case) as status, TemporaryDirectory() as folder:
                measured, left_out = compare_within(
                    limit,
                    locate(case, Path(folder)),
                    engines,
                    say=lambda text, case=case, status=status: status.update(f"{case}: {text}"),
                    worlds=count,
                    steps=steps,
                    repeats=repeats,
                    gradient_worlds=min(gradient_worlds, count) if k == 0 else 0,
                )
            report["results"].append(
                {"case": case, "worlds": count, "steps": steps, "engines": measured, "left_out": left_out}
            )
            for engine, why in left_out.items():
                console.print(f"{case}: {engine} is left out: {why}", highlight=False)
            console.print(*tables(f"{case}, {count:,} worlds", measured))
        _save(report, out / name)
    console.print(f"saved {out / name}.json, .md and .png", highlight=False)


def _save(report: dict[str, Any], path: Path) -> None:
    """Writes what is measured so far, as JSON, Markdown and a plot."""
    path.with_name(f"{path.name}.json").write_text(json.dumps(report, indent=1) + "\n")
    path.with_name(f"{path.name}.md").write_text(page(report, path.name))
    draw(report, path.with_name(f"{path.name}.png"))


def compare_within(
    limit: float,
    path: Path,
    engines: tuple[str, ...],
    say: Callable[[str], None] = lambda text: None,
    measure: Callable[..., dict[str, Any]] = compare,
    **options: Any,
) -> tuple[dict[str, Any], dict[str, str]]:
    """`compare` in a process of its own, which a peer that hangs cannot hold up.

    Args:
        limit: Seconds without news after which the process is ended and begun again without the engine it waited for.
        path: As in `compare`.
        engines: As in `compare`.
        say: As in `compare`.
        measure: What is called there: `compare`, or a function of its arguments that a new process can import.
        options: The other arguments of `compare`.

    Returns:
        What `compare` returns, and for each engine that was left out what it was doing.

    Raises:
        RuntimeError: The first engine, or a process as a whole, gave no result.
    """
    left_out: dict[str, str] = {}
    context = multiprocessing.get_context("spawn")
    while True:
        ours, theirs = context.Pipe(duplex=False)
        kept = tuple(name for name in engines if name not in left_out)
        process = context.Process(target=_measure, args=(theirs, measure, path, kept, options), daemon=True)
        process.start()
        theirs.close()
        news: Any = f"{kept[0]}: starting"
        try:
            while isinstance(news, str) and ours.poll(limit):
                news = ours.recv()
                if isinstance(news, str):
                    say(news)
        except EOFError:
            raise RuntimeError(f"{path.name}: the measurement ended without a result ({news})") from None
        finally:
            process.kill()
            process.join()
        if not isinstance(news, str):
            return news, left_out
        name, doing = news.split(": ", 1)
        if name == kept[0]:
            raise RuntimeError(f"{path.name}: {name} took over {limit:.0f} s ({doing})")
        left_out[name] = f"no result within {limit:.0f} s ({doing})"


def _measure(
    pipe: Any,
    measure: Callable[..., dict[str, Any]],
    path: Path,
    engines: tuple[str, ...],
    options: dict[str, Any],
) -> None:
    """What the process does: sends what it is doing, then the result."""
    _start()
    pipe.send(measure(path, engines, say=pipe.send, **options))


def _start() -> None:
    """Settings of a process that computes: on a CPU each core is a device, for all engines that run on JAX."""
    jax.config.update("jax_enable_x64", False)
    use_cores()


def _device() -> tuple[str, dict[str, Any]]:
    _start()
    return jax.default_backend(), machine()


def page(report: dict[str, Any], name: str) -> str:
    """The report as Markdown."""
    at = report["machine"]
    versions = ", ".join(f"{package} {v}" for package, v in at["versions"].items())
    lines = [
        f"# jaxsim beside its peers ({name})",
        "",
        f"{at['device']}, {at['processor']}, {at['cores']} cores (load {at['load'] or 0:.0f} at the start), "
        f"{at['dtype']}, Python {at['python']}; {versions}; {at['date']}. "
        "Written by `python -m benchmarks.run`. On a CPU jaxsim's worlds lie on a device for each core "
        "(`jaxsim.parallel`), MJX's on one, which uses all cores for large operations; the C engine has a thread for "
        "each core and computes in float64. Rollouts return the state and the sensor data, as `mujoco.rollout` does.",
        "",
        f"![]({name}.png)",
    ]
    for result in report["results"]:
        for part in tables(f"{result['case']}, {result['worlds']:,} worlds", result["engines"]):
            cells = zip(*(column.cells for column in part.columns), strict=True)
            rows = [[str(column.header) for column in part.columns], ["---"] * len(part.columns), *cells]
            lines += ["", f"**{part.title}**", ""]
            lines += ["| " + " | ".join(str(cell) for cell in row) + " |" for row in rows]
            lines += ["", str(part.caption)] if part.caption else []
        lines += [f"\n{engine} is left out: {why}." for engine, why in result.get("left_out", {}).items()]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    tyro.cli(main)
