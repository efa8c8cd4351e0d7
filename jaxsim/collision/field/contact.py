"""Contact points of geoms with signed distance functions, and their derivatives.

At the end x of a descent f1 = f2 and grad f1, grad f2 point at each other. The distance is a f1 + b f2 with the
multipliers a and b of the least of max(f1, f2) there, so by the envelope theorem its derivative is that at x held
fixed. Where x goes follows from the conditions that it fulfils, by the implicit function theorem: one Newton step,
whose value is zero. The conditions across the normal are left out where they do not determine x: where a descent
ended before its goal, or the geoms lie flat on each other.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import Array, lax

from jaxsim.collision.field.search import descend, spread, starts
from jaxsim.collision.field.shapes import Field, Fields, Functions, bounds_of, field_of
from jaxsim.collision.largest import entries_at
from jaxsim.collision.points import Points, Shape
from jaxsim.collision.vec import Frame, Vec, fallback_unit, unit
from jaxsim.enums import GeomType
from jaxsim.math.gather import rows_by_world
from jaxsim.math.stage import long_stage

__all__ = ["collide_fields", "collide_vertices"]

_APART = 0.04
"""Least distance of two points of a pair, as a share of the smaller geom's size."""
_FACING = -0.9
"""Cosine between gradients below which geoms that do not touch are taken to be nearest to each other."""
_AT_GOAL = 1e-2
"""Sum of the unit gradients below which a descent has reached its goal."""
_FLAT = 1e-6
"""Ratio of curvatures below which geoms lie along a line, or a plane, on each other."""


@long_stage
def collide_fields(
    shape1: Shape,
    shape2: Shape,
    margin: Array,
    *,
    kinds: tuple[GeomType, GeomType],
    functions: tuple[Functions, Functions],
    count: int,
) -> Points:
    """Contact points of geoms 1 of a type and geoms 2 of type SDF.

    As in the C engine the distance of a point is the greater of its distances from the two surfaces, so half of the
    depth of a penetration, but of planes the whole.

    Args:
      shape1: geoms 1.
      shape2: geoms 2.
      margin: distance at which contacts are detected, m (npair, 1 or W).
      kinds: the types.
      functions: the distance functions of geoms 1 and of geoms 2.
      count: most points of a pair.
    """
    still1, still2 = (lax.stop_gradient(s) for s in (shape1, shape2))
    fields: Fields = shape2.assets
    held1, held2 = held = field_of(still1, functions[0]), field_of(still2, functions[1])
    box1, box2 = (bounds_of(s, kind) for s, kind in zip((still1, still2), kinds, strict=True))
    size1, size2 = (jnp.sqrt(half.dot(half)) for _, half in (box1, box2))
    size = jnp.minimum(size1, size2)
    whole = kinds[0] == GeomType.PLANE
    bound = lax.stop_gradient(0.5 * margin if whole else margin)
    x = starts(still1, still2, box1, box2, fields.starts)
    deepest, touching = descend(held1, held2, x, bound, size, fields.iterations)
    x = Vec(*(jnp.concatenate(pair, axis=1) for pair in zip(deepest, touching, strict=True)))
    (f1, g1), (f2, g2) = held1.at(x), held2.at(x)
    worst = jnp.maximum(f1, f2)
    cosine = unit(g1, fallback_unit(g1))[0].dot(unit(g2, fallback_unit(g2))[0])
    valid = (worst < bound[:, None]) & (cosine < jnp.where(worst > 0, _FACING, 0.0))
    rows, filled = spread(x, worst, valid, count, _APART * size)
    x = _entries(x, rows)
    dist, x, normal = _points(field_of(shape1, functions[0]), field_of(shape2, functions[1]), held, x)
    if whole:
        return Points(2 * dist, x, normal, valid=filled)
    return Points(dist, x + normal * (0.5 * dist), normal, valid=filled)


def _entries(x: Vec, rows: Array) -> Vec:
    """Points, components (npair, count, W), that were chosen of (npair, k, W)."""
    return Vec(*(entries_at(c, rows) for c in x))


