"""What the browser draws: a model's bodies in all worlds, and what is laid over them; moved by few messages a frame."""

from __future__ import annotations

import dataclasses
from typing import Any

import jax
import numpy as np
from scipy.spatial.transform import Rotation

from jaxsim.data import Data
from jaxsim.enums import ObjType
from jaxsim.model import Model
from jaxsim.pipeline.blank import initial_state
from jaxsim.viewer.cameras import FreeCamera, reach
from jaxsim.viewer.decor import Show, force_arrows, inertia_solids, sizes
from jaxsim.viewer.gltf import glb
from jaxsim.viewer.poses import POSE, Moment, contacts_of, frame_of, place
from jaxsim.viewer.scene import Part, Scene, make_scene

__all__ = ["Stage", "camera_wxyz"]

_FOVY = 45.0
"""Field of view where the model wants parallel rays, which the browser has not, degrees."""


@dataclasses.dataclass(frozen=True, eq=False)
class _Node:
    """Parts of one body and one group, drawn once for each world."""

    body: int
    kind: ObjType
    group: int
    handle: Any
    shared: bool


class Stage:
    """The model's bodies in a browser's scene.

    Attributes:
        offsets: Where the worlds stand, m, `(worlds, 3)`.
        overlays: What is drawn; of lights and centres of mass nothing is, and tendons of all groups are if those of any
            are.
    """

    def __init__(self, api: Any, model: Model, worlds: int) -> None:
        """Sends the meshes.

        Args:
            api: viser's scene.
            model: The model.
            worlds: How many worlds stand side by side.
        """
        self._api, self._model = api, model
        self.overlays = Show(sites=())
        self.scene: Scene = make_scene(model)
        start = initial_state(model)
        rest = {k: np.repeat(np.asarray(start[k])[..., None], worlds, -1) for k in POSE}
        placed, paths = self._placed(rest)
        self._start = frame_of(model, placed, paths, 0)
        self.offsets = _grid(self.scene, self._start, worlds)
        self._sizes = sizes(model)
        self._nodes = self._add_nodes()
        self._tips: dict[str, Any] = {}
        self._axes = self._inertia = None
        self._frusta: list[Any] = []

    def opening_view(self) -> tuple[np.ndarray, np.ndarray, float]:
        """Where the camera stands and what it looks at, m, so that all worlds are seen, and its field of view, rad."""
        centre, radius = reach(self.scene, [self._start])
        middle = centre + self.offsets.mean(0)
        radius += float(np.linalg.norm(self.offsets - self.offsets.mean(0), axis=1).max())
        free = self.scene.vis.global_
        angle = np.radians(_FOVY if free.orthographic else free.fovy)
        camera = FreeCamera(tuple(middle), 1.3 * radius / np.sin(angle / 2))  # the panel hides a part
        return camera.view(self.scene, [self._start], 3, 2).pos, middle, float(angle)

    def show(self, data: Data) -> list[Moment]:
        """Moves everything to where it is.

        Args:
            data: Worlds in front.

        Returns:
            The frames of the worlds whose overlays ask for them; the first world's at least.
        """
        placed, paths = self._placed({k: np.moveaxis(np.asarray(getattr(data, k)), 0, -1) for k in POSE})
        count = len(self.offsets)
        pos, wxyz = self._side_by_side(placed["xpos"], placed["xmat"])
        over = self.overlays
        for node in self._nodes:
            visible = node.group in (over.geoms if node.kind == ObjType.GEOM else over.sites)
            if node.handle.visible != visible:
                node.handle.visible = visible
            if visible and node.body and not node.shared:
                node.handle.batched_positions = np.ascontiguousarray(pos[node.body].T, np.float32)
                node.handle.batched_wxyzs = np.ascontiguousarray(wxyz[node.body], np.float32)
        many = bool(over.tendons) and paths is not None  # spatial ones
        found = [frame_of(self._model, placed, paths, k) for k in range(count if many else 1)]
        self._lay_over(data, found, placed, pos, wxyz)
        return found

    def _placed(self, state: dict[str, np.ndarray]) -> Any:
        """Results of `place` on the host."""
        return jax.device_get(place(self._model, state))

    def _side_by_side(self, pos: np.ndarray, mat: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Positions `(n, 3, W)` and quaternions `(n, W, 4)` of frames whose worlds stand where they are drawn."""
        count = len(self.offsets)
        pos, mat = (np.broadcast_to(x, (*x.shape[:-1], count)) for x in (pos, mat))
        return pos + self.offsets.T, _quaternions(mat)

    def _add_nodes(self) -> list[_Node]:
        groups: dict[tuple[int, ObjType, int, bool], list[Part]] = {}
        for part in self.scene.parts:
            shared = part.flat and part.body == 0  # one floor for all worlds
            groups.setdefault((part.body, part.kind, part.group, shared), []).append(part)
        nodes = []
        for (body, kind, group, shared), parts in groups.items():
            here, axes = self._start.xpos[body], self._start.xmat[body]
            geoms = (self._start.geom_xpos, self._start.geom_xmat)
            sites = (self._start.site_xpos, self._start.site_xmat)
            pos, mat = geoms if kind == ObjType.GEOM else sites
            local = [(axes.T @ (pos[p.id] - here), axes.T @ mat[p.id]) for p in parts]
            worlds = 1 if shared else len(self.offsets)
            places = self.offsets[:worlds] * (not shared) + here
            spin = np.broadcast_to(_quaternions(axes[..., None])[0], (worlds, 4))
            name = f"/bodies/{body}/{kind.name.lower()}/{group}{'/floor' if shared else ''}"
            handle = self._api.add_batched_glb(
                name, glb(parts, local), spin, places, lod="off", cast_shadow=not shared
            )
            nodes.append(_Node(body, kind, group, handle, shared))
        return nodes

    def _lay_over(
        self,
        data: Data,
        found: list[Moment],
        placed: dict[str, np.ndarray],
        pos: np.ndarray,
        wxyz: np.ndarray,
    ) -> None:
        over = self.overlays
        shifted = list(zip(found, self.offsets, strict=False))
        ropes: list[np.ndarray] = []
        if over.tendons:
            ropes = [
                np.stack([line[:-1], line[1:]], 1) + o
                for f, o in shifted
                for _, line in f.tendons
                if len(line) > 1
            ]
        self._segments("tendons", ropes, np.array([200, 60, 50]), 3.0)
        points, arrows = [], []
        if over.contacts or over.forces:
            for contacts, offset in zip(
                contacts_of(self._model, data, len(self.offsets)), self.offsets, strict=True
            ):
                if contacts is not None:
                    foot = contacts.pos + offset
                    points.append(foot)
                    arrows.append(np.stack([foot, foot + force_arrows(self._model, contacts.force)], 1))
        rgba, height = self.scene.vis.rgba, np.array([0.0, 0.0, self._sizes["contactheight"]])
        dots = [np.stack([p - height, p + height], 1) for p in points]
        self._segments("contacts", dots if over.contacts else [], _rgb(rgba.contactpoint), 10.0)
        self._segments("forces", arrows if over.forces else [], _rgb(rgba.contactforce), 4.0)
        self._show_axes(pos[1:], wxyz[1:])
        self._show_inertia(placed)
        self._show_cameras(found)

    def _segments(self, name: str, parts: list[np.ndarray], colour: np.ndarray, thickness: float) -> None:
        """Lines `(n, 2, 3)`, sent when there are any or have been."""
        points = np.concatenate(parts).astype(np.float32) if parts else np.zeros((0, 2, 3), np.float32)
        handle = self._tips.get(name)
        if handle is None and not len(points):
            return
        if handle is not None:
            handle.visible = bool(len(points))
            if len(points):
                handle.points = points
            return
        self._tips[name] = self._api.add_line_segments(
            f"/overlays/{name}", points, colour, thickness=thickness, thickness_units="screen"
        )

    def _show_axes(self, pos: np.ndarray, wxyz: np.ndarray) -> None:
        if self._axes is None and not self.overlays.frames:
            return
        places, spins = _flat(pos, wxyz)
        if self._axes is None:
            self._axes = self._api.add_batched_axes(
                "/overlays/frames",
                spins,
                places,
                axes_length=self._sizes["framelength"],
                axes_radius=self._sizes["framewidth"],
            )
        self._axes.visible = self.overlays.frames
        if self.overlays.frames:
            self._axes.batched_positions, self._axes.batched_wxyzs = places, spins

    def _show_inertia(self, placed: dict[str, np.ndarray]) -> None:
        if not self.overlays.inertia:
            if self._inertia is not None:
                self._inertia.visible = False
            return
        moving, half, solid = inertia_solids(self._model)
        if not len(moving):
            return
        places, spins = _flat(*self._side_by_side(placed["xipos"][moving], placed["ximat"][moving]))
        if self._inertia is None:
            unit, rgba = solid(np.ones(3)), self.scene.vis.rgba.inertia
            self._inertia = self._api.add_batched_meshes_simple(
                "/overlays/inertia",
                unit.vertices.astype(np.float32),
                unit.faces,
                spins,
                places,
                batched_scales=np.repeat(half, len(self.offsets), 0).astype(np.float32),
                batched_colors=_rgb(rgba),
                opacity=float(rgba[3]),
                cast_shadow=False,
                lod="off",
            )
        self._inertia.visible = True
        self._inertia.batched_positions, self._inertia.batched_wxyzs = places, spins

    def _show_cameras(self, found: list[Moment]) -> None:
        if not self._frusta and not self.overlays.cameras:
            return
        if not self._frusta:
            for k in range(self._model.ncam):
                fov = np.radians(float(self._model.cam_fovy[k])) if not self._model.cam_projection[k] else 0.1
                name = self._model.name(ObjType.CAMERA, k) or str(k)
                handle = self._api.add_camera_frustum(
                    f"/overlays/cameras/{name}",
                    fov,
                    4 / 3,
                    scale=2 * float(self._model.stat.meansize),
                    color=_rgb(self.scene.vis.rgba.camera),
                )
                self._frusta.append(handle)
        for k, handle in enumerate(self._frusta):
            handle.visible = self.overlays.cameras
            handle.position = found[0].cam_xpos[k] + self.offsets[0]
            handle.wxyz = camera_wxyz(found[0].cam_xmat[k])


def _rgb(rgba: np.ndarray) -> np.ndarray:
    """A colour as viser takes it, `(3,)`, uint8."""
    return (255 * np.clip(rgba[:3], 0, 1) + 0.5).astype(np.uint8)


def camera_wxyz(mat: np.ndarray) -> np.ndarray:
    """A camera's orientation as browsers count it, looking along +z with y down, `(4,)`; `mat` is a `cam_xmat`."""
    return _quaternions((mat * [1, -1, -1])[..., None])[0]


def _quaternions(mat: np.ndarray) -> np.ndarray:
    """Unit quaternions `(..., W, 4)`, real part first, of matrices `(..., 3, 3, W)`."""
    moved = np.moveaxis(np.asarray(mat, float), -1, -3)
    flat = Rotation.from_matrix(moved.reshape(-1, 3, 3)).as_quat()
    return flat[:, [3, 0, 1, 2]].reshape(*moved.shape[:-2], 4)


def _flat(pos: np.ndarray, wxyz: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Positions `(n, 3, W)` and quaternions `(n, W, 4)` as rows, frame by frame, as viser takes them."""
    places = np.ascontiguousarray(np.moveaxis(pos, -1, 1).reshape(-1, 3), np.float32)
    return places, np.ascontiguousarray(wxyz.reshape(-1, 4), np.float32)


def _grid(scene: Scene, start: Moment, worlds: int) -> np.ndarray:
    """Places of the worlds on a grid, the first at the origin, m, `(worlds, 3)`."""
    _, radius = reach(scene, [start])
    columns = int(np.ceil(np.sqrt(worlds)))
    k = np.arange(worlds)
    return 1.6 * radius * np.stack([k % columns, k // columns, 0 * k], 1).astype(float)
