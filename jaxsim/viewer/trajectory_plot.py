"""One picture of a rollout: moments of one world, many worlds at the end, and what happened in all of them."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

import jaxsim
from jaxsim.enums import JointType, ObjType
from jaxsim.viewer.cameras import FreeCamera, reach
from jaxsim.viewer.decor import Item, Show, items
from jaxsim.viewer.pictures import draw
from jaxsim.viewer.poses import POSE, Moment, frames
from jaxsim.viewer.scene import Scene, make_scene

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["plot_rollout"]

_INK = "#2b3440"
_BLUE, _ORANGE = "#2f6db5", "#dd6b3f"
_PAPER = {"boxstyle": "round,pad=0.25", "facecolor": "white", "edgecolor": "none", "alpha": 0.85}
_MOMENTS = 5
_CROWD = (7, 4)


def plot_rollout(
    model: jaxsim.Model,
    path: Mapping[str, np.ndarray],
    file: Path,
    *,
    title: str,
    note: str = "",
    every: float | None = None,
) -> None:
    """Draws a rollout into an image file.

    Args:
        model: The model.
        path: Fields of Data after every step, `(worlds, steps, ...)`: `qpos`, `ncon` and, where bodies are moved by
            hand, `mocap_pos` and `mocap_quat`.
        file: Where to write; the suffix selects the format.
        title: Heading.
        note: Smaller line below the heading.
        every: Seconds between two states; none: the model's timestep.

    Raises:
        ModuleNotFoundError: matplotlib is not installed.
    """
    try:
        from matplotlib.figure import Figure
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            "pictures need matplotlib: pip install 'jaxsim-engine[plot]'", name="matplotlib"
        ) from error

    qpos, ncon = path["qpos"], path["ncon"]
    steps = qpos.shape[1]
    time = (float(model.opt.timestep) if every is None else every) * np.arange(1, steps + 1)
    moments = np.unique(np.linspace(0, steps - 1, _MOMENTS).round().astype(int))
    crowd = qpos[: _CROWD[0] * _CROWD[1], -1]
    shown = {
        name: np.concatenate([path[name][0, moments], path[name][: len(crowd), -1]])
        for name in POSE
        if name in path
    }
    scene, drawn = make_scene(model), frames(model, shown)
    figure = Figure(figsize=(13, 10.2), facecolor="white")
    figure.text(0.03, 0.962, title, fontsize=19, fontweight="bold", color=_INK)
    figure.text(0.03, 0.936, note, fontsize=11, color=_INK, alpha=0.75)
    strip = figure.add_gridspec(1, len(moments), left=0.03, right=0.985, top=0.92, bottom=0.69, wspace=0.02)
    for k, image in enumerate(_moment_images(model, scene, drawn[: len(moments)])):
        _image(figure.add_subplot(strip[k]), image, f"{time[moments[k]]:.2f} s")
    middle = figure.add_gridspec(1, 1, left=0.03, right=0.985, top=0.68, bottom=0.325)
    caption = f"{len(crowd)} of {qpos.shape[0]:,} worlds at {time[-1]:.2f} s"
    _image(figure.add_subplot(middle[0]), _crowd_image(model, scene, drawn[len(moments) :]), caption)
    charts = figure.add_gridspec(1, 2, left=0.06, right=0.985, top=0.285, bottom=0.06, wspace=0.12)
    first, *others = _coordinates(model, qpos)
    second = ("contacts per world", ncon.astype(float)) if ncon.any() or not others else others[0]
    for k, ((label, values), colour) in enumerate(((first, _BLUE), (second, _ORANGE))):
        _fan(figure.add_subplot(charts[k]), time, values, label, colour)
    figure.savefig(file, dpi=110)


def _coordinates(model: jaxsim.Model, qpos: np.ndarray) -> list[tuple[str, np.ndarray]]:
    """Names and values of what tells most about a motion: the height of a walker, else the scalar joints."""
    counts = np.bincount(np.asarray(model.body_rootid)[np.asarray(model.dof_bodyid)], minlength=1)
    found = []
    for joint, kind in enumerate(model.jnt_type):
        body, values = int(model.jnt_bodyid[joint]), qpos[..., int(model.jnt_qposadr[joint]) :]
        if kind == JointType.FREE and (counts[body] > 6 or model.njnt == 1):
            found.insert(0, (f"height of {model.name(ObjType.BODY, body) or 'body'} (m)", values[..., 2]))
        elif kind in (JointType.SLIDE, JointType.HINGE):
            unit = "m" if kind == JointType.SLIDE else "rad"
            found.append((f"joint {model.name(ObjType.JOINT, joint) or joint} ({unit})", values[..., 0]))
    return found or [("first coordinate", qpos[..., 0] if model.nq else np.zeros(qpos.shape[:2]))]


def _fan(axes: Axes, time: np.ndarray, values: np.ndarray, label: str, colour: str) -> None:
    """Median over worlds, with the bands that hold 50% and 90% of them."""
    low, lower, median, upper, high = np.nanpercentile(values, [5, 25, 50, 75, 95], axis=0)
    axes.fill_between(time, low, high, color=colour, alpha=0.16, linewidth=0, label="90% of worlds")
    axes.fill_between(time, lower, upper, color=colour, alpha=0.32, linewidth=0, label="50%")
    axes.plot(time, median, color=colour, linewidth=2, label="median")
    axes.set_title(label, loc="left", fontsize=11, color=_INK)
    axes.set_xlabel("time (s)", fontsize=10, color=_INK)
    axes.set_xlim(time[0], time[-1] if time[-1] > time[0] else time[0] + 1)
    axes.grid(alpha=0.25)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, fontsize=9, loc="best")


def _image(axes: Axes, image: np.ndarray, caption: str) -> None:
    """A picture, its caption on a label that tells it from dark skies and bright floors alike."""
    axes.imshow(image, interpolation="antialiased", aspect="auto")
    axes.set_axis_off()
    axes.annotate(
        caption,
        (0, 1),
        (9, -9),
        xycoords="axes fraction",
        textcoords="offset points",
        va="top",
        color=_INK,
        bbox=_PAPER,
    )


def _bounds(model: jaxsim.Model, scene: Scene, moment: Moment) -> tuple[np.ndarray, float]:
    """Centre and radius (m) of what can move, or of all where nothing can."""
    fixed = np.asarray(model.body_weldid) == 0
    moving = tuple(part for part in scene.parts if not fixed[part.body])
    return reach(dataclasses.replace(scene, parts=moving or scene.parts), [moment])


def _moment_images(model: jaxsim.Model, scene: Scene, moments: list[Moment]) -> list[np.ndarray]:
    """Pictures at one scale; the camera follows."""
    bounds = [_bounds(model, scene, moment) for moment in moments]
    radii = [r for _, r in bounds]
    distance = 3.6 * float(np.clip(max(radii), None, 1.5 * np.median(radii)))
    images, size = [], (380, 380)
    for moment, (centre, _) in zip(moments, bounds, strict=True):
        view = FreeCamera(tuple(centre), distance, 120, -16, 35, orthographic=False).view(
            scene, [moment], *size
        )
        images.append(draw(items(model, scene, moment, Show()), scene, moment, view, size))
    return images


def _crowd_image(model: jaxsim.Model, scene: Scene, moments: list[Moment]) -> np.ndarray:
    """All worlds on one floor, side by side, in the light of the sun, which is the same for all."""
    columns = min(_CROWD[0], len(moments))
    rows = -(-len(moments) // columns)
    bounds = [_bounds(model, scene, moment) for moment in moments]
    gap = 2.3 * float(np.median([radius for _, radius in bounds]))
    things: list[Item] = []
    for k, moment in enumerate(moments):
        offset = np.array([k % columns - (columns - 1) / 2, k // columns - (rows - 1) / 2, 0.0])
        for item in items(model, scene, moment, Show()):
            if not item.flat:
                things.append(dataclasses.replace(item, pos=item.pos + gap * offset))
            elif not k:  # one floor, as far as one sees
                wide = item.mesh.placed(np.zeros(3), 1e3 * np.eye(3))
                things.append(dataclasses.replace(item, mesh=wide))
    height = float(np.median([centre[2] for centre, _ in bounds]))
    distance = gap * (0.9 * columns + 0.6 * rows)
    size, day = (1320, 500), dataclasses.replace(scene, lights=scene.lights.none())
    camera = FreeCamera((0.0, 0.0, height), distance, 97, -17, 24, orthographic=False)
    return draw(things, day, moments[0], camera.view(scene, moments, *size), size)
