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
    """Draws throughput, compile time, memory and the cost of gradients, one group of bars a case.

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
    figure = Figure(figsize=(12, 7.5), layout="constrained")
    machine = report["machine"]
    versions = ", ".join(f"{name} {v}" for name, v in machine["versions"].items() if v)
    figure.suptitle(
        f"{machine['device']}, {machine['processor']}, {machine['cores']} cores, {machine['dtype']}\n"
        f"{versions}; {machine['date']}",
        fontsize=10,
    )
    for axes, (title, value, text) in zip(figure.subplots(2, 2).flat, panels, strict=True):
        _bars(axes, report["results"], value, text)
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
    width = 0.8 / len(engines)
    for i, name in enumerate(engines):
        heights = [
            value(result["engines"][name]) if name in result["engines"] else None for result in results
        ]
        places = [k + (i - (len(engines) - 1) / 2) * width for k in range(len(results))]
        shown = [(x, h) for x, h in zip(places, heights, strict=True) if h is not None]
        if not shown:
            continue
        bars = axes.bar(*zip(*shown, strict=True), width=0.92 * width, color=_COLOURS.get(name), label=name)
        axes.bar_label(bars, [text.format(h) for _, h in shown], fontsize=8, padding=2)
    if not axes.containers:
        axes.set_axis_off()
        axes.text(0.5, 0.5, "not measured", transform=axes.transAxes, ha="center")
        return
    axes.set_xticks(range(len(results)), [f"{r['case']}\n{r['worlds']:,} worlds" for r in results])
    axes.spines[["top", "right"]].set_visible(False)
    axes.margins(y=0.15)
    axes.legend(frameon=False, fontsize=9)
