"""`jaxsim view`: a model in the browser."""

from __future__ import annotations

import os
import webbrowser
from pathlib import Path

import tyro

from jaxsim.cli.models import CommandError, find, load
from jaxsim.cli.render import recorded

__all__ = ["view"]


def view(
    model: tyro.conf.Positional[str],
    /,
    worlds: int = 1,
    keyframe: str | None = None,
    trajectory: Path | None = None,
    play: bool = False,
    host: str = "127.0.0.1",
    port: int = 8080,
    open_browser: bool = True,
    serve: int | None = None,
    serve_host: str = "127.0.0.1",
    token: str = "",
) -> None:
    """Opens a viewer in the browser: play, pause, pull, move joints, see contacts and forces. Ctrl-C ends it.

    Args:
        model: Path of an MJCF file, or a bundled model (quadruped, humanoid, arm, ...).
        worlds: Worlds side by side.
        keyframe: Name or number of the keyframe to start in; default: qpos0.
        trajectory: Play this .npz file with `qpos`, as `jaxsim rollout --out` writes it.
        play: Start playing.
        host: Interface to listen at; whoever reaches it controls the simulation.
        port: Port; the next free one if it is taken.
        open_browser: Open the browser here, if there is a display.
        serve: Port at which other programs get the state and send controls (docs/viewer.md).
        serve_host: Interface for them; others than the loopback need a token.
        token: What they must know; or the environment variable JAXSIM_TOKEN.
    """
    from rich.console import Console
    from rich.markup import escape

    from jaxsim.enums import ObjType
    from jaxsim.viewer.browser import view as start
    from jaxsim.viewer.needs import needs
    from jaxsim.viewer.serve import Server, check_address

    token = token or os.environ.get("JAXSIM_TOKEN", "")
    try:
        needs("viser", "the viewer needs")
        check_address(serve_host, token, serve or 0)
        path = None if trajectory is None else recorded(trajectory)
        compiled = load(model)
        key = None if keyframe is None else find(compiled, ObjType.KEY, compiled.nkey, "keyframe", keyframe)
        console = Console(markup=False)
        with console.status(f"compiling {escape(model)}"):
            viewer = start(
                compiled, worlds=worlds, keyframe=key, trajectory=path, play=play, host=host, port=port
            )
            server = (
                None if serve is None else Server(viewer.session, host=serve_host, port=serve, token=token)
            )
    except (ModuleNotFoundError, OSError, ValueError) as error:
        raise CommandError(str(error)) from error
    console.print(f"viewer: {viewer.url}   (Ctrl-C ends it)", highlight=False)
    if server is not None:
        console.print(f"socket: ws://{serve_host}:{server.port}", highlight=False)
    if open_browser and (os.environ.get("DISPLAY") or os.name == "nt"):
        webbrowser.open(viewer.url)
    viewer.wait()
    if server is not None:
        server.stop()
