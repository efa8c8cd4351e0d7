"""The command `jaxsim`: roll out a model, draw it, say what is in it, measure it, train a policy."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path

import tyro

from jaxsim.cli.benchmark import benchmark
from jaxsim.cli.info import info
from jaxsim.cli.models import CommandError
from jaxsim.cli.play import play
from jaxsim.cli.render import render
from jaxsim.cli.rollout import rollout
from jaxsim.cli.train import train
from jaxsim.cli.tune import tune
from jaxsim.cli.view import view
from jaxsim.parallel import use_cores
from jaxsim.programs import keep_programs

__all__ = ["main"]

_COMMANDS = {
    "rollout": rollout,
    "render": render,
    "view": view,
    "info": info,
    "benchmark": benchmark,
    "train": train,
    "play": play,
    "tune": tune,
}


def main(args: Sequence[str] | None = None) -> None:
    """Runs the command line; what the user can mend is said in one line, with exit code 2.

    Args:
        args: Arguments without the program's name; default: those of the process.
    """
    from rich.console import Console

    from jaxsim.mjcf.errors import MjcfError
    from jaxsim.results import UnsupportedError

    words = list(sys.argv[1:] if args is None else args)
    if args is None and words[:1] != ["benchmark"]:  # which measures how long it takes to compile
        keep_programs()
    if args is None and words[:1] in (["rollout"], ["benchmark"], ["tune"]):  # of many worlds
        use_cores()
    try:
        if words[:1] == ["train"] and words[1:] and not {"-h", "--help"} & set(words):
            train(Path(words[1]), tuple(words[2:]))  # its options are the settings of the file
            return
        tyro.extras.subcommand_cli_from_dict(
            _COMMANDS,
            prog="jaxsim",
            description=__doc__,
            args=words,
        )
    except (MjcfError, UnsupportedError, CommandError, OSError) as error:  # of files: no space, not writable
        Console(stderr=True, soft_wrap=True).print("error: ", style="bold red", end="")
        Console(stderr=True, soft_wrap=True, markup=False, highlight=False).print(str(error))
        sys.exit(2)
    except KeyboardInterrupt:
        if args is not None:
            raise
        again = "; the same command goes on where it stopped" if "--record" in words else ""
        Console(stderr=True, soft_wrap=True, highlight=False).print(f"interrupted{again}")
        sys.stdout.flush()
        os._exit(130)  # XLA may still be compiling: an orderly end would be a segmentation fault
