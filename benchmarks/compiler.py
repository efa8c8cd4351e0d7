"""Measures how long models take to compile, beside the C compiler, and saves a table and JSON.

    python -m benchmarks.compiler                     # the models of the installed packages that the tests use
    python -m benchmarks.compiler FOLDER              # every model below a folder that the C compiler accepts
    python -m benchmarks.compiler LIST --root FOLDER  # the files of a list: a path a line, or JSON lines with "file"

Times are CPU seconds of the best of a few runs, imports apart; the C compiler's cache of assets is emptied before
every run.
"""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Callable, Iterator
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import tyro
from rich.progress import track

import jaxsim
from jaxsim.cli.compare import machine

__all__ = ["PACKAGES", "find_models", "main", "measure", "page"]

PACKAGES = ("mujoco", "gymnasium", "dm_control")
"""Packages whose models are measured if none are named."""

ENOUGH = 3.0
"""CPU seconds of one model after which it is not compiled again."""


def find_models(source: Path | None, root: Path | None = None) -> list[tuple[str, Path]]:
    """Names and paths of the models of a folder, a list or the installed packages.

    Args:
        source: Folder, list or model; None: the installed packages.
        root: Folder that the paths of a list start from; default: the list's own.
    """
    if source is None:
        found = [spec for name in PACKAGES if (spec := find_spec(name)) and spec.origin]
        folders = [Path(str(spec.origin)).parent for spec in found]
        return [pair for folder in folders for pair in _below(folder, folder.parent)]
    if source.is_dir():
        return list(_below(source, source))
    if source.suffix in (".xml", ".urdf"):
        return [(source.name, source)]
    lines = [line for line in source.read_text().splitlines() if line.strip()]
    names = [json.loads(line)["file"] if line.startswith("{") else line.strip() for line in lines]
    return [(name, (root or source.parent) / name) for name in names]


def _below(folder: Path, root: Path) -> Iterator[tuple[str, Path]]:
    """The files that stand alone as models: others are parts of one."""
    mujoco: Any = import_module("mujoco")
    for path in sorted([*folder.rglob("*.xml"), *folder.rglob("*.urdf")]):
        head = path.read_bytes()
        if b"<mujoco" not in head and b"<robot" not in head:
            continue
        try:
            mujoco.MjModel.from_xml_path(str(path))
        except ValueError:
            continue
        yield str(path.relative_to(root)), path


def measure(path: Path, repeats: int) -> dict[str, Any]:
    """CPU seconds of both compilers on one model; `error` says why there are none."""
    mujoco: Any = import_module("mujoco")

    def theirs() -> None:
        mujoco.mj_clearCache(mujoco.mj_getCache())
        mujoco.MjModel.from_xml_path(str(path))

    try:
        c, ours = _best(theirs, repeats), _best(lambda: jaxsim.load_model(path), repeats)
    except (ValueError, jaxsim.MjcfError) as error:
        return {"error": str(error).splitlines()[0]}
    return {"mujoco_s": c, "jaxsim_s": ours, "ratio": ours / c}


def _best(run: Callable[[], Any], repeats: int) -> float:
    times: list[float] = []
    while len(times) < repeats and sum(times) < ENOUGH:
        start = time.process_time()
        run()
        times.append(time.process_time() - start)
    return min(times)


def page(report: dict[str, Any], slowest: int = 20) -> str:
    """The report as Markdown."""
    at, rows = report["machine"], [row for row in report["models"] if "ratio" in row]
    refused = [row for row in report["models"] if "error" in row]
    ratios, times = [row["ratio"] for row in rows], [row["jaxsim_s"] for row in rows]
    versions = ", ".join(
        f"{name} {at['versions'][name]}" for name in ("jaxsim-engine", "mujoco") if name in at["versions"]
    )
    lines = [
        "# Compile time beside the C compiler",
        "",
        f"{at['processor']}, {at['cores']} cores (load {at['load'] or 0:.0f} at the start), Python {at['python']}; "
        f"{versions}; {at['date']}. CPU seconds, best of {report['repeats']} or of {ENOUGH:.0f} s; "
        "written by `python -m benchmarks.compiler`.",
        "",
        "| | median | mean | largest |",
        "| --- | --- | --- | --- |",
        _summary("jaxsim, s", times),
        _summary("MuJoCo, s", [row["mujoco_s"] for row in rows]),
        _summary("ratio", ratios),
        "",
        f"{len(rows)} models; {sum(r <= 3 for r in ratios)} within 3 times the C compiler's time, "
        f"{sum(t < 0.1 for t in times)} under 0.1 s, {sum(t > 20 for t in times)} over 20 s"
        + (f"; {len(refused)} not compiled by both." if refused else "."),
        "",
        f"**The {min(slowest, len(rows))} slowest**",
        "",
        "| model | jaxsim, s | MuJoCo, s | ratio |",
        "| --- | --- | --- | --- |",
    ]
    for row in sorted(rows, key=lambda row: -row["jaxsim_s"])[:slowest]:
        lines.append(
            f"| {row['model']} | {row['jaxsim_s']:.2f} | {row['mujoco_s']:.3f} | {row['ratio']:.1f} |"
        )
    return "\n".join(lines) + "\n"


def _summary(what: str, values: list[float]) -> str:
    numbers = (statistics.median(values), statistics.fmean(values), max(values))
    return f"| {what} | " + " | ".join(f"{x:.3g}" for x in numbers) + " |"


def main(
    source: tyro.conf.Positional[Path | None] = None,
    root: Path | None = None,
    repeats: int = 3,
    out: Path = Path(__file__).parent / "results",
    name: str = "compiler",
) -> None:
    """Measures every model and saves the results.

    Args:
        source: Folder, list or model; default: models of the installed packages.
        root: Folder that the paths of a list start from; default: the list's own.
        repeats: Runs of each compiler; the best counts.
        out: Folder for the results.
        name: Name of the results' files.
    """
    at = machine()
    models = find_models(source, root)
    rows = [{"model": model, **measure(path, repeats)} for model, path in track(models, "compiling")]
    report = {"machine": at, "repeats": repeats, "models": rows}
    out.mkdir(parents=True, exist_ok=True)
    (out / f"{name}.json").write_text(json.dumps(report, indent=1) + "\n")
    (out / f"{name}.md").write_text(page(report))
    print(page(report))


if __name__ == "__main__":
    tyro.cli(main)
