"""`jaxsim train`: a policy from a file of settings."""

from __future__ import annotations

import importlib.util
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import tyro

from jaxsim.cli.models import CommandError
from jaxsim.programs import compile_quickly

__all__ = ["needs_train", "settings", "train"]

_EXTRA = ("flax", "optax", "orbax", "tensorboardX", "yaml", "matplotlib")


def train(config: tyro.conf.Positional[Path], /, changes: tyro.conf.Suppress[tuple[str, ...]] = ()) -> None:
    """Trains a policy: `jaxsim train configs/shac_cartpole_swingup.yaml --seed 1 --task.action_scale 0.5`.

    Every setting of the file can be changed by `--name value`; `--resume true` goes on with a run that was
    interrupted, exactly as it would have gone on (with `algorithm: ppo`: from its last policy).

    Args:
        config: YAML file of settings; the folder `configs` has some.
        changes: Settings that differ from the file's: names and values.
    """
    needs_train()
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    compile_quickly()
    from jaxsim.train import ConfigError, read
    from jaxsim.train import train as run

    try:
        chosen = read(config, settings(changes))

        console = Console(markup=False, soft_wrap=True)
        console.print(f"{chosen.algorithm} learns {chosen.env}: results in {chosen.out}", highlight=False)
        columns = (
            TextColumn("{task.completed:,.0f} of {task.total:,.0f} steps"),
            BarColumn(),
            TextColumn("{task.description}"),
            TimeElapsedColumn(),
        )
        with Progress(*columns, console=console) as progress:
            bar = progress.add_task("compiling", total=chosen.steps)

            def report(row: dict[str, float]) -> None:
                words = (
                    f"return {row['return']:.1f} ± {row['return_deviation']:.1f}, {row['length']:.0f} steps"
                )
                progress.update(bar, completed=row["steps"], description=words)
                if not console.is_terminal:
                    console.print(
                        f"{row['steps']:,.0f} steps, {row['seconds']:.0f} s: {words}", highlight=False
                    )

            out = run(chosen, report)
        console.print(f"curve: {out / 'curve.png'}; play: jaxsim play {out}", highlight=False)
    except ConfigError as error:
        raise CommandError(str(error)) from error
    except KeyboardInterrupt:
        words = shlex.join([str(config), *changes, "--resume", "true"])
        raise CommandError(f"interrupted; go on: jaxsim train {words}") from None


def settings(words: Sequence[str]) -> dict[str, Any]:
    """Settings by dotted name, of `--name value` and `--name=value`.

    Raises:
        CommandError: A name has no value, or one that is not YAML, or a word is neither.
    """
    from yaml import YAMLError

    from jaxsim.train.config import parse

    found: dict[str, Any] = {}
    left = list(words)
    while left:
        word = left.pop(0)
        if not word.startswith("--"):
            raise CommandError(f"{word!r}: settings are changed by --name value")
        name, given, value = word[2:].partition("=")
        if not given:
            if not left:
                raise CommandError(f"--{name} has no value")
            value = left.pop(0)
        try:
            found[name.replace("-", "_")] = parse(value)
        except YAMLError as error:
            raise CommandError(f"--{name}: {value!r} is not YAML") from error
    return found


def needs_train() -> None:
    """Raises if a package of the extra `train` is not there.

    Raises:
        CommandError: It says what to install.
    """
    missing = [name for name in _EXTRA if importlib.util.find_spec(name) is None]
    if missing:
        raise CommandError(f"training needs {', '.join(missing)}: pip install 'jaxsim-engine[train]'")