def _points(first: Field, second: Field, held: tuple[Field, Field], x: Vec) -> tuple[Array, Vec, Vec]:
    """Greater distance, point and normal at x, differentiable in what the fields depend on.

    Args:
      first: distances of geoms 1.
      second: distances of geoms 2.
      held: both without derivative.
      x: points, components (npair, count, W).
    """
    x = x.stop()
    (f1, g1), (f2, g2) = first.at(x), second.at(x)
    apart = (g1 - g2).stop()
    frame = _across(unit(apart, fallback_unit(apart))[0])

    def across(g1: Vec, g2: Vec) -> tuple[Array, Array]:
        """The sum of unit gradients, zero where geoms are nearest: its components across the normal."""
        both = unit(g1, fallback_unit(g1))[0] + unit(g2, fallback_unit(g2))[0]
        return frame.y.dot(both), frame.z.dot(both)

    _, change = jax.linearize(lambda x: across(held[0].at(x)[1], held[1].at(x)[1]), x)
    (along_y, along_z), (a, b), (c, d) = (lax.stop_gradient(change(axis)) for axis in frame)
    off_y, off_z = across(g1, g2)
    # geoms that lie flat on each other do not determine where they touch
    determinant, trace = a * d - b * c, jnp.abs(a) + jnp.abs(d)
    off = lax.stop_gradient(off_y * off_y + off_z * off_z)
    sure = (determinant > _FLAT * trace * trace) & (off < _AT_GOAL**2)
    over = jnp.where(sure, 1 / jnp.where(sure, determinant, 1.0), 0.0)
    steep = jnp.sqrt(apart.dot(apart))
    gap = f1 - f2
    down = (lax.stop_gradient(gap) - gap) / jnp.where(steep > 0, steep, 1.0)
    rest_y = lax.stop_gradient(off_y) - off_y - along_y * down
    rest_z = lax.stop_gradient(off_z) - off_z - along_z * down
    x = x + frame.x * down + frame.y * (over * (d * rest_y - c * rest_z))
    x = x + frame.z * (over * (a * rest_z - b * rest_y))

    s1, s2 = (lax.stop_gradient(jnp.sqrt(g.dot(g))) for g in (g1.stop(), g2.stop()))
    both = s1 + s2
    share = jnp.where(both > 0, s2 / jnp.where(both > 0, both, 1.0), 0.5)
    dist = share * f1 + (1 - share) * f2
    turned = first.at(x)[1] - second.at(x)[1]
    normal = unit(turned, frame.x)[0]
    return dist, x, normal


def _across(normal: Vec) -> Frame:
    """Right-handed frames with the normals as their first axes."""
    zero, one = jnp.zeros_like(normal.x), jnp.ones_like(normal.x)
    wish = Vec(zero, one, zero).where(jnp.abs(normal.y) < 0.5, Vec(zero, zero, one))
    second = wish - normal * normal.dot(wish)
    second = second * (1 / jnp.sqrt(second.dot(second)))
    return Frame(normal, second, normal.cross(second))


@long_stage
def collide_vertices(mesh: Shape, shape: Shape, margin: Array, *, functions: Functions, count: int) -> Points:
    """The vertices of meshes that are deepest in geoms of type SDF, and those farthest from them that touch.

    Args:
      mesh: geoms 1.
      shape: geoms 2.
      margin: distance at which contacts are detected, m (npair, 1 or W).
      functions: the distance functions of geoms 2.
      count: most points of a pair.
    """
    fields: Fields = mesh.assets
    local = Vec.split(rows_by_world(fields.vert, rows_by_world(fields.rows, mesh.asset)))
    x = mesh.pos.lifted() + mesh.axes.lifted().to_world(local)
    held = field_of(lax.stop_gradient(shape), functions)
    value = held.distance(x.stop())
    span = [jnp.max(c, axis=1) - jnp.min(c, axis=1) for c in local.stop()]
    size = 0.5 * jnp.sqrt(span[0] ** 2 + span[1] ** 2 + span[2] ** 2)
    chosen, filled = spread(x.stop(), value, value < lax.stop_gradient(margin)[:, None], count, _APART * size)
    x = _entries(x, chosen)
    dist, gradient = field_of(shape, functions).at(x)
    normal = -unit(gradient, fallback_unit(gradient))[0]
    return Points(dist, x + normal * (0.5 * dist), normal, valid=filled)
