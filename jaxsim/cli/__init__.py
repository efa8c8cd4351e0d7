"""The command `jaxsim`: roll out a model in many worlds, draw it, say what is in it, measure it."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import tyro

from jaxsim.cli.benchmark import benchmark
from jaxsim.cli.info import info
from jaxsim.cli.models import CommandError
from jaxsim.cli.render import render
from jaxsim.cli.rollout import rollout

__all__ = ["main"]


def main(args: Sequence[str] | None = None) -> None:
    """Runs the command line; what the user can mend is said in one line, with exit code 2.

    Args:
        args: Arguments without the program's name; default: those of the process.
    """
    from rich.console import Console

    from jaxsim.mjcf.errors import MjcfError
    from jaxsim.results import UnsupportedError

    try:
        tyro.extras.subcommand_cli_from_dict(
            {"rollout": rollout, "render": render, "info": info, "benchmark": benchmark},
            prog="jaxsim",
            description=__doc__,
            args=args,
        )
    except (MjcfError, UnsupportedError, CommandError) as error:
        Console(stderr=True, soft_wrap=True).print("error: ", style="bold red", end="")
        Console(stderr=True, soft_wrap=True, markup=False, highlight=False).print(str(error))
        sys.exit(2)
