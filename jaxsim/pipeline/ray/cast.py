"""Rays against all geoms of a model: the nearest surface; worlds on the last axis.

The search over geoms and triangles carries no derivative. It names a geom and a feature of its surface, from which
distance and normal follow in closed form, differentiable in rays, poses, sizes and vertices. Which surface is met first
is held fixed; where a ray grazes a round surface, the derivative is one-sided and grows without bound, but is finite.
"""

from __future__ import annotations

import functools
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from jaxsim.collision.field import has_function
from jaxsim.collision.vec import Frame, Vec
from jaxsim.enums import GeomType
from jaxsim.math import safe
from jaxsim.math.axis import take
from jaxsim.math.gather import rows_by_world, width_of
from jaxsim.model import Model
from jaxsim.pipeline.ray.field import meet_fields, on_surface
from jaxsim.pipeline.ray.mesh import LocalRays, local_rays, meet_triangles, vertices
from jaxsim.pipeline.ray.primitives import PRIMITIVES
from jaxsim.pipeline.ray.surface import Feature, meet_plane, meet_quadric, surface_numbers
from jaxsim.pytree import Static
from jaxsim.structure.triangles import Triangles, triangles

__all__ = ["Rays", "cast", "included", "unseen"]

_TRIANGULATED = (GeomType.MESH, GeomType.HFIELD)
_AT_ONCE = 4096
"""Pairs of a ray and a geom (or a cluster of triangles) that are looked at together, in each world."""
_GROUPS = 6


class Rays(NamedTuple):
    """What rays met.

    Attributes:
      dist: parameter along the ray, -1 if it meets nothing, (k, W).
      geom: the geom, -1: none, (k, W).
      normal: outward unit normal of the surface, zero if there is none, world frame, (k, 3, W).
    """

    dist: Array
    geom: Array
    normal: Array


class _Found(NamedTuple):
    """What the search says of each ray, (k, W): parameter, geom, feature, and triangle for `Feature.TRIANGLE`."""

    t: Array
    geom: Array
    feature: Array
    triangle: Array


@functools.lru_cache(maxsize=64)
def included(
    static: Static, geomgroup: tuple[bool, ...] | None, flg_static: bool, bodyexclude: tuple[int, ...]
) -> np.ndarray:
    """Geoms that rays see, by what is known of them beforehand, (ngeom,) of bool.

    Args:
      static: of the model.
      geomgroup: which of the six groups are seen; None: all.
      flg_static: whether geoms of static bodies are seen.
      bodyexclude: bodies whose geoms are not.
    """
    body = static.geom_bodyid
    seen = ~np.isin(body, bodyexclude)
    if not flg_static:
        seen &= static.body_weldid[body] != 0
    if geomgroup is not None:
        seen &= np.array(geomgroup, bool)[np.clip(static.geom_group, 0, _GROUPS - 1)]
    return seen


def cast(model: Model, pos: Array, mat: Array, pnt: Array, vec: Array, seen: np.ndarray) -> Rays:
    """The first surface that each ray meets, at `pnt + dist * vec`.

    Args:
      model: the model.
      pos: positions of geoms (ngeom, 3, W).
      mat: orientations of geoms (ngeom, 3, 3, W).
      pnt: origins (k, 3, W), m, world frame.
      vec: directions (k, 3, W), of any length.
      seen: which rays see which geoms (k, ngeom).
    """
    kinds = model.geom_type[seen.any(axis=0)]
    if not len(kinds) or not len(seen):
        none = jnp.zeros((len(seen), 1), pnt.dtype)
        return Rays(none - 1, jnp.full(none.shape, -1, jnp.int32), jnp.zeros((len(seen), 3, 1), pnt.dtype))
    found = _search(*lax.stop_gradient((model, pos, mat, pnt, vec)), seen)
    return _exact(model, pos, mat, pnt, vec, found, seen)


def unseen(model: Model, seen: np.ndarray) -> np.ndarray:
    """Geoms of type SDF that rays should see, (k, ngeom), but that have no distance function."""
    return np.flatnonzero(seen.any(axis=0) & (model.geom_type == GeomType.SDF) & ~has_function(model.static))


