"""`jaxsim render`: pictures and videos of a model, without a display."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Annotated, Any

import tyro

from jaxsim.cli.models import CommandError, find, load
from jaxsim.cli.outputs import bar, check_pictures
from jaxsim.cli.rollout import starting_keyframe

__all__ = ["recorded", "render"]


def render(
    model: tyro.conf.Positional[str],
    /,
    out: Annotated[Path, tyro.conf.arg(aliases=["-o"])] = Path("picture.png"),
    keyframe: str | None = None,
    seconds: float | None = None,
    steps: int | None = None,
    trajectory: Path | None = None,
    world: int = 0,
    camera: str | None = None,
    azimuth: float | None = None,
    elevation: float | None = None,
    distance: float | None = None,
    lookat: tuple[float, float, float] | None = None,
    size: tuple[int, int] = (640, 480),
    fps: float = 30.0,
    show: tuple[str, ...] = (),
) -> None:
    """Draws a model into an image (.png, .jpg: the last moment) or a video (.mp4, .gif: all of them).

    Controls stay what the keyframe says. Without --camera a free camera looks at everything, from where the model
    says.

    Args:
        model: Path of an MJCF file, or a bundled model (quadruped, humanoid, arm, ...).
        out: File to write.
        keyframe: Name or number of the keyframe to start in; default: `home`, else the first, else qpos0.
        seconds: Simulate for so long.
        steps: Simulate so many steps.
        trajectory: Draw this .npz file with `qpos`, as `jaxsim rollout --out` writes it, instead of simulating.
        world: World of the trajectory.
        camera: Name or number of a camera of the model.
        azimuth: Of the free camera, degrees; 90 looks along +y.
        elevation: Of the free camera, degrees; negative looks down.
        distance: Of the free camera from what it looks at, m.
        lookat: What the free camera looks at, m.
        size: Width and height, pixels.
        fps: Pictures of a video a second.
        show: Also: contacts, forces, frames, com, inertia, cameras, lights.
    """
    from rich.console import Console
    from rich.markup import escape

    from jaxsim.enums import ObjType
    from jaxsim.viewer import FreeCamera, Show
    from jaxsim.viewer import render as draw
    from jaxsim.viewer.video import STILL, write

    parts = [field.name for field in dataclasses.fields(Show) if field.default is False]
    shown = Show(**{name: name in show for name in parts})  # pyright: ignore
    unknown = sorted(set(show) - set(parts))
    if unknown:
        raise CommandError(f"--show: no {', '.join(unknown)}; there are {', '.join(parts)}")
    if fps <= 0:
        raise CommandError("--fps must be positive")
    try:
        check_pictures(out)
        compiled = load(model)
        free = FreeCamera(lookat, distance, azimuth, elevation)
        chosen: Any = None if free == FreeCamera() else free
        if camera is not None:
            chosen = find(compiled, ObjType.CAMERA, compiled.ncam, "camera", camera)
        still = out.suffix.lower() in STILL
        console = Console(markup=False)
        with console.status(f"{'simulating' if seconds or steps else 'drawing'} {escape(model)}"):
            if trajectory is None:
                length = _length(compiled, seconds, steps)
                each = (
                    length if still else min(length, max(round(1 / (fps * float(compiled.opt.timestep))), 1))
                )
                state = _simulate(compiled, keyframe, length, each, contacts=shown.contacts or shown.forces)
                fps = 1 / (each * float(compiled.opt.timestep)) if each else fps
            else:
                state = _filmed(trajectory, world, fps, still)
        with bar(console, "pictures") as progress:
            pictures = draw(compiled, state, camera=chosen, size=size, show=shown, progress=progress)
            write(out, pictures, fps=fps)
    except (ModuleNotFoundError, OSError, ValueError) as error:
        raise CommandError(str(error)) from error
    console.print(
        f"{len(pictures)} pictures: {out}" if len(pictures) > 1 else f"picture: {out}", highlight=False
    )


def _length(model: Any, seconds: float | None, steps: int | None) -> int:
    if seconds is not None and steps is not None:
        raise CommandError("give --seconds or --steps, not both")
    count = round(seconds / float(model.opt.timestep)) if seconds is not None else (steps or 0)
    if count < 0:
        raise CommandError("--seconds and --steps cannot be negative")
    return count


def _start(model: Any, keyframe: str | None) -> Any:
    """The state in a keyframe, controls included."""
    import jaxsim
    from jaxsim.enums import ObjType

    if keyframe is None:
        number = starting_keyframe(model)
    else:
        number = find(model, ObjType.KEY, model.nkey, "keyframe", keyframe)
    return jaxsim.reset(model, jaxsim.make_data(model), number)


def _simulate(model: Any, keyframe: str | None, steps: int, each: int, *, contacts: bool) -> Any:
    """States `each` so many steps; without steps the start alone, of which forces are computed for its `contacts`."""
    import functools

    import jax
    import jax.numpy as jnp

    import jaxsim
    from jaxsim.viewer.poses import POSE

    start = _start(model, keyframe)
    if not steps:
        if contacts:
            return jax.jit(jaxsim.forward)(model, start)
        return {name: getattr(start, name) for name in POSE}
    count = steps // each
    fields = (*POSE, "contact", "efc_force")
    run = jax.jit(functools.partial(jaxsim.rollout, steps=count, substeps=each, fields=fields))
    final, states = run(model, start)
    if count > 1:
        first = {name: getattr(start, name) for name in fields}
        states = jax.tree.map(lambda a, b: jnp.concatenate([jnp.asarray(a)[None], b]), first, states)
    return final.replace(**states)


def recorded(file: Path) -> dict[str, Any]:
    """Poses, and their times if they are there, of a recorded trajectory.

    Raises:
        CommandError: There is no such file, it cannot be read, or it has no poses.
    """
    import zipfile
    import zlib

    import numpy as np

    from jaxsim.viewer.poses import POSE

    if not file.is_file():
        raise CommandError(f"no file {str(file)!r}")
    if not zipfile.is_zipfile(file):
        raise CommandError(f"{str(file)!r} is no .npz file, as `jaxsim rollout --out` writes it")
    try:
        with np.load(file) as saved:
            if "qpos" not in saved:
                raise CommandError(f"{str(file)!r} has no qpos; it has {', '.join(saved) or 'nothing'}")
            return {name: saved[name] for name in (*POSE, "time") if name in saved}
    except (OSError, ValueError, zipfile.BadZipFile, zlib.error) as error:
        raise CommandError(f"cannot read {str(file)!r}: {error}") from error


def _filmed(file: Path, world: int, fps: float, still: bool) -> dict[str, Any]:
    """The moments of a recorded trajectory that a video shows."""
    import numpy as np

    fields = recorded(file)
    time = fields.pop("time", None)
    if fields["qpos"].ndim == 3:
        if not 0 <= world < len(fields["qpos"]):
            raise CommandError(f"--world {world}: the file has {len(fields['qpos'])} worlds")
        fields = {name: value[world] for name, value in fields.items()}
    if still:
        return {name: value[-1:] for name, value in fields.items()}
    if time is not None and len(time) > 1:
        moments = np.arange(time[0], time[-1] + 1e-9, 1 / fps)
        chosen = np.searchsorted(time, moments - 1e-9).clip(0, len(time) - 1)
        fields = {name: value[chosen] for name, value in fields.items()}
    return fields
