"""The paths of spatial tendons as polylines: straight pieces, and arcs on the geoms that they wrap around."""

from __future__ import annotations

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxsim.data import Data
from jaxsim.enums import GeomType
from jaxsim.math.axis import concat, take
from jaxsim.math.gather import width_of
from jaxsim.model import Model
from jaxsim.pipeline.tendon.path import places, wrapped
from jaxsim.pipeline.tendon.wrap import Contact
from jaxsim.structure.tendons import tendon_paths

__all__ = ["Routes", "pieces", "routes"]

_ARC = 0.2
"""Angle between points of an arc, rad."""


class Routes(NamedTuple):
    """The segments of all tendons, in the order of `structure.tendons.Paths`; worlds last.

    Attributes:
        straight: Where straight segments begin and end, m, world frame, each `(n, 3, W)`.
        wrapping: The same for segments with a geom.
        centre: Centres of the geoms, `(n, 3, W)`.
        axes: Axes of the geoms, `(n, 3, 3, W)`.
        contact: How segments touch their geoms, in the frames of these.
    """

    straight: tuple[Array, Array]
    wrapping: tuple[Array, Array]
    centre: Array
    axes: Array
    contact: Contact | None


def routes(model: Model, data: Data) -> Routes | None:
    """The segments of all spatial tendons; model and data in native layout, after `kinematics`."""
    if not model.ntendon:
        return None
    paths, at = tendon_paths(model.static), places(model, data)
    if not len(paths.wrapping.tendon):
        return Routes(at.straight, at.wrapping, at.centre, at.axes, None)
    radius = take(model.geom_size[:, 0], paths.wrapping.geom)
    parts = wrapped(at, radius, paths)
    width = width_of(parts)
    spread = [[jnp.broadcast_to(x, (*x.shape[:-1], width)) for x in part] for part in parts]
    found = Contact(*(concat(list(columns)) for columns in zip(*spread, strict=True)))
    return Routes(at.straight, at.wrapping, at.centre, at.axes, found)


def pieces(model: Model, found: Routes | None, world: int) -> tuple[tuple[int, np.ndarray], ...]:
    """Tendon and points `(k, 3)`, m, world frame, of every segment in one world; `found` on the host."""
    if found is None:
        return ()

    def one(x: Array) -> np.ndarray:
        return np.asarray(x[..., min(world, x.shape[-1] - 1)], float)

    paths = tendon_paths(model.static)
    ends = np.stack([one(x) for x in found.straight], 1)
    lines = [(int(t), e) for t, e in zip(paths.straight.tendon, ends, strict=True)]
    if found.contact is None:
        return tuple(lines)
    first, last = (one(x) for x in found.wrapping)
    centre, axes = one(found.centre), one(found.axes)
    touches, _, ahead, _, start, end = (one(x) for x in found.contact)
    spheres = np.asarray(model.geom_type)[paths.wrapping.geom] == GeomType.SPHERE
    for k, tendon in enumerate(paths.wrapping.tendon):
        points = [first[k], last[k]]
        if touches[k]:
            arc = _arc(start[k], end[k], ahead[k], bool(spheres[k]))
            points[1:1] = list(arc @ axes[k].T + centre[k])
        lines.append((int(tendon), np.array(points)))
    return tuple(lines)


def _arc(start: np.ndarray, end: np.ndarray, ahead: np.ndarray, sphere: bool) -> np.ndarray:
    """Points from `start` to `end` about the centre of a sphere, or about the z axis; the path begins along `ahead`."""
    flat = np.ones(3) if sphere else np.array([1.0, 1.0, 0.0])
    a, b, way = start * flat, end * flat, ahead * flat
    radius = np.linalg.norm(a)
    if radius < 1e-9:
        return np.stack([start, end])
    x = a / radius
    y = way - (way @ x) * x
    length = np.linalg.norm(y)
    if length < 1e-9:
        return np.stack([start, end])
    y /= length
    angle = np.arctan2(b @ y, b @ x)
    angle += 2 * np.pi if angle < -1e-6 else 0.0
    t = np.linspace(0, 1, max(2, int(np.ceil(angle / _ARC)) + 1))[:, None]
    round_ = radius * (np.cos(angle * t) * x + np.sin(angle * t) * y)
    return round_ + (1 - flat) * (start + t * (end - start))
