"""Pictures of states and trajectories, without a display or a graphics driver."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from jaxsim.enums import ObjType
from jaxsim.model import Model
from jaxsim.viewer.cameras import FreeCamera, View, first_camera, model_view
from jaxsim.viewer.decor import Item, Show, items
from jaxsim.viewer.needs import needs
from jaxsim.viewer.poses import Moment, frames
from jaxsim.viewer.scene import Scene, make_scene
from jaxsim.viewer.shade import Lit
from jaxsim.viewer.trace import Surfaces

__all__ = ["draw", "render"]

_EDGE = 0.03
"""Difference of colour between neighbours from which a pixel is looked at more closely."""

_FINE = 3
"""Rays across such a pixel."""


def render(
    model: Model,
    state: Any,
    *,
    camera: str | int | FreeCamera | None = None,
    size: tuple[int, int] = (640, 480),
    show: Show | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> np.ndarray:
    """Draws one or many states of a model.

    Args:
        model: The model.
        state: Data of one moment, or of many stacked in front; a trajectory: a mapping with `qpos` `(T, nq)`; or
            `qpos` alone.
        camera: Name or number of a camera of the model; or a `FreeCamera`; None: the camera that `model.vis.global_`
            names, else a free camera that sees all.
        size: Width and height, pixels.
        show: What to draw beside the geoms, and of which groups.
        progress: Called after each picture with how many are drawn, and of how many.

    Returns:
        Pictures, `(T, height, width, 3)`, uint8.

    Raises:
        KeyError: There is no camera of that name.
        IndexError: There is no camera of that number.
        ValueError: The state does not fit the model, or the size is not positive.
        ModuleNotFoundError: The extra `view` is not installed.
    """
    needs("embreex", "pictures need")
    width, height = size
    if width < 1 or height < 1:
        raise ValueError(f"a picture has at least one pixel; size is {width} x {height}")
    scene, show = make_scene(model), show or Show()
    moments = frames(model, state)
    if camera is None:
        first = first_camera(model)
        camera = FreeCamera() if first is None else first
    if isinstance(camera, FreeCamera):
        fixed = camera.view(scene, moments, width, height)
        views: Sequence[View] = [fixed] * len(moments)
    else:
        number = model.find(ObjType.CAMERA, camera)
        views = [model_view(model, frame, number) for frame in moments]
    pictures = []
    for frame, view in zip(moments, views, strict=True):
        pictures.append(draw(items(model, scene, frame, show), scene, frame, view, size))
        if progress is not None:
            progress(len(pictures), len(moments))
    return np.stack(pictures)


def draw(
    things: Sequence[Item], scene: Scene, frame: Moment, view: View, size: tuple[int, int]
) -> np.ndarray:
    """Draws things in their places.

    Args:
        things: What is seen.
        scene: Its lights and sky.
        frame: Where the lights are.
        view: Where the picture is taken from.
        size: Width and height, pixels.

    Returns:
        The picture, `(height, width, 3)`, uint8.
    """
    width, height = size
    seen = [i for i in things if not i.flat or (view.pos - i.pos) @ i.mat[:, 2] > 0]
    pixel = 2 * float(view.half[1]) / height
    lit = Lit(Surfaces(seen), scene, frame, np.array([i.flat for i in seen], bool), pixel)
    rows, columns = np.mgrid[:height, :width]
    corner = np.stack([columns.reshape(-1), rows.reshape(-1)], 1).astype(float)
    picture = lit.colours(*view.rays(corner + 0.5, width, height)).reshape(height, width, 3)
    edge = np.zeros((height, width), bool)
    for axis in (0, 1):
        steps = np.abs(np.diff(picture, axis=axis)).max(-1) > _EDGE
        edge |= np.pad(steps, [(1, 0), (0, 0)] if axis == 0 else [(0, 0), (1, 0)])
        edge |= np.pad(steps, [(0, 1), (0, 0)] if axis == 0 else [(0, 0), (0, 1)])
    at = corner[edge.reshape(-1)]
    if len(at):
        offsets = (np.arange(_FINE) + 0.5) / _FINE
        fine = [
            lit.colours(*view.rays(at + np.array([x, y]), width, height)) for x in offsets for y in offsets
        ]
        picture[edge] = np.mean(fine, axis=0)
    return (255 * np.clip(picture, 0, 1) + 0.5).astype(np.uint8)
