"""What is not a geom: tendons, contacts and their forces, frames, boxes of inertia, cameras and lights, as items."""

from __future__ import annotations

import dataclasses
import functools
import itertools
from collections.abc import Collection, Iterator

import numpy as np

from jaxsim.enums import ObjType
from jaxsim.model import Model
from jaxsim.viewer.poses import Moment
from jaxsim.viewer.scene import GROUPS, Look, Part, Scene, colour
from jaxsim.viewer.shapes import Mesh, arrow, box, capsule, cylinder

__all__ = ["Item", "Show", "force_arrows", "inertia_boxes", "items", "spin_to"]


@dataclasses.dataclass(frozen=True)
class Show:
    """What is drawn.

    Attributes:
        geoms: Groups of geoms.
        sites: Groups of sites.
        tendons: Groups of tendons.
        contacts: Discs at contact points.
        forces: Arrows of contact forces.
        frames: Axes of bodies.
        inertia: Boxes with the bodies' mass and inertia.
        cameras: The model's cameras.
        lights: The model's lights.
    """

    geoms: Collection[int] = GROUPS
    sites: Collection[int] = GROUPS
    tendons: Collection[int] = GROUPS
    contacts: bool = False
    forces: bool = False
    frames: bool = False
    inertia: bool = False
    cameras: bool = False
    lights: bool = False


@dataclasses.dataclass(frozen=True, eq=False)
class Item:
    """A mesh in its place.

    Attributes:
        mesh: In its own frame.
        look: Of its surface.
        pos: m, world frame, `(3,)`.
        mat: `(3, 3)`.
        flat: Whether it is a plane, seen from above alone.
        shadow: Whether it casts one.
    """

    mesh: Mesh
    look: Look
    pos: np.ndarray
    mat: np.ndarray
    flat: bool = False
    shadow: bool = True


def items(model: Model, scene: Scene, frame: Moment, show: Show) -> list[Item]:
    """All that is drawn at one moment."""
    found = [_part(part, frame) for part in scene.parts if part.group in _groups(part, show)]
    found += _tendons(model, frame, show)
    scale = float(model.stat.meansize)
    if show.contacts or show.forces:
        found += _contacts(model, frame, scale, show)
    if show.frames:
        found += [i for b in range(1, model.nbody) for i in _axes(frame.xpos[b], frame.xmat[b], scale)]
    if show.inertia:
        found += _inertia(model, frame)
    if show.cameras:
        look = Look(np.array([0.6, 0.9, 0.6, 1.0]))
        places = zip(frame.cam_xpos, frame.cam_xmat, strict=True)
        found += [
            Item(box(0.3 * scale * np.array([0.6, 0.4, 0.8])), look, p, m, shadow=False) for p, m in places
        ]
    if show.lights:
        look = Look(np.array([0.6, 0.6, 0.9, 1.0]), emission=0.5)
        mesh = cylinder(0.3 * scale, 0.2 * scale)
        places = zip(frame.light_xpos, frame.light_xdir, strict=True)
        found += [Item(mesh, look, p, spin_to(d), shadow=False) for p, d in places]
    return found


def _groups(part: Part, show: Show) -> Collection[int]:
    return show.geoms if part.kind == ObjType.GEOM else show.sites


def _part(part: Part, frame: Moment) -> Item:
    pos, mat = (
        (frame.geom_xpos, frame.geom_xmat)
        if part.kind == ObjType.GEOM
        else (frame.site_xpos, frame.site_xmat)
    )
    shadow = not part.flat and part.look.rgba[3] >= 1
    return Item(part.mesh, part.look, pos[part.id], mat[part.id], part.flat, shadow)


def spin_to(direction: np.ndarray) -> np.ndarray:
    """A rotation `(3, 3)` whose third column is along a direction `(3,)`."""
    z = direction / max(float(np.linalg.norm(direction)), 1e-12)
    x = np.cross(np.eye(3)[np.abs(z).argmin()], z)
    x /= max(float(np.linalg.norm(x)), 1e-12)
    return np.stack([x, np.cross(z, x), z], 1)


