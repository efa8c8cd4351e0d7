"""What a training says: a table of numbers (CSV), the same for TensorBoard, and a learning curve."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from pathlib import Path
from typing import Any

__all__ = ["Record", "draw", "rows"]


class Record:
    """Numbers by name, a row an evaluation, in `metrics.csv` and a TensorBoard file.

    Args:
      folder: of both.
      upto: rows of a run that was interrupted are kept up to this step, or none.
    """

    def __init__(self, folder: Path, upto: int | None = None) -> None:
        from tensorboardX import SummaryWriter  # pyright: ignore[reportMissingImports]

        self._file = folder / "metrics.csv"
        self.rows = [] if upto is None else [row for row in rows(self._file) if row["steps"] <= upto]
        self._board = SummaryWriter(str(folder), purge_step=None if upto is None else upto + 1)
        self._write()

    def add(self, row: Mapping[str, Any]) -> None:
        """A row; `steps` is its place."""
        self.rows.append({name: float(x) for name, x in row.items()})
        self._write()
        for name, x in self.rows[-1].items():
            if name != "steps":
                self._board.add_scalar(name, x, int(row["steps"]))
        self._board.flush()

    def close(self) -> None:
        """No more rows."""
        self._board.close()

    def _write(self) -> None:
        names = list(dict.fromkeys(name for row in self.rows for name in row))
        with self._file.open("w", newline="") as file:
            table = csv.DictWriter(file, names, restval="")
            table.writeheader()
            table.writerows([{name: _digits(name, x) for name, x in row.items()} for row in self.rows])


def _digits(name: str, x: float) -> str:
    """A number as it is written; steps, which name checkpoints, to the last digit."""
    return f"{x:.0f}" if name == "steps" else f"{x:.8g}"


def rows(file: Path) -> list[dict[str, float]]:
    """Rows of a `metrics.csv`; what was not measured is left out."""
    with file.open(newline="") as lines:
        return [{name: float(x) for name, x in row.items() if x} for row in csv.DictReader(lines)]


def draw(file: Path, runs: Mapping[str, list[dict[str, float]]], title: str, goal: float = 0.0) -> None:
    """Draws returns over steps into an image.

    Args:
      file: .png, .svg ...
      runs: rows of each run, by its label.
      title: above.
      goal: a line at this return; 0: none.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6, 3.6), layout="constrained")
    axes = figure.subplots()
    for label, run in runs.items():
        steps = [row["steps"] for row in run]
        mean = [row["return"] for row in run]
        low = [row["return"] - row["return_deviation"] for row in run]
        high = [row["return"] + row["return_deviation"] for row in run]
        (line,) = axes.plot(steps, mean, marker=".", label=label)
        axes.fill_between(steps, low, high, color=line.get_color(), alpha=0.2, lw=0)
    if goal:
        axes.axhline(goal, color="k", lw=0.8, ls=":", label=f"goal: {goal:g}")
    axes.set(xlabel="steps of all worlds", ylabel="return of an episode", title=title)
    axes.legend(loc="lower right", frameon=False)
    figure.savefig(file, dpi=110)
