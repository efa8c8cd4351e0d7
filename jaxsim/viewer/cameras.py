"""Where pictures are taken from: the cameras of a model, and a free one that frames it."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from jaxsim.enums import ObjType
from jaxsim.model import Model

if TYPE_CHECKING:
    from jaxsim.viewer.poses import Moment
    from jaxsim.viewer.scene import Scene

__all__ = ["FreeCamera", "View", "first_camera", "model_view", "reach"]


@dataclasses.dataclass(frozen=True, eq=False)
class View:
    """A camera in its place.

    Attributes:
        pos: m, world frame, `(3,)`.
        mat: Columns: right, up and backwards, `(3, 3)`, as in `cam_xmat`.
        half: Tangents of half the angles of view, across and up, `(2,)`; of an orthographic camera half the lengths, m.
            Half the angle across is 0 where the shape of the picture decides it.
        center: Tangents, or lengths, of the picture's centre off the axis of view, `(2,)`.
        orthographic: Whether rays are parallel.
        near: Nearest that is seen, m along the axis of view.
    """

    pos: np.ndarray
    mat: np.ndarray
    half: np.ndarray
    center: np.ndarray = dataclasses.field(default_factory=lambda: np.zeros(2))
    orthographic: bool = False
    near: float = 0.0

    def rays(self, xy: np.ndarray, width: int, height: int) -> tuple[np.ndarray, np.ndarray]:
        """Origins, at the near plane, and unit directions, each `(n, 3)`, through points of the picture.

        Args:
            xy: Pixels from the left and from the top, `(n, 2)`.
            width: Of the picture, pixels.
            height: Of the picture, pixels.
        """
        unit = np.stack([2 * xy[:, 0] / width - 1, 1 - 2 * xy[:, 1] / height], 1)
        plane = unit * self._halves(width, height) + self.center
        across = plane @ self.mat[:, :2].T
        forward = -self.mat[:, 2]
        if self.orthographic:
            return self.pos + across + self.near * forward, np.broadcast_to(forward, across.shape)
        dirs = across + forward
        return self.pos + self.near * dirs, dirs / np.linalg.norm(dirs, axis=1, keepdims=True)

    def project(self, points: np.ndarray, width: int, height: int) -> np.ndarray:
        """Pixels from the left and from the top, `(n, 2)`, at which points `(n, 3)` (m, world frame) are seen.

        Points behind the camera have no place in the picture: theirs is not a number.
        """
        local = (np.asarray(points) - self.pos) @ self.mat
        depth = np.where(local[:, 2] < 0, -local[:, 2], np.nan)[:, None]
        plane = local[:, :2] if self.orthographic else local[:, :2] / depth
        unit = (plane - self.center) / self._halves(width, height)
        return np.stack([(unit[:, 0] + 1) / 2 * width, (1 - unit[:, 1]) / 2 * height], 1)

    def _halves(self, width: int, height: int) -> np.ndarray:
        across = self.half[0] or self.half[1] * width / height
        return np.array([across, self.half[1]])


@dataclasses.dataclass(frozen=True)
class FreeCamera:
    """A camera on a sphere about what it looks at, as MuJoCo's free camera; what is None is as the model says.

    Attributes:
        lookat: Point at the picture's centre, m, world frame; None: the middle of what moves.
        distance: From there, m; None: so that all of it is seen.
        azimuth: Direction of view about the z axis, degrees; 90 looks along +y.
        elevation: Direction of view above the horizon, degrees; negative looks down.
        fovy: Vertical field of view, degrees; if orthographic, m.
        orthographic: Whether rays are parallel.
    """

    lookat: Sequence[float] | None = None
    distance: float | None = None
    azimuth: float | None = None
    elevation: float | None = None
    fovy: float | None = None
    orthographic: bool | None = None

    def view(self, scene: Scene, frames: Sequence[Moment], width: int, height: int) -> View:
        """The camera in its place, the same for all frames."""
        lookat, distance = self.lookat, self.distance
        azimuth, elevation, fovy, orthographic = (
            getattr(scene.vis.global_ if getattr(self, name) is None else self, name)
            for name in ("azimuth", "elevation", "fovy", "orthographic")
        )
        half = fovy / 2 if orthographic else np.tan(np.radians(fovy) / 2)
        if lookat is None or distance is None:
            centre, radius = reach(scene, frames)
            lookat = centre if lookat is None else lookat
            narrow = np.pi / 6 if orthographic else np.arctan(half * min(1, width / height))
            distance = radius / np.sin(narrow) if distance is None else distance
        a, e = np.radians([azimuth, elevation])
        forward = np.array([np.cos(e) * np.cos(a), np.cos(e) * np.sin(a), np.sin(e)])
        right = np.array([np.sin(a), -np.cos(a), 0.0])
        mat = np.stack([right, np.cross(right, forward), -forward], 1)
        pos = np.asarray(lookat, float) - distance * forward
        near = scene.vis.map.znear * scene.extent
        return View(pos, mat, np.array([0.0, half]), orthographic=orthographic, near=near)


def reach(scene: Scene, frames: Sequence[Moment]) -> tuple[np.ndarray, float]:
    """Centre and radius (m) of a sphere that holds what is drawn, planes and height fields aside, in all frames."""
    points = []
    for part in scene.parts:
        if part.kind != ObjType.GEOM or part.flat:
            continue
        low, high = part.mesh.vertices.min(0), part.mesh.vertices.max(0)
        corners = np.stack(np.meshgrid(*np.stack([low, high], 1), indexing="ij"), -1).reshape(-1, 3)
        large = np.abs(corners).max() > 10 * scene.extent
        if not large:
            points += [corners @ f.geom_xmat[part.id].T + f.geom_xpos[part.id] for f in frames]
    if not points:
        return scene.center, max(scene.extent, 1e-3)
    cloud = np.concatenate(points)
    centre = (cloud.min(0) + cloud.max(0)) / 2
    return centre, float(max(np.linalg.norm(cloud - centre, axis=1).max(), 1e-3))


def first_camera(model: Model) -> int | None:
    """The camera that a model wants to be seen from; None: a free one."""
    camera = model.vis.global_.cameraid
    return camera if 0 <= camera < model.ncam else None


def model_view(model: Model, frame: Moment, camera: int) -> View:
    """A camera of the model in its place; fixed, tracking and targeting cameras follow as `cam_mode` says."""
    pos, mat = frame.cam_xpos[camera], frame.cam_xmat[camera]
    fovy, near = float(model.cam_fovy[camera]), model.vis.map.znear * float(model.stat.extent)
    if model.cam_projection[camera]:
        return View(pos, mat, np.array([0.0, fovy / 2]), orthographic=True, near=near)
    sensor = np.asarray(model.cam_sensorsize, float)[camera]
    if sensor.all():
        focal, principal = np.split(np.asarray(model.cam_intrinsic, float)[camera], 2)
        return View(pos, mat, sensor / (2 * focal), principal / focal * np.array([1.0, -1.0]), near=near)
    return View(pos, mat, np.array([0.0, np.tan(np.radians(fovy) / 2)]), near=near)
