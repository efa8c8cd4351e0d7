"""Convex geoms as sums of simple sets: an ellipsoid, a box or a hull of points, and a ball.

The support point of a Minkowski sum is the sum of the support points of its parts, so that one support function serves
all kinds: a cylinder is a flat ellipsoid (its disk) plus a flat box (its axis). The ball is kept apart: distances
are computed between the sums of the other parts, the *cores*, and shortened by the radii. Shallow contacts of
spheres and capsules, whose cores are a point and a segment, are then separations of their cores.

The parts are numbers, so that geoms of several types can be computed together: what a type lacks is zero.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import NamedTuple

import jax.numpy as jnp
from jax import Array

from jaxsim.collision.convex.hull import Corners, Hull, corner_at, farthest_corners
from jaxsim.collision.points import Shape
from jaxsim.collision.vec import Vec
from jaxsim.enums import GeomType

__all__ = ["KINDS", "Kind", "Solid", "box_corner", "corner_numbers", "corner_point", "solid_of", "support"]

_Parts = tuple[int | None, int | None, int | None]
_NONE: _Parts = (None, None, None)


class Kind(NamedTuple):
    """What a type of geom is the sum of.

    Attributes:
      round: which of the geom's sizes are the semi-axes of the ellipsoid, None: 0; None: no ellipsoid.
      box: which sizes are the half sizes of the box.
      ball: which size is the radius of the ball.
      mesh: whether there is a hull of points, a mesh or a prism.
      faces: whether it has flat faces.
      edges: whether it has straight edges.
    """

    round: _Parts | None = None
    box: _Parts | None = None
    ball: int | None = None
    mesh: bool = False
    faces: bool = False
    edges: bool = False


KINDS: dict[GeomType, Kind] = {
    # one prism of it
    GeomType.HFIELD: Kind(mesh=True, faces=True, edges=True),
    GeomType.SPHERE: Kind(ball=0),
    GeomType.CAPSULE: Kind(box=(None, None, 1), ball=0, edges=True),
    GeomType.ELLIPSOID: Kind(round=(0, 1, 2)),
    GeomType.CYLINDER: Kind(round=(0, 0, None), box=(None, None, 1), faces=True, edges=True),
    GeomType.BOX: Kind(box=(0, 1, 2), faces=True, edges=True),
    GeomType.MESH: Kind(mesh=True, faces=True, edges=True),
}


class Solid(NamedTuple):
    """The parts of geoms in their own frames; components (npair, 1 or W), None: no geom has that part.

    Attributes:
      ball: radius of the ball around the core, m.
      round: semi-axes of the ellipsoid, m.
      curved: which geoms have such a part.
      disk: of which it is flat, a disk about the z axis.
      box: half sizes of the box, m.
      hull: the corners of a mesh or a prism.
      meshed: which geoms have such a hull; None: all.
    """

    ball: Array
    round: Vec | None = None
    curved: Array | None = None
    disk: Array | None = None
    box: Vec | None = None
    hull: Hull | Corners | None = None
    meshed: Array | None = None

    @property
    def cornered(self) -> bool:
        """Whether there are parts with corners."""
        return self.box is not None or self.hull is not None


def solid_of(types: Sequence[int], shape: Shape) -> Solid:
    """The parts of geoms of some types."""
    kinds = {t: KINDS[GeomType(t)] for t in types}

    def having(some: Callable[[Kind], bool]) -> Array:
        """Which geoms are of such a type."""
        which = [t for t, kind in kinds.items() if some(kind)]
        if len(which) == len(kinds):
            return jnp.ones_like(shape.kind, bool)
        return functools.reduce(
            jnp.logical_or, (shape.kind == t for t in which), jnp.zeros_like(shape.kind, bool)
        )

    def part(some: Callable[[Kind], bool]) -> Array | None:
        """The same; None: no type is such."""
        return having(some) if any(map(some, kinds.values())) else None

    def sizes(index: Callable[[Kind], int | None]) -> Array:
        total = jnp.zeros_like(shape.size.x)
        for k in sorted({k for k in map(index, kinds.values()) if k is not None}):
            own = having(lambda kind, k=k: index(kind) == k)
            total = jnp.where(own, shape.size[k], total)
        return total

    def extents(parts: Callable[[Kind], _Parts | None]) -> Vec | None:
        if all(parts(kind) is None for kind in kinds.values()):
            return None
        return Vec(*(sizes(lambda kind, i=i: (parts(kind) or _NONE)[i]) for i in range(3)))

    hull, meshed = None, part(lambda kind: kind.mesh)
    if meshed is not None:
        hull = shape.assets if isinstance(shape.assets, Corners) else Hull(shape.asset, shape.assets)
    return Solid(
        sizes(lambda kind: kind.ball),
        extents(lambda kind: kind.round),
        part(lambda kind: kind.round is not None),
        part(lambda kind: None in (kind.round or ())),
        extents(lambda kind: kind.box),
        hull,
        None if all(kind.mesh for kind in kinds.values()) else meshed,
    )


def corner_numbers(asked: Sequence[tuple[Solid, Vec]]) -> list[Array]:
    """The number of the corner of a core's box or hull that is farthest in a direction (as in `corner_point`).

    It must be computed once, and the point from it: where corners tie, rounding errors decide, and those differ between
    two kernels that XLA makes of one expression.

    Args:
      asked: cores of one type and directions in the geoms' frames, of any length; and the next type.
    """
    found = iter(farthest_corners([(solid.hull, v) for solid, v in asked if solid.hull is not None]))
    numbers = []
    for solid, direction in asked:
        number = _box_corner(solid, direction) if solid.hull is None else next(found)
        if solid.meshed is not None:
            number = jnp.where(solid.meshed, number, _box_corner(solid, direction))
        numbers.append(number)
    return numbers


def _box_corner(solid: Solid, direction: Vec) -> Array:
    if solid.box is None:
        return jnp.zeros(direction.x.shape, jnp.int32)
    bits = [(c >= 0).astype(jnp.int32) << i for i, c in enumerate(direction)]
    return bits[0] | bits[1] | bits[2]


def support(solid: Solid, direction: Vec, corner: Array) -> Vec:
    """The point of a core that is farthest in a direction, in the geom's frame.

    Args:
      solid: the geom.
      direction: direction in the geom's frame, of any length; zero gives some point of the core.
      corner: its number, see `corner_numbers`.
    """
    point = Vec(*(jnp.zeros_like(direction.x) for _ in range(3)))
    if solid.round is not None:
        point = _round_support(solid.round, direction)
    if solid.cornered:
        point = point + corner_point(solid, corner)
    return point


def _round_support(semi: Vec, direction: Vec) -> Vec:
    """Support point of the ellipsoid: with S the semi-axes, S^2 d / |S d|; 0 where |S d| vanishes."""
    scaled = semi.scaled(direction)
    square = scaled.dot(scaled)
    some = square > 0
    inverse = jnp.where(some, 1.0 / jnp.sqrt(jnp.where(some, square, 1.0)), 0.0)
    return semi.scaled(scaled) * inverse


def box_corner(half: Vec, corner: Array) -> Vec:
    """Corner of a box of half sizes by number: coordinate i is positive where bit i is set."""
    return Vec(*(jnp.where((corner >> i) & 1 > 0, h, -h) for i, h in enumerate(half)))


def corner_point(solid: Solid, corner: Array) -> Vec:
    """Corner of the box by number, bit i: coordinate i is positive; or of a hull, see `farthest_corners`."""
    if solid.hull is None:
        point = None
    elif solid.meshed is None:
        point = corner_at(solid.hull, corner)
    else:
        vertex = corner_at(solid.hull, jnp.where(solid.meshed, corner, 0))
        point = vertex.where(solid.meshed, vertex * 0.0)
    if solid.box is not None:
        # of a mesh it is zero
        box = box_corner(solid.box, corner)
        point = box if point is None else point + box
    assert point is not None
    return point
