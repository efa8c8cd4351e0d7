"""`jaxsim play`: what a trained policy does."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import tyro

from jaxsim.cli.models import CommandError
from jaxsim.cli.outputs import bar, check_outputs
from jaxsim.cli.train import needs_train
from jaxsim.programs import compile_quickly

__all__ = ["play"]

_FIELDS = ("qvel", "ctrl", "ncon")
"""Of Data, that are recorded beside poses."""
_FPS = 30
"""Pictures of a video a second, about."""


def play(
    run: tyro.conf.Positional[Path],
    /,
    checkpoint: str = "latest",
    worlds: Annotated[int, tyro.conf.arg(aliases=["-w"])] = 1,
    seed: int = 0,
    out: Path | None = None,
    plot: Path | None = None,
    video: Path | None = None,
) -> None:
    """Runs a policy of a training for an episode, without noise, and says what it earned.

    Args:
        run: Folder of a training's results.
        checkpoint: Which policy: `latest`, `best` (of the greatest return), or the steps of a checkpoint, as the
            folder `checkpoints` has them.
        worlds: Number of worlds, each with its own start.
        seed: Of the starts.
        out: Write the trajectories to this .npz file; default: `play.npz` in the folder.
        plot: Draw them into this image file.
        video: Film the first world into this file (.mp4, .gif), by the model's first camera if it has one.
    """
    needs_train()
    import jax
    import numpy as np
    from rich.console import Console

    compile_quickly()
    from jaxsim.train import ConfigError, evaluate, restore, summary
    from jaxsim.viewer.poses import POSE

    if worlds < 1:
        raise CommandError("--worlds must be at least 1")
    check_outputs(out, plot, video)
    try:
        config, env, act, policy = restore(run, _step(checkpoint))
    except ConfigError as error:
        raise CommandError(str(error)) from error
    console, fields = Console(markup=False, soft_wrap=True), (*POSE, *_FIELDS)
    with console.status(f"playing {config.env}"):
        key = jax.random.key(seed)
        episodes = jax.jit(lambda p: evaluate(env, act, p, key, worlds, fields))(policy)
        numbers = {name: float(x) for name, x in summary(episodes).items()}
    words = (
        f"return {numbers['return']:.2f} ± {numbers['return_deviation']:.2f}, {numbers['length']:.0f} steps"
    )
    console.print(f"{config.env}: {words}", highlight=False)
    for name, x in numbers.items():
        if name.startswith("part_"):
            console.print(f"  {name.removeprefix('part_')}: {x:.2f}", highlight=False)
    file = out or run / "play.npz"
    got: dict[str, Any] = {name: np.asarray(episodes[name]) for name in (*fields, "reward", "going")}
    time = env.dt * np.arange(1, got["reward"].shape[1] + 1)
    np.savez_compressed(file, time=time, **got)
    console.print(f"trajectories: {file}", highlight=False)
    if plot:
        from jaxsim.viewer.trajectory_plot import plot_rollout

        plot_rollout(env.model, got, plot, title=config.env, note=words, every=env.dt)
        console.print(f"picture: {plot}", highlight=False)
    if video:
        with bar(console, "pictures") as progress:
            _film(video, env, got, progress)
        console.print(f"video: {video}", highlight=False)


def _step(checkpoint: str) -> Any:
    """Steps as a number, `best` and `latest` as they are."""
    return int(checkpoint) if checkpoint.isdecimal() else checkpoint


def _film(file: Path, env: Any, episodes: dict[str, Any], progress: Callable[[int, int], None]) -> None:
    """The first world, while its episode lasts, as fast as it was."""
    from jaxsim.viewer import render, write
    from jaxsim.viewer.poses import POSE

    lasting = episodes["going"][0] > 0
    every = max(round(1 / (_FPS * env.dt)), 1)
    moments = {name: episodes[name][0][lasting][::every] for name in POSE}
    try:
        camera = 0 if env.model.ncam else None
        pictures = render(env.model, moments, camera=camera, size=(480, 360), progress=progress)
        write(file, pictures, fps=1 / (every * env.dt))
    except (OSError, ValueError) as error:
        raise CommandError(str(error)) from error
