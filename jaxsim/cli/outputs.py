"""Files that commands write: whether they can be written, asked before anything is computed."""

from __future__ import annotations

import importlib.util
from pathlib import Path

from jaxsim.cli.models import CommandError

__all__ = ["check_outputs"]


def check_outputs(out: Path | None = None, plot: Path | None = None, video: Path | None = None) -> None:
    """Refuses what could not be written at the end.

    Args:
        out: Arrays.
        plot: Picture of a trajectory.
        video: Film.

    Raises:
        CommandError: There is no such folder, a suffix is unknown, or a package is missing.
    """
    from jaxsim.viewer.video import check_file

    for file in (out, plot):
        if file is not None and not file.absolute().parent.is_dir():
            raise CommandError(f"no folder {str(file.absolute().parent)!r} to write {file.name!r} into")
    needed = [("plot", "matplotlib"), ("plot", "embreex")] if plot is not None else []
    needed += [("video", "embreex")] if video is not None else []
    for option, package in needed:
        if importlib.util.find_spec(package) is None:
            raise CommandError(f"--{option} needs {package}: pip install 'jaxsim-engine[plot]'")
    try:
        if video is not None:
            check_file(video)
    except (ModuleNotFoundError, OSError, ValueError) as error:
        raise CommandError(str(error)) from error
