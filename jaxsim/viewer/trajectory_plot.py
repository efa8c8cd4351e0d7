"""One picture of a rollout: moments of one world, many worlds at the end, and what happened in all of them."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING

import jax
import numpy as np

import jaxsim
from jaxsim import worlds
from jaxsim.enums import GeomType, JointType, ObjType
from jaxsim.pipeline.kinematics import kinematics
from jaxsim.viewer.raycast import Camera, Scene, render

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["plot_rollout", "scenes"]

_INK = "#2b3440"
_BLUE, _ORANGE = "#2f6db5", "#dd6b3f"
_MOMENTS = 5
_CROWD = (7, 4)


def scenes(model: jaxsim.Model, qpos: np.ndarray) -> list[Scene]:
    """The geoms of a model in given configurations.

    Args:
        model: The model.
        qpos: Configurations, `(n, nq)`.

    Returns:
        One scene a configuration.
    """
    data = worlds.expand(jaxsim.make_data(model))
    native = data.replace(qpos=jax.numpy.asarray(qpos.T, data.qpos.dtype))
    posed = jax.jit(kinematics)(worlds.expand(model), native)
    pos = np.broadcast_to(np.asarray(posed.geom_xpos), (model.ngeom, 3, len(qpos)))
    mat = np.broadcast_to(np.asarray(posed.geom_xmat), (model.ngeom, 3, 3, len(qpos)))
    kind, size, rgba = (np.asarray(x) for x in (model.geom_type, model.geom_size, model.geom_rgba))
    return [Scene(kind, size, pos[..., k], mat[..., k], rgba) for k in range(len(qpos))]


def plot_rollout(
    model: jaxsim.Model, qpos: np.ndarray, ncon: np.ndarray, file: Path, *, title: str, note: str = ""
) -> None:
    """Draws a rollout into an image file.

    Args:
        model: The model.
        qpos: Configurations after every step, `(worlds, steps, nq)`.
        ncon: Contacts at every step, `(worlds, steps)`.
        file: Where to write; the suffix selects the format.
        title: Heading.
        note: Smaller line below the heading.

    Raises:
        ModuleNotFoundError: matplotlib is not installed.
    """
    try:
        from matplotlib.figure import Figure
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            "pictures need matplotlib: pip install 'jaxsim-engine[plot]'", name="matplotlib"
        ) from error

    steps = qpos.shape[1]
    time = float(model.opt.timestep) * np.arange(1, steps + 1)
    moments = np.unique(np.linspace(0, steps - 1, _MOMENTS).round().astype(int))
    crowd = qpos[: _CROWD[0] * _CROWD[1], -1]
    qpos_shown = np.concatenate([qpos[0, moments], crowd])
    drawn = scenes(model, np.nan_to_num(qpos_shown, nan=0.0, posinf=0.0, neginf=0.0))
    figure = Figure(figsize=(13, 10.2), facecolor="white")
    figure.text(0.03, 0.962, title, fontsize=19, fontweight="bold", color=_INK)
    figure.text(0.03, 0.936, note, fontsize=11, color=_INK, alpha=0.75)
    strip = figure.add_gridspec(1, len(moments), left=0.03, right=0.985, top=0.92, bottom=0.69, wspace=0.02)
    for k, image in enumerate(_moment_images(model, drawn[: len(moments)])):
        _image(figure.add_subplot(strip[k]), image, f"{time[moments[k]]:.2f} s")
    middle = figure.add_gridspec(1, 1, left=0.03, right=0.985, top=0.68, bottom=0.325)
    caption = f"{len(crowd)} of {qpos.shape[0]:,} worlds at {time[-1]:.2f} s"
    _image(figure.add_subplot(middle[0]), _crowd_image(model, drawn[len(moments) :]), caption)
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
    axes.imshow(image, interpolation="antialiased", aspect="auto")
    axes.set_axis_off()
    axes.annotate(
        caption, (0, 1), (9, -9), xycoords="axes fraction", textcoords="offset points", va="top", color=_INK
    )


def _bounds(model: jaxsim.Model, scene: Scene) -> tuple[np.ndarray, float]:
    """Centre and radius (m) of what can move and of what stands beside it."""
    solid = (scene.type != GeomType.PLANE) & (scene.rgba[:, 3] > 0)
    moving = solid & (np.asarray(model.body_weldid)[np.asarray(model.geom_bodyid)] != 0)
    reach = np.linalg.norm(scene.size, axis=1)
    chosen = moving if moving.any() else solid
    if not chosen.any():
        return np.zeros(3), 1.0
    centre = (scene.pos[chosen].min(0) + scene.pos[chosen].max(0)) / 2
    distance = np.linalg.norm(scene.pos - centre, axis=1) + reach
    radius = float(distance[chosen].max())
    beside = solid & (distance < 1.6 * radius)
    return centre, float(distance[beside].max(initial=radius))


def _moment_images(model: jaxsim.Model, moments: list[Scene]) -> list[np.ndarray]:
    """Pictures at one scale; the camera follows."""
    bounds = [_bounds(model, scene) for scene in moments]
    radii = [r for _, r in bounds]
    radius = float(np.clip(max(radii), None, 1.5 * np.median(radii)))
    return [
        render(scene, Camera(centre, 3.6 * radius), 380, 380)
        for scene, (centre, _) in zip(moments, bounds, strict=True)
    ]


def _crowd_image(model: jaxsim.Model, scenes: list[Scene]) -> np.ndarray:
    """All worlds on one floor, side by side."""
    columns = min(_CROWD[0], len(scenes))
    rows = -(-len(scenes) // columns)
    bounds = [_bounds(model, scene) for scene in scenes]
    gap = 2.3 * float(np.median([radius for _, radius in bounds]))
    planes = scenes[0].type == GeomType.PLANE
    picture = Scene(*(field[planes] for field in dataclasses.astuple(scenes[0])))
    picture = dataclasses.replace(
        picture, size=picture.size * [0, 0, 1]
    )  # without end, as they stand under all worlds
    for k, scene in enumerate(scenes):
        across, back = k % columns - (columns - 1) / 2, k // columns - (rows - 1) / 2
        picture = picture + scene.solid().moved(gap * np.array([across, back, 0.0]))
    height = float(np.median([centre[2] for centre, _ in bounds]))
    distance = gap * (0.95 * columns + 0.7 * rows) / 1.15
    return render(
        picture, Camera(np.array([0.0, 0.0, height]), distance, azimuth=97, elevation=-17, fovy=24), 1320, 500
    )
