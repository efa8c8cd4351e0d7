"""A ball against upright prisms with a slanted top: closed forms, for height fields.

Outside, the nearest point is on the bottom if the centre is below it; else on the top triangle, or on a side wall at
the centre's own height. Inside, the ball leaves through the nearest face. Where a point is nearest to the inside of a
face, distance and normal are the plane's on both sides, so that nothing happens as the centre goes through the surface.
Source: C. Ericson, "Real-Time Collision Detection" (2005), section 5.1.5.
"""

from __future__ import annotations

import jax.numpy as jnp
from jax import Array, lax

from jaxsim.collision.points import Points
from jaxsim.collision.vec import Vec, unit
from jaxsim.math.stage import stage

__all__ = ["ball_prism"]


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
    floor = base - origin.z
    normals = _normals(corners)
    on = (corners[0], Vec(point.x, point.y, floor), *corners)
    sides = [(point - place).dot(n) for place, n in zip(on, normals, strict=True)]
    depth, leave = sides[0], normals[0]
    for side, normal in zip(sides[1:], normals[1:], strict=True):
        nearer = side > depth
        depth, leave = jnp.where(nearer, side, depth), normal.where(nearer, leave)
    inside = lax.stop_gradient(depth) <= 0

    under = point.z < floor
    ends = [Vec(c.x, c.y, jnp.where(under, floor, c.z)) for c in corners]
    nearest, flat = _nearest(point, *ends)
    cap = jnp.where(under, sides[1], sides[0]), normals[1].where(under, normals[0])
    found = [(nearest, flat, jnp.ones_like(flat), *cap)]
    for k in range(3):
        nearest, flat, level = _nearest_of_wall(point, corners[k], corners[(k + 1) % 3], floor)
        found.append((nearest, flat, level, sides[2 + k], normals[2 + k]))

    best, dist, normal = jnp.where(inside, -jnp.inf, jnp.inf), depth, leave
    for nearest, flat, valid, side, face in found:
        gap = point - nearest
        direction, length = unit(gap, face.stop())
        square = lax.stop_gradient(gap.dot(gap))
        nearer = valid & ~(flat & (side < 0)) & (square < best)
        best = jnp.where(nearer, square, best)
        dist = jnp.where(nearer, jnp.where(flat, side, length), dist)
        normal = face.where(flat, direction).where(nearer, normal)
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
    return [n.unit() for n in normals]


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


def _nearest_of_wall(p: Vec, a: Vec, b: Vec, floor: Array) -> tuple[Vec, Array, Array]:
    """The point nearest to p of those at its height on the wall below an edge of the top.

    Then whether it is inside of the wall, and whether the wall is that high.
    """
    edge, there = b - a, p - a
    along = (there.x * edge.x + there.y * edge.y) / (edge.x * edge.x + edge.y * edge.y)
    within = (along > 0) & (along < 1)
    top = a + edge * jnp.where(within, along, jnp.where(along < 1, 0.0, 1.0))
    return Vec(top.x, top.y, p.z), within, (p.z >= floor) & (p.z <= top.z)


def _share(part: Array, whole: Array | None) -> Array:
    """The quotient, 0 where there is none."""
    if whole is None:
        return jnp.zeros_like(part)
    some = whole != 0
    return jnp.where(some, part / jnp.where(some, whole, 1.0), 0.0)
