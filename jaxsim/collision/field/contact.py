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
from jaxsim.collision.field.shapes import Fields, Functions, bounds_of, field_of
from jaxsim.collision.largest import entries_at
from jaxsim.collision.points import Points, Search, Shape
from jaxsim.collision.vec import Frame, Vec, fallback_unit, unit
from jaxsim.enums import GeomType
from jaxsim.math.asked import derived_of_few
from jaxsim.math.choices import Choices
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


def collide_fields(
    shape1: Shape,
    shape2: Shape,
    margin: Array,
    search: Search,
    choices: Choices,
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
      search: not used; `opt.sdf_iterations` come with the table of meshes.
      choices: the next is where the points are; if it is told, nothing is searched.
      kinds: the types.
      functions: the distance functions of geoms 1 and of geoms 2.
      count: most points of a pair.
    """
    del search
    held = lax.stop_gradient((shape1, shape2, margin))
    x, filled = choices.of(_searched, *held, kinds=kinds, functions=functions, count=count)

    def points(own: tuple[Shape, Shape, Vec, Array], assets: Fields) -> tuple[Array, Vec, Vec]:
        one, other, x, _ = own
        return _points(one._replace(assets=assets), other._replace(assets=assets), x, functions=functions)

    own = (shape1._replace(assets=None), shape2._replace(assets=None), x, filled)
    dist, x, normal = derived_of_few(points, lambda _, own: jnp.any(own[-1], axis=1), own, shape2.assets)
    if _is_whole(kinds):
        return Points(2 * dist, x, normal, valid=filled)
    return Points(dist, x + normal * (0.5 * dist), normal, valid=filled)


def _is_whole(kinds: tuple[GeomType, GeomType]) -> bool:
    """Whether the distance is that of a penetration, not half of it."""
    return kinds[0] == GeomType.PLANE


@long_stage
def _searched(
    shape1: Shape,
    shape2: Shape,
    margin: Array,
    *,
    kinds: tuple[GeomType, GeomType],
    functions: tuple[Functions, Functions],
    count: int,
) -> tuple[Vec, Array]:
    """Where geoms touch, components (npair, count, W), and which of the points are some; see `collide_fields`."""
    fields: Fields = shape2.assets
    field1, field2 = field_of(shape1, functions[0]), field_of(shape2, functions[1])
    box1, box2 = (bounds_of(s, kind) for s, kind in zip((shape1, shape2), kinds, strict=True))
    size1, size2 = (jnp.sqrt(half.dot(half)) for _, half in (box1, box2))
    size = jnp.minimum(size1, size2)
    bound = 0.5 * margin if _is_whole(kinds) else margin
    x = starts(shape1, shape2, box1, box2, fields.starts)
    deepest, touching = descend(field1, field2, x, bound, size, fields.iterations)
    x = Vec(*(jnp.concatenate(pair, axis=1) for pair in zip(deepest, touching, strict=True)))
    (f1, g1), (f2, g2) = field1.at(x), field2.at(x)
    worst = jnp.maximum(f1, f2)
    cosine = unit(g1, fallback_unit(g1))[0].dot(unit(g2, fallback_unit(g2))[0])
    valid = (worst < bound[:, None]) & (cosine < jnp.where(worst > 0, _FACING, 0.0))
    rows, filled = spread(x, worst, valid, count, _APART * size)
    return _entries(x, rows), filled


def _entries(x: Vec, rows: Array) -> Vec:
    """Points, components (npair, count, W), that were chosen of (npair, k, W)."""
    return Vec(*(entries_at(c, rows) for c in x))


@long_stage
def _points(
    shape1: Shape, shape2: Shape, x: Vec, *, functions: tuple[Functions, Functions]
) -> tuple[Array, Vec, Vec]:
    """Greater distance, point and normal at x, components (npair, count, W), differentiable in the geoms alone."""
    x, still = x.stop(), lax.stop_gradient((shape1, shape2))
    first, second = (field_of(*own) for own in zip((shape1, shape2), functions, strict=True))
    held = [field_of(*own) for own in zip(still, functions, strict=True)]
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


def collide_vertices(
    mesh: Shape,
    shape: Shape,
    margin: Array,
    search: Search,
    choices: Choices,
    *,
    functions: Functions,
    count: int,
) -> Points:
    """The vertices of meshes that are deepest in geoms of type SDF, and those farthest from them that touch.

    Args:
      mesh: geoms 1.
      shape: geoms 2.
      margin: distance at which contacts are detected, m (npair, 1 or W).
      search: not used: there is none.
      choices: the next are the vertices.
      functions: the distance functions of geoms 2.
      count: most points of a pair.
    """
    del search
    held = lax.stop_gradient((mesh, shape, margin))
    chosen, filled = choices.of(_deepest_vertices, *held, functions=functions, count=count)
    x = _placed(mesh, _entries(_vertices(mesh), chosen))
    dist, gradient = field_of(shape, functions).at(x)
    normal = -unit(gradient, fallback_unit(gradient))[0]
    return Points(dist, x + normal * (0.5 * dist), normal, valid=filled)


@long_stage
def _deepest_vertices(
    mesh: Shape, shape: Shape, margin: Array, *, functions: Functions, count: int
) -> tuple[Array, Array]:
    """Numbers (npair, count, W) of the vertices, and which of them are some; see `collide_vertices`."""
    local = _vertices(mesh)
    x = _placed(mesh, local)
    value = field_of(shape, functions).distance(x)
    span = [jnp.max(c, axis=1) - jnp.min(c, axis=1) for c in local]
    size = 0.5 * jnp.sqrt(span[0] ** 2 + span[1] ** 2 + span[2] ** 2)
    return spread(x, value, value < margin[:, None], count, _APART * size)


def _vertices(mesh: Shape) -> Vec:
    """Vertices of meshes in their frames, components (npair, k, 1 or W)."""
    fields: Fields = mesh.assets
    return Vec.split(rows_by_world(fields.vert, rows_by_world(fields.rows, mesh.asset)))


def _placed(mesh: Shape, local: Vec) -> Vec:
    """Points of meshes in the world frame."""
    return mesh.pos.lifted() + mesh.axes.lifted().to_world(local)