def _tendons(model: Model, frame: Moment, show: Show) -> Iterator[Item]:
    """Capsules along the paths of spatial tendons."""
    for tendon, points in frame.tendons:
        own = np.asarray(model.tendon_rgba[tendon], float)
        rgba = colour(model, int(model.tendon_matid[tendon]), own)
        if int(model.tendon_group[tendon]) not in show.tendons or rgba[3] <= 0:
            continue
        width, look = float(model.tendon_width[tendon]), Look(rgba)
        for a, b in itertools.pairwise(points):
            length = float(np.linalg.norm(b - a))
            if length > 1e-9:
                yield Item(capsule(width, length / 2), look, (a + b) / 2, spin_to(b - a))


def _contacts(model: Model, frame: Moment, scale: float, show: Show) -> Iterator[Item]:
    """Discs at contact points, and arrows whose length is the force in parts of the model's weight."""
    if frame.contacts is None:
        return
    arrows = force_arrows(model, frame.contacts.force)
    disc, point = cylinder(0.25 * scale, 0.02 * scale), Look(np.array([0.9, 0.6, 0.2, 1.0]))
    pushed = Look(np.array([1.0, 0.4, 0.3, 1.0]), emission=0.3)
    for pos, axes, along in zip(frame.contacts.pos, frame.contacts.frame, arrows, strict=True):
        if show.contacts:
            yield Item(disc, point, pos, spin_to(axes[0]), shadow=False)
        length = float(np.linalg.norm(along))
        if show.forces and length > 1e-5 * scale:
            yield Item(arrow(length, 0.08 * scale), pushed, pos, spin_to(along), shadow=False)


def force_arrows(model: Model, force: np.ndarray) -> np.ndarray:
    """Arrows `(n, 3)`, m, of forces `(n, 3)`, N: 12 mean sizes for the model's weight, at most 40."""
    scale = float(model.stat.meansize)
    weight = max(float(model.body_subtreemass[0]) * float(np.linalg.norm(model.opt.gravity)), 1e-9)
    arrows = 12 * scale / weight * force
    length = np.linalg.norm(arrows, axis=-1, keepdims=True)
    return arrows * np.minimum(1, 40 * scale / np.maximum(length, 1e-9))


@functools.lru_cache(maxsize=8)
def _axis(scale: float) -> Mesh:
    return arrow(1.2 * scale, 0.04 * scale)


def _axes(pos: np.ndarray, mat: np.ndarray, scale: float) -> Iterator[Item]:
    """Arrows along x, y and z: red, green and blue."""
    for k in range(3):
        rgba = np.append(0.15 + 0.75 * np.eye(3)[k], 1.0)
        yield Item(_axis(scale), Look(rgba, emission=0.4), pos, spin_to(mat[:, k]), shadow=False)


def _inertia(model: Model, frame: Moment) -> Iterator[Item]:
    look = Look(np.array([0.8, 0.2, 0.2, 0.6]))
    for b, half in zip(*inertia_boxes(model), strict=True):
        yield Item(box(half), look, frame.xipos[b], frame.ximat[b], shadow=False)


def inertia_boxes(model: Model) -> tuple[np.ndarray, np.ndarray]:
    """The bodies with mass `(n,)`, and half sizes (m) of the solid boxes that have their principal moments `(n, 3)`.

    Source: XML reference, "body/inertial".
    """
    moving = np.flatnonzero(np.asarray(model.body_mass) > 0)
    mass = np.asarray(model.body_mass, float)[moving, None]
    moments = np.asarray(model.body_inertia, float)[moving]
    squares = 1.5 * (moments.sum(1, keepdims=True) - 2 * moments) / mass
    return moving, np.sqrt(np.maximum(squares, 1e-12))