def _search(model: Model, pos: Array, mat: Array, pnt: Array, vec: Array, seen: np.ndarray) -> _Found:
    """Looks at rays in portions, so that memory does not grow with their number."""
    k = len(seen)
    table = _triangles(model, seen)
    points = None if table is None else vertices(model, table[1])
    looked_at = max(1, int(seen.any(axis=0).sum()), 0 if table is None else len(table[1].geom))
    portion = max(1, _AT_ONCE // looked_at)
    if k <= portion:
        return _portion(model, pos, mat, points, pnt, vec, jnp.asarray(seen.T[:, :, None]), seen)
    count = -(-k // portion)
    row = np.minimum(np.arange(count * portion), k - 1).reshape(count, portion)
    width = width_of((pos, mat, pnt, vec))
    pnt, vec = (jnp.broadcast_to(x, (k, 3, width)) for x in (pnt, vec))

    def some(rows: tuple[Array, Array, Array]) -> _Found:
        return _portion(model, pos, mat, points, *rows, seen)

    mask = jnp.asarray(seen[row].swapaxes(1, 2)[..., None])
    found = lax.map(some, (pnt[jnp.asarray(row)], vec[jnp.asarray(row)], mask))
    return jax.tree.map(lambda x: x.reshape(-1, x.shape[-1])[:k], found)


def _triangles(model: Model, seen: np.ndarray) -> tuple[np.ndarray, Triangles] | None:
    """Mesh and height field geoms that some ray sees, and their triangles; None: there are none."""
    geoms = np.flatnonzero(seen.any(axis=0) & np.isin(model.geom_type, _TRIANGULATED))
    return (geoms, triangles(model.static, tuple(geoms.tolist()))) if len(geoms) else None


def _fields(model: Model, seen: np.ndarray) -> np.ndarray:
    """Geoms of type SDF that some ray sees."""
    return np.flatnonzero(seen.any(axis=0) & has_function(model.static))


def _portion(
    model: Model,
    pos: Array,
    mat: Array,
    points: Array | None,
    pnt: Array,
    vec: Array,
    mask: Array,
    seen: np.ndarray,
) -> _Found:
    """The search for some rays; `mask` (ngeom, k, 1) says which geoms each of them sees."""
    p, v = Vec.split(pnt), Vec.split(vec)
    square = v.dot(v)
    mask = mask & _visible(model)[:, None] & (square > 0)
    some = seen.any(axis=0)
    best: _Found | None = None

    def local(geoms: np.ndarray) -> LocalRays:
        frame, centre = Frame.split(take(mat, geoms)[:, None]), Vec.split(take(pos, geoms)[:, None])
        return local_rays(frame, centre, p, v)

    for kind, meet in PRIMITIVES.items():
        geoms = np.flatnonzero(some & (model.geom_type == kind))
        if not len(geoms):
            continue
        size = Vec.split(take(model.geom_size, geoms)[:, None])
        at, along, begin = local(geoms)
        hit = meet(size, at, along, begin)
        t = jnp.where(take(mask, geoms), hit.t - begin, jnp.inf)
        best = _nearer(best, _nearest(t, geoms, jnp.broadcast_to(hit.feature, t.shape)))
    geoms = _fields(model, seen)
    if len(geoms):
        at, along, begin = local(geoms)
        t = meet_fields(model, geoms, at, along, begin, take(mask, geoms)) - begin
        best = _nearer(best, _nearest(t, geoms, jnp.full(t.shape, int(Feature.FIELD), jnp.int32)))
    table = _triangles(model, seen)
    if table is not None and points is not None:
        geoms = table[0]
        hit = meet_triangles(table[1], points, take(pos, geoms), take(mat, geoms), take(mask, geoms), p, v)
        feature = jnp.full(hit.t.shape, int(Feature.TRIANGLE), jnp.int32)
        best = _nearer(best, _Found(hit.t, jnp.asarray(geoms, jnp.int32)[hit.geom], feature, hit.triangle))
    assert best is not None
    return best


def _visible(model: Model) -> Array:
    """Geoms (ngeom, 1 or W) that are not fully transparent."""
    alpha = model.geom_rgba[:, 3]
    if model.nmat:
        material = rows_by_world(model.mat_rgba[:, 3], jnp.maximum(model.geom_matid, 0))
        alpha = jnp.where(model.geom_matid >= 0, material, alpha)
    return alpha != 0


def _nearest(t: Array, geoms: np.ndarray, feature: Array) -> _Found:
    """The nearest of the geoms (n, k, W), the first of equals."""
    row = jnp.argmin(t, axis=0, keepdims=True)
    picked = jnp.take_along_axis(feature, row, axis=0)[0]
    return _Found(jnp.min(t, axis=0), jnp.asarray(geoms, jnp.int32)[row[0]], picked, jnp.zeros_like(picked))


def _nearer(a: _Found | None, b: _Found) -> _Found:
    """The nearer of two; of equals that of the lower geom."""
    if a is None:
        return b
    first = (a.t < b.t) | ((a.t == b.t) & (a.geom < b.geom))
    return _Found(*(jnp.where(first, x, y) for x, y in zip(a, b, strict=True)))


def _exact(
    model: Model, pos: Array, mat: Array, pnt: Array, vec: Array, found: _Found, seen: np.ndarray
) -> Rays:
    """Distance and normal from the features that the search found."""
    width = width_of((pos, mat, pnt, vec, found.t))
    hit = jnp.broadcast_to(jnp.isfinite(found.t), (len(seen), width))
    geom, feature, triangle = (
        jnp.broadcast_to(x, hit.shape) for x in (found.geom, found.feature, found.triangle)
    )
    geom, feature = jnp.where(hit, geom, 0), jnp.where(hit, feature, 0)
    frame = Frame.split(rows_by_world(mat, geom))
    centre, size = (Vec.split(rows_by_world(x, geom)) for x in (pos, model.geom_size))
    p, v = Vec.split(pnt), Vec.split(vec)
    p, v = (Vec(*(jnp.broadcast_to(x, hit.shape) for x in u)) for u in (p, v))
    v = Vec(jnp.where(hit, v.x, 0), jnp.where(hit, v.y, 0), jnp.where(hit, v.z, 1))
    at, along, begin = local_rays(frame, centre, p, v)
    piece = surface_numbers(feature, size)
    normal, offset = piece.normal, piece.offset
    table = _triangles(model, seen)
    if table is not None:
        points = vertices(model, table[1])
        corner = jnp.asarray(table[1].corners)[jnp.where(feature == Feature.TRIANGLE, triangle, 0)]
        a, b, c = (Vec.split(rows_by_world(points, corner[..., k])) for k in range(3))
        faced = feature == Feature.TRIANGLE
        across = (a - c).cross(b - c)
        normal = across.where(faced, normal)
        offset = jnp.where(faced, across.dot(c), offset)
    flat_normal = Vec(*(jnp.where(piece.flat, x, k) for x, k in zip(normal, (0.0, 0.0, 1.0), strict=True)))
    t = meet_plane(flat_normal, offset, at, along)
    round_t, round_normal = meet_quadric(piece, at, along)
    t = jnp.where(piece.flat, t, round_t)
    own_normal = flat_normal.where(piece.flat, round_normal)
    if len(_fields(model, seen)):
        faced = feature == Feature.FIELD
        mesh = jnp.asarray(model.geom_dataid)[jnp.where(faced, geom, 0)]
        field_t, field_normal = on_surface(model, mesh, size, at, along, jnp.where(faced, found.t + begin, 0))
        t, own_normal = jnp.where(faced, field_t, t), field_normal.where(faced, own_normal)
    outward = frame.to_world(own_normal)
    unit = safe.normalize(jnp.stack(outward, axis=1), axis=1)[0]
    dist = t - begin
    dist = jnp.where(hit, dist + lax.stop_gradient(jnp.maximum(-dist, 0)), -1)  # a hit stays one when rounded
    return Rays(dist, jnp.where(hit, geom, -1), jnp.where(hit[:, None], unit, 0))
