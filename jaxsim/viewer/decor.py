"""What is not a geom: tendons, contacts and their forces, frames, boxes of inertia, cameras and lights, as items."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable, Collection, Iterator, Mapping

import numpy as np

from jaxsim.enums import ObjType
from jaxsim.model import Model
from jaxsim.viewer.poses import Moment
from jaxsim.viewer.scene import GROUPS, Look, Part, Scene, colour
from jaxsim.viewer.shapes import Mesh, arrow, box, capsule, cylinder, ellipsoid

__all__ = ["Item", "Show", "force_arrows", "inertia_solids", "items", "sizes", "spin_to"]


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
        com: Balls at the centres of mass of the trees below the world.
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
    com: bool = False
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
    size, rgba = sizes(model), model.vis.rgba
    if show.contacts or show.forces:
        found += _contacts(model, frame, size, show)
    if show.frames:
        length, width = size["framelength"], size["framewidth"]
        rod = cylinder(width, length / 2)
        for b in range(1, model.nbody):
            found += _axes(frame.xpos[b], frame.xmat[b], rod, length)
    if show.com:
        ball, roots = ellipsoid(np.full(3, size["com"])), np.unique(model.body_rootid[1:])
        found += [Item(ball, Look(rgba.com), frame.subtree_com[b], np.eye(3), shadow=False) for b in roots]
    if show.inertia:
        found += _inertia(model, frame)
    if show.cameras:
        mesh = box(size["camera"] * np.array([0.6, 0.4, 0.8]))
        places = zip(frame.cam_xpos, frame.cam_xmat, strict=True)
        found += [Item(mesh, Look(rgba.camera), p, m, shadow=False) for p, m in places]
    if show.lights:
        mesh = cylinder(size["light"], 2 / 3 * size["light"])
        places = zip(frame.light_xpos, frame.light_xdir, strict=True)
        found += [Item(mesh, Look(rgba.light, emission=0.5), p, spin_to(d), shadow=False) for p, d in places]
    return found


def sizes(model: Model) -> dict[str, float]:
    """`model.vis.scale` in m, by name."""
    unit = float(model.stat.meansize)
    return {name: unit * float(part) for name, part in model.vis.scale.static.fields.items()}


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


def _contacts(model: Model, frame: Moment, size: Mapping[str, float], show: Show) -> Iterator[Item]:
    """Discs at contact points, and arrows of forces."""
    if frame.contacts is None:
        return
    arrows = force_arrows(model, frame.contacts.force)
    disc, point = cylinder(size["contactwidth"], size["contactheight"]), Look(model.vis.rgba.contactpoint)
    pushed = Look(model.vis.rgba.contactforce, emission=0.3)
    for pos, axes, along in zip(frame.contacts.pos, frame.contacts.frame, arrows, strict=True):
        if show.contacts:
            yield Item(disc, point, pos, spin_to(axes[0]), shadow=False)
        length = float(np.linalg.norm(along))
        if show.forces and length > 1e-4 * size["forcewidth"]:
            yield Item(arrow(length, size["forcewidth"]), pushed, pos, spin_to(along), shadow=False)


def force_arrows(model: Model, force: np.ndarray) -> np.ndarray:
    """Arrows `(n, 3)`, m, of forces `(n, 3)`, N, as `map.force` says, but at most 40 mean sizes long."""
    arrows = model.vis.map.force / max(float(model.stat.meanmass), 1e-9) * force
    length = np.linalg.norm(arrows, axis=-1, keepdims=True)
    return arrows * np.minimum(1, 40 * float(model.stat.meansize) / np.maximum(length, 1e-9))


def _axes(pos: np.ndarray, mat: np.ndarray, rod: Mesh, length: float) -> Iterator[Item]:
    """Rods along x, y and z: red, green and blue."""
    for k in range(3):
        look = Look(np.append(0.9 * np.eye(3)[k], 1.0), emission=0.4)
        yield Item(rod, look, pos + length / 2 * mat[:, k], spin_to(mat[:, k]), shadow=False)


def _inertia(model: Model, frame: Moment) -> Iterator[Item]:
    look = Look(model.vis.rgba.inertia)
    bodies, halves, solid = inertia_solids(model)
    for b, half in zip(bodies, halves, strict=True):
        yield Item(solid(half), look, frame.xipos[b], frame.ximat[b], shadow=False)


def inertia_solids(model: Model) -> tuple[np.ndarray, np.ndarray, Callable[[np.ndarray], Mesh]]:
    """Boxes, or ellipsoids if `vis` says so, that have the bodies' masses and principal moments.

    Source: L. D. Landau, E. M. Lifshitz, "Mechanics", section 32: with half axes a, I_x = m (a_y^2 + a_z^2) / 3 of a
    box, / 5 of an ellipsoid.

    Returns:
        The bodies with mass, `(n,)`; their half sizes, m, `(n, 3)`; what makes a mesh of half sizes.
    """
    rounded = model.vis.global_.ellipsoidinertia
    moving = np.flatnonzero(np.asarray(model.body_mass) > 0)
    mass = np.asarray(model.body_mass, float)[moving, None]
    moments = np.asarray(model.body_inertia, float)[moving]
    squares = (5 if rounded else 3) / 2 * (moments.sum(1, keepdims=True) - 2 * moments) / mass
    return moving, np.sqrt(np.maximum(squares, 1e-12)), ellipsoid if rounded else box
