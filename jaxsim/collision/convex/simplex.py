"""The point of a tetrahedron that is nearest to the origin.

All six edges and four triangles are tried, stacked on the first axis, and the nearest is taken: a simplex of fewer
corners repeats some, and needs no case of its own. Source: Gilbert, Johnson and Keerthi, "A fast procedure for
computing the distance between complex objects in three-dimensional space", IEEE J. Robotics and Automation 4 (1988);
M. Montanari, N. Petrinic and E. Barbieri, "Improving the GJK algorithm for faster and more reliable distance queries
between convex objects", ACM Trans. Graph. 36 (2017).
"""

from __future__ import annotations

from typing import NamedTuple

import jax.numpy as jnp
from jax import Array

from jaxsim.collision.convex.settle import settled
from jaxsim.collision.vec import Vec
from jaxsim.math.stage import stage

__all__ = ["Closest", "closest_to_origin"]

_STARTS, _STOPS = (0, 0, 0, 1, 1, 2), (1, 2, 3, 2, 3, 3)
"""Corners of the edges."""
_TRIANGLES = ((1, 2, 3), (0, 2, 3), (0, 1, 3), (0, 1, 2))
"""Corners of the triangles; triangle n lacks corner n."""


class Closest(NamedTuple):
    """The nearest point of a tetrahedron.

    Attributes:
      weights: of the four corners, (4, npair, W).
      square: squared distance, m^2, (npair, W).
      inside: whether the origin is in the interior, (npair, W); the others are then of the surface.
    """

    weights: Array
    square: Array
    inside: Array


def closest_to_origin(points: Vec) -> Closest:
    """The nearest point of the tetrahedra with corners `points`, components (4, npair, W)."""
    t, edge_square = _edges(points)
    shares, face_square, volume = _triangles(points)
    chosen = settled(_choice(edge_square, face_square, volume))
    return Closest(_weights(t, shares, chosen), *_picked(edge_square, face_square, chosen))


class _Choice(NamedTuple):
    """Which edge and which triangle are nearest, whether the edge is nearer, whether the origin is inside."""

    edge: Array
    face: Array
    on_edge: Array
    inside: Array


@stage
def _choice(edge_square: Array, face_square: Array, volume: Array) -> _Choice:
    edge, edge_least = _first_least(edge_square)
    face, face_least = _first_least(face_square)
    inside = volume * (volume[0] + volume[1] + volume[2] + volume[3]) > 0
    return _Choice(edge, face, edge_least <= face_least, inside[0] & inside[1] & inside[2] & inside[3])


@stage
def _weights(t: Array, shares: tuple[Array, Array, Array], chosen: _Choice) -> Array:
    edge, face = chosen.edge, chosen.face
    number = jnp.arange(4).reshape(4, *[1] * edge.ndim)
    start, stop = _look_up(_STARTS, edge), _look_up(_STOPS, edge)
    along = _look_up(t, edge)
    by_edge = jnp.where(number == start, 1 - along, jnp.where(number == stop, along, 0))
    i, j = (_look_up([c[k] for c in _TRIANGLES], face) for k in range(2))
    u, v, w = (_look_up(x, face) for x in shares)
    by_face = jnp.where(number == i, u, jnp.where(number == j, v, jnp.where(number == face, 0, w)))
    return jnp.where(chosen.on_edge, by_edge, by_face)


def _picked(edge_square: Array, face_square: Array, chosen: _Choice) -> tuple[Array, Array]:
    edge, face = _look_up(edge_square, chosen.edge), _look_up(face_square, chosen.face)
    return jnp.where(chosen.on_edge, edge, face), chosen.inside


@stage
def _edges(p: Vec) -> tuple[Array, Array]:
    """Where on each edge the origin projects, in [0, 1], and the squared distance of that point."""

    def starts(x: Array) -> Array:
        return jnp.stack([x[i] for i in _STARTS])

    def stops(x: Array) -> Array:
        return jnp.concatenate([x[1:], x[2:], x[3:]])

    a = Vec(*map(starts, p))
    d = Vec(*map(stops, p)) - a
    square = d.dot(d)
    some = square > 0
    t = jnp.where(some, jnp.clip(-a.dot(d) / jnp.where(some, square, 1.0), 0.0, 1.0), 0.0)
    near = a + d * t
    return t, near.dot(near)


@stage
def _triangles(p: Vec) -> tuple[tuple[Array, Array, Array], Array, Array]:
    """How the origin projects on each triangle.

    Returns:
      barycentric coordinates; squared distance, inf unless the projection is in the triangle; signed volumes of the
      tetrahedra that the origin makes with the triangles.
    """
    a, b, c = (Vec(*(jnp.stack([x[t[k]] for t in _TRIANGLES]) for x in p)) for k in range(3))
    ab, ac = b - a, c - a
    normal = ab.cross(ac)
    area = normal.dot(normal)
    # below this the area is the rounding error of a degenerate triangle
    flat = area <= 16 * jnp.finfo(area.dtype).eps * ab.dot(ab) * ac.dot(ac)
    inverse = 1.0 / jnp.where(flat, 1.0, area)
    # areas of the triangles that the origin's projection makes with the edges
    u, v = b.cross(c).dot(normal) * inverse, c.cross(a).dot(normal) * inverse
    w = 1.0 - u - v
    height = a.dot(normal)
    square = jnp.where(~flat & (u > 0) & (v > 0) & (w > 0), height * height * inverse, jnp.inf)

    sign = jnp.asarray([1.0, -1.0, 1.0, -1.0], area.dtype).reshape(4, *[1] * (area.ndim - 1))
    return (u, v, w), square, height * sign


def _first_least(x: Array) -> tuple[Array, Array]:
    """The row of the least entry, and the entry."""
    best, row = x[0], jnp.zeros(x.shape[1:], jnp.int32)
    for n in range(1, x.shape[0]):
        better = x[n] < best
        best, row = jnp.where(better, x[n], best), jnp.where(better, n, row)
    return row, best


def _look_up(table, row: Array) -> Array:
    """Entry number `row` of a few."""
    result = table[-1]
    for n in range(len(table) - 2, -1, -1):
        result = jnp.where(row == n, table[n], result)
    return result
