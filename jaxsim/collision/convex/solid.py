"""Convex geoms as sums of simple sets: an ellipsoid, a box or a hull of points, and a ball.

The support point of a Minkowski sum is the sum of the support points of its parts, so that one support function serves
all kinds: a cylinder is a flat ellipsoid (its disk) plus a flat box (its axis). The ball is kept apart: distances
are computed between the sums of the other parts, the *cores*, and shortened by the radii. Shallow contacts of
spheres and capsules, whose cores are a point and a segment, are then separations of their cores.
"""

from __future__ import annotations

from typing import NamedTuple

import jax.numpy as jnp
from jax import Array

from jaxsim.collision.convex.hull import Corners, Hull, corner_at, farthest_corner, hull_of
from jaxsim.collision.points import Shape
from jaxsim.collision.vec import Vec
from jaxsim.enums import GeomType

__all__ = ["KINDS", "Kind", "Solid", "corner_number", "corner_point", "radius_of", "solid_of", "support"]

_Parts = tuple[int | None, int | None, int | None]


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

    @property
    def smooth(self) -> bool:
        """Whether the core has curved parts."""
        return self.round is not None

    @property
    def cornered(self) -> bool:
        """Whether the core has parts with corners."""
        return self.mesh or self.box is not None


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
    """The numbers of a geom's core in its own frame; components (npair, 1 or W).

    Attributes:
      size: sizes of the geom, m.
      hull: the corners of a mesh or a prism; None: neither.
    """

    size: Vec
    hull: Hull | Corners | None = None


def solid_of(kind: Kind, shape: Shape) -> Solid:
    """The core of a geom."""
    return Solid(shape.size, hull_of(shape) if kind.mesh else None)


def radius_of(kind: Kind, size: Vec) -> Array:
    """Radius of the ball around the core, m."""
    return jnp.zeros_like(size.x) if kind.ball is None else size[kind.ball]


def corner_number(kind: Kind, solid: Solid, direction: Vec) -> Array:
    """The number of the corner of a core's box or hull that is farthest in a direction (as in `corner_point`).

    It must be computed once, and the point from it: where corners tie, rounding errors decide, and those differ between
    two kernels that XLA makes of one expression.
    """
    if solid.hull is not None:
        return farthest_corner(solid.hull, direction)
    if kind.box is None:
        return jnp.zeros(direction.x.shape, jnp.int32)
    bits = [(c >= 0).astype(jnp.int32) << i for i, c in enumerate(direction) if kind.box[i] is not None]
    return sum(bits[1:], start=bits[0])


def support(kind: Kind, solid: Solid, direction: Vec, corner: Array) -> Vec:
    """The point of a core that is farthest in a direction, in the geom's frame.

    Args:
      kind: what the geom is the sum of.
      solid: its numbers.
      direction: direction in the geom's frame, of any length; zero gives some point of the core.
      corner: its number, see `corner_number`.
    """
    point = Vec(*(jnp.zeros_like(direction.x) for _ in range(3)))
    if kind.round is not None:
        point = round_support(kind.round, solid.size, direction)
    if kind.cornered:
        point = point + corner_point(kind, solid, corner)
    return point


def round_support(parts: _Parts, size: Vec, direction: Vec) -> Vec:
    """Support point of the ellipsoid: with S the semi-axes, S^2 d / |S d|; 0 where |S d| vanishes."""
    scaled = [None if k is None else size[k] * d for k, d in zip(parts, direction, strict=True)]
    square = sum((c * c for c in scaled if c is not None), start=jnp.zeros((), direction.x.dtype))
    some = square > 0
    inverse = jnp.where(some, 1.0 / jnp.sqrt(jnp.where(some, square, 1.0)), 0.0)
    zero = jnp.zeros_like(inverse)
    return Vec(
        *(
            zero if k is None or c is None else size[k] * c * inverse
            for k, c in zip(parts, scaled, strict=True)
        )
    )


def corner_point(kind: Kind, solid: Solid, corner: Array) -> Vec:
    """Corner of the box by number, bit i is set where coordinate i is positive; or of a hull, see `farthest_corner`."""
    if solid.hull is not None:
        return corner_at(solid.hull, corner)
    assert kind.box is not None
    size = solid.size
    zero = jnp.zeros(corner.shape, size.x.dtype)
    return Vec(
        *(
            zero if k is None else jnp.where((corner >> i) & 1 > 0, size[k], -size[k])
            for i, k in enumerate(kind.box)
        )
    )
