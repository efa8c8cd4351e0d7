"""`jaxsim benchmark`: a model in jaxsim and in other engines, side by side."""

from __future__ import annotations

from typing import Annotated

import tyro

from jaxsim.cli.models import CommandError, load, locate

__all__ = ["benchmark"]


def benchmark(
    model: tyro.conf.Positional[str],
    /,
    peers: str = "",
    worlds: Annotated[int, tyro.conf.arg(aliases=["-w"])] = 1024,
    steps: Annotated[int, tyro.conf.arg(aliases=["-t"])] = 50,
    repeats: int = 3,
    gradient: bool = False,
) -> None:
    """Measures throughput, compile time and memory, alternating between the engines.

    Every engine runs the same model with its own options, from the same states, under the same controls.

    Args:
        model: Path of an MJCF file, or a bundled model (quadruped, humanoid, arm, ...).
        peers: Other engines, separated by commas: mujoco (the C engine, on all cores), mjx (on one device).
            They must be installed.
        worlds: Number of worlds.
        steps: Steps of a rollout.
        repeats: Rollouts of each engine.
        gradient: Measure the gradient of a rollout, too.
    """
    from rich.console import Console

    from jaxsim.cli.compare import compare, tables
    from jaxsim.cli.engines import ENGINES

    names = ["jaxsim", *(name.strip() for name in peers.split(",") if name.strip())]
    for name in names:
        if name not in ENGINES:
            raise CommandError(
                f"no engine {name!r}; peers are {', '.join(sorted(set(ENGINES) - {'jaxsim'}))}"
            )
    if worlds < 1 or steps < 1 or repeats < 1:
        raise CommandError("--worlds, --steps and --repeats must be at least 1")
    load(model)
    console = Console(markup=False)
    with console.status("starting") as status:
        try:
            result = compare(
                locate(model),
                names,
                worlds=worlds,
                steps=steps,
                repeats=repeats,
                gradient_worlds=worlds if gradient else 0,
                say=status.update,
            )
        except ModuleNotFoundError as error:
            raise CommandError(f"{error}: peers need pip install mujoco mujoco-mjx") from error
    console.print(*tables(model, result))
