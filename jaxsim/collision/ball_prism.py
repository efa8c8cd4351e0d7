"""A ball against upright prisms with a slanted top: closed forms, for height fields.

Outside, the nearest point is that of the nearest of the eight triangles that make the prism's surface; inside, the
ball leaves through the nearest face. Where a point is nearest to the inside of a face, distance and normal are the
plane's on both sides, so that nothing happens as the centre goes through the surface. Source: C. Ericson, "Real-Time
Collision Detection" (2005), section 5.1.5.
"""

from __future__ import annotations

import jax.numpy as jnp
from jax import Array, lax

from jaxsim.collision.points import Points
from jaxsim.collision.vec import Vec, unit
from jaxsim.math.stage import stage

__all__ = ["ball_prism"]

_TRIANGLES = ((0, 1, 2), (3, 4, 5), (0, 1, 4), (0, 4, 3), (1, 2, 5), (1, 5, 4), (2, 0, 3), (2, 3, 5))
"""Corners of the triangles: three on top, then those below them."""
_FACE = (0, 1, 2, 2, 3, 3, 4, 4)
"""Which face each is of: top, bottom, three sides."""


@stage
def ball_prism(top: tuple[Vec, Vec, Vec], base: Array, centre: Vec, radius: Array) -> Points:
    """One point a prism; all in the frame in which prisms are upright, shapes broadcast.

    Args:
      top: corners of the triangles on top, m, seen from above in any order.
      base: height of the bottoms, below the tops, m.
      centre: centres of the balls, m.
      radius: their radii, m.
    """
    # relative to a corner near the ball: of large coordinates differences are left
    origin = top[0]
    point = centre - origin
    corners = [c - origin for c in top]
    corners += [Vec(c.x, c.y, base - origin.z) for c in corners]
    normals = _normals(corners)
    sides = [(point - corners[k]).dot(n) for k, n in zip((0, 3, 0, 1, 2), normals, strict=True)]
    depth, leave = sides[0], normals[0]
    for side, normal in zip(sides[1:], normals[1:], strict=True):
        nearer = side > depth
        depth, leave = jnp.where(nearer, side, depth), normal.where(nearer, leave)
    inside = lax.stop_gradient(depth) <= 0

    best, dist, normal = None, depth, leave
    for (i, j, k), face in zip(_TRIANGLES, _FACE, strict=True):
        nearest, flat = _nearest(point, corners[i], corners[j], corners[k])
        gap = point - nearest
        direction, length = unit(gap, normals[face].stop())
        length = jnp.where(flat, sides[face], length)
        square = lax.stop_gradient(jnp.where(flat & (sides[face] < 0), jnp.inf, gap.dot(gap)))
        nearer = ~inside if best is None else ~inside & (square < best)
        best = square if best is None else jnp.minimum(best, square)
        dist = jnp.where(nearer, length, dist)
        normal = normals[face].where(flat, direction).where(nearer, normal)
    place = origin + point - normal * (0.5 * (dist + radius))
    return Points(dist - radius, place, normal)


def _normals(corners: list[Vec]) -> list[Vec]:
    """Outward unit normals of top, bottom and the sides from each corner to the next."""
    above = (corners[1] - corners[0]).cross(corners[2] - corners[0])
    turn = jnp.where(above.z > 0, 1.0, -1.0).astype(above.z.dtype)
    zero = jnp.zeros_like(turn)
    normals = [above * turn, Vec(zero, zero, zero - 1.0)]
    for k in range(3):
        edge = corners[(k + 1) % 3] - corners[k]
        normals.append(Vec(edge.y * turn, -edge.x * turn, zero))
    # cells have a width and a depth
    return [n * (1.0 / jnp.sqrt(n.dot(n))) for n in normals]


def _nearest(p: Vec, a: Vec, b: Vec, c: Vec) -> tuple[Vec, Array]:
    """The point of a triangle nearest to p, and whether it is inside of the triangle."""
    ab, ac = b - a, c - a
    d1, d2 = ab.dot(p - a), ac.dot(p - a)
    d3, d4 = ab.dot(p - b), ac.dot(p - b)
    d5, d6 = ab.dot(p - c), ac.dot(p - c)
    va, vb, vc = d3 * d6 - d5 * d4, d5 * d2 - d1 * d6, d1 * d4 - d3 * d2
    up, down = d4 - d3, d5 - d6
    regions = (
        ((d1 <= 0) & (d2 <= 0), _share(d1, None), _share(d1, None)),
        ((d3 >= 0) & (d4 <= d3), _share(d1, None) + 1.0, _share(d1, None)),
        ((d6 >= 0) & (d5 <= d6), _share(d1, None), _share(d1, None) + 1.0),
        ((vc <= 0) & (d1 >= 0) & (d3 <= 0), _share(d1, d1 - d3), _share(d1, None)),
        ((vb <= 0) & (d2 >= 0) & (d6 <= 0), _share(d1, None), _share(d2, d2 - d6)),
        ((va <= 0) & (up >= 0) & (down >= 0), 1.0 - _share(up, up + down), _share(up, up + down)),
    )
    whole = va + vb + vc
    v, w = _share(vb, whole), _share(vc, whole)
    flat = jnp.ones(v.shape, bool)
    for here, one, other in reversed(regions):
        v, w, flat = jnp.where(here, one, v), jnp.where(here, other, w), flat & ~here
    return a + ab * v + ac * w, flat


def _share(part: Array, whole: Array | None) -> Array:
    """The quotient, 0 where there is none."""
    if whole is None:
        return jnp.zeros_like(part)
    some = whole != 0
    return jnp.where(some, part / jnp.where(some, whole, 1.0), 0.0)
