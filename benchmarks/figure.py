"""The picture of a benchmark report."""

from __future__ import annotations

import statistics
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

__all__ = ["draw"]

_COLOURS = {"jaxsim": "#2f6db5", "mjx": "#dd6b3f", "mujoco": "#6b7480"}


def draw(report: dict[str, Any], file: Path) -> None:
    """Draws throughput, compile time, memory and the cost of gradients, one group of bars a case from top to bottom.

    Args:
        report: What `benchmarks.run` saves.
        file: Where to write.
    """
    panels = (
        ("steps per second, higher is better", _speed, "{:,.0f}"),
        ("cold compile of jit(step), s", _compile, "{:.1f}"),
        ("memory of a rollout, MB", _memory, "{:,.0f}"),
        ("forward + backward over forward", _gradient, "{:.1f} x"),
    )
    groups = len(report["results"])
    figure = Figure(figsize=(12, 3.0 + 0.9 * max(groups, 4)), layout="constrained")
    machine = report["machine"]
    versions = ", ".join(f"{name} {v}" for name, v in machine["versions"].items())
    figure.suptitle(
        f"{machine['device']}, {machine['processor']}, {machine['cores']} cores, {machine['dtype']}\n"
        f"{versions}; {machine['date']}",
        fontsize=10,
    )
    for axes, (title, value, text) in zip(figure.subplots(2, 2).flat, panels, strict=True):
        _bars(axes, report["results"], value, text)
        if value is _speed:  # from hundreds to a million
            axes.set_xscale("log")
        axes.set_title(title, loc="left", fontsize=11)
    figure.savefig(file, dpi=110)


def _speed(measured: dict[str, Any]) -> float | None:
    return statistics.median(measured["steps_per_s"])


def _compile(measured: dict[str, Any]) -> float | None:
    return measured["compile_s"]


def _memory(measured: dict[str, Any]) -> float | None:
    return measured["memory_bytes"] / 1e6


def _gradient(measured: dict[str, Any]) -> float | None:
    gradient = measured.get("gradient", {})
    if "gradient_s" not in gradient:
        return None
    return statistics.median(gradient["gradient_s"]) / statistics.median(gradient["forward_s"])


def _bars(axes: Axes, results: list[dict[str, Any]], value: Any, text: str) -> None:
    engines = list(dict.fromkeys(name for result in results for name in result["engines"]))
    height = 0.8 / len(engines)
    for i, name in enumerate(engines):
        measured = [result["engines"].get(name, {"refused": ""}) for result in results]
        lengths = [None if "refused" in own else value(own) for own in measured]
        places = [k + (i - (len(engines) - 1) / 2) * height for k in range(len(results))]
        shown = [(y, x) for y, x in zip(places, lengths, strict=True) if x is not None]
        if not shown:
            continue
        bars = axes.barh(
            *zip(*shown, strict=True), height=0.92 * height, color=_COLOURS.get(name), label=name
        )
        axes.bar_label(bars, [text.format(x) for _, x in shown], fontsize=8, padding=2)
    if not axes.containers:
        axes.set_axis_off()
        axes.text(0.5, 0.5, "not measured", transform=axes.transAxes, ha="center")
        return
    same = len({r["worlds"] for r in results}) == 1
    names = [r["case"] if same else f"{r['case']}, {r['worlds']:,} worlds" for r in results]
    axes.set_yticks(range(len(results)), names)
    axes.invert_yaxis()
    axes.spines[["top", "right"]].set_visible(False)
    axes.margins(x=0.15)
    axes.legend(frameon=False, fontsize=9)
