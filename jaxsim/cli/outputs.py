"""Files that commands write: whether they can be written, asked before anything is computed; how far a command is."""

from __future__ import annotations

import contextlib
import importlib.util
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from jaxsim.cli.models import CommandError

__all__ = ["bar", "check_outputs", "check_pictures"]


def check_outputs(out: Path | None = None, plot: Path | None = None, video: Path | None = None) -> None:
    """Refuses what could not be written at the end.

    Args:
        out: Arrays.
        plot: Picture of a trajectory.
        video: Film.

    Raises:
        CommandError: There is no such folder, a suffix is unknown, or a package is missing.
    """
    for file in (out, plot):
        if file is not None and not file.absolute().parent.is_dir():
            raise CommandError(f"no folder {str(file.absolute().parent)!r} to write {file.name!r} into")
        if file is not None and file.is_dir():
            raise CommandError(f"{str(file)!r} is a folder; give the name of a file")
        if file is not None:
            _check_writable(file)
    for package in ("matplotlib", "embreex") if plot is not None else ():
        if importlib.util.find_spec(package) is None:
            raise CommandError(f"--plot needs {package}: pip install 'jaxsim-engine[plot]'")
    if plot is not None:
        from matplotlib.backend_bases import FigureCanvasBase

        kinds = [f".{kind}" for kind in sorted(FigureCanvasBase.get_supported_filetypes())]
        if plot.suffix.lower() not in kinds:
            raise CommandError(f"cannot draw {plot.name!r}: the suffix is one of {', '.join(kinds)}")
    if video is not None:
        check_pictures(video)


def _check_writable(file: Path) -> None:
    """Refuses a file that is not to be written, or whose folder takes no new ones.

    Raises:
        CommandError: It says which.
    """
    known = file if file.exists() else file.absolute().parent
    if not os.access(known, os.W_OK):
        raise CommandError(f"cannot write {str(file)!r}: {str(known)!r} is not writable here")


def check_pictures(file: Path) -> None:
    """Refuses an image or film that could not be drawn or written.

    Raises:
        CommandError: As of `check_outputs`.
    """
    from jaxsim.viewer.needs import needs
    from jaxsim.viewer.video import check_file

    try:
        check_file(file)
        needs("embreex", "pictures need")
    except (ModuleNotFoundError, OSError, ValueError) as error:
        raise CommandError(str(error)) from error
    _check_writable(file)


@contextlib.contextmanager
def bar(console: Any, what: str) -> Iterator[Callable[[int, int], None]]:
    """A bar on a rich console; yields what moves it: a function of how much is done, and of how much."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("[progress.description]{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console) as progress:
        task = progress.add_task(what, total=None)
        yield lambda done, total: progress.update(task, completed=done, total=total)
